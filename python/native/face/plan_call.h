// python/native/face/plan_call.h: a loaded plan behind a Python signature, and one try to serve a call with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/runtime/executor.h"
#include "python/native/face/arrays.h"
#include "python/native/face/device_types.h"
#include "python/native/face/numpy_api.h"
#include "python/native/face/outside.h"
#include "python/native/face/plan_call_generators.h"
#include "python/native/face/signature.h"

namespace tilewright::face {

/// What a plan is bound with, as Python gave it; null members are absent.
struct Binding {
    PyObject* constants = nullptr;    ///< mapping: name -> value, of hidden arguments and of parameters that are fixed
    PyObject* places = nullptr;       ///< of Outside: where values are that are looked up at each call
    PyObject* checks = nullptr;       ///< of Outside: what must be there
    PyObject* hidden = nullptr;       ///< mapping: plan argument -> the place where it is
    PyObject* scalar_types = nullptr; ///< mapping: scalar -> the exact type it must have
    /// (plan of a part, plan of the total, the arguments given in parts, what the total calls the results of parts,
    /// None or (plan of the rest, what the rest calls the first results of the total, which of the function's results
    /// the others are, None or its own partials)), or a text: what to do about arrays that are too large
    PyObject* partials = nullptr;
    /// (argument that has the words or None, place of the generator, how many it draws or None, whether it is locked)
    /// each
    PyObject* generators = nullptr;
    PyObject* stages = nullptr; ///< mapping: text of a stage -> what computes it of what is held and of arrays
};

/// Why a plan did not serve a call; enough for a message, which only a module's function writes.
struct Problem {
    enum class Kind { none, array, scalar, constant, written, too_large, guard, no_version, result_too_large, check };
    Kind kind = Kind::none;
    int index = 0; ///< argument, fixed parameter or guard
    Ref object;
    std::string text; ///< of a guard or check, why an argument cannot be written, or sizes that no version serves
};

/// What may be done to a call's arguments.
struct Freedom {
    bool strict = false;    ///< nothing is converted (jit)
    bool copies = false;    ///< arrays that no version takes as they lie are copied
    bool to_device = false; ///< NumPy arrays are copied to a device where the plan has no version for the host
};

class HostResults;
class StageCalls;
struct Stage;
struct StageTimes;

class LoadedPlan {
  public:
    LoadedPlan();
    ~LoadedPlan();
    /// Null with a Python error.
    static std::shared_ptr<const LoadedPlan> make(PyObject* plan_text, PyObject* objects, const std::string& function,
                                                  const Signature& signature, const Binding& binding);

    /// unchecked: the plan fits the call, but not its data: NumPy has to run it, and nothing was written.
    enum class Attempt { done, no_match, unchecked, error };
    /// `values` as Signature::bind() left them. `found`: what is found of the call at places, which the caller may ask
    /// afterwards.
    Attempt call(PyObject* const* values, PyObject* out, Freedom freedom, Problem* problem, PyObject** result,
                 Found* found = nullptr) const;

    /// The exception for a problem, and how near the call came (the larger the nearer).
    void raise(const Problem& problem) const;
    static int nearness(const Problem& problem) { return static_cast<int>(problem.kind) * 1000 + problem.index; }

    const Outside& outside() const { return outside_; }
    bool usable() const { return executable_->usable(); }
    const runtime::Executable& executable() const { return *executable_; }
    int traverse(visitproc visit, void* data) const;
    /// ((calls, nanoseconds) of the plan, {text of a stage: the same}), of calls that were timed: StageTimes says
    /// which.
    Ref stage_times() const;

  private:
    struct Source {
        int parameter = -1;
        Ref constant;       ///< a fixed value
        int place = -1;     ///< or a look-up at each call
        int generator = -1; ///< or the words of the generator of this number
        Ref exact_type;
        mutable std::vector<Ref> on_device; ///< copies of a fixed array, by device
    };
    struct Fixed {
        int parameter;
        Ref value;
    };
    struct Return {
        bool is_result;
        int index;
        std::string number; ///< the Python type that is made of it
    };

    /// A call on the host that is ready to run. Its arrays are NumPy's: the arguments as kernels read them.
    struct HostCall {
        const runtime::Executable::Frame& frame;
        int version;
        PyObject* const* values;
        PyObject* const* arrays;
        PyObject* out;
        Problem* problem;
        bool strict; ///< as Freedom has it: NumPy runs the call again where a stage raises
    };

    class DeviceArguments;
    /// What a call of arrays on a device is in the middle of.
    struct DeviceCall {
        const runtime::Executable::Frame& frame;
        int version;
        const DeviceArguments& arguments;
        PyObject* const* values;
        PyObject* out;
        Problem* problem;
    };

    bool bind_arguments(const Signature& signature, const Binding& binding);
    void look_at_versions();
    /// What argument `i` is in a call: borrowed, or in `owned`. Null where it is not there, and of drawn words.
    PyObject* object_of(std::size_t i, PyObject* const* values, PyObject*& owned) const;
    PyObject* object_of(std::size_t i, PyObject* const* values, PyObject*& owned, const CallGenerators& generators,
                        Found& found) const;
    /// A Python error that begins with the function.
    Attempt error(PyObject* type, const std::string& text) const;
    static Attempt no_match(Problem* problem, Problem::Kind kind, std::size_t index, PyObject* object,
                            std::string text = "");
    /// A scalar's value into the frame; false where it is none for this plan.
    bool read_number(std::size_t i, PyObject* object, bool strict, const runtime::Executable::Frame& frame) const;
    /// Whether kernels can index the arrays and the guards hold. False with the problem; `objects`: by argument.
    bool has_sizes(const runtime::Executable::Frame& frame, PyObject* const* objects, Problem* problem) const;
    /// Done where there is a version and its results have legal sizes; otherwise what the call comes to.
    Attempt served(const runtime::Executable::Frame& frame, int version, Problem* problem) const;
    /// Whether the call may write into NumPy's arrays that the plan writes. False with the problem.
    bool may_write(const runtime::Executable::Frame& frame, PyObject* const* arrays, PyObject* out,
                   const runtime::MemoryRange* ranges, Problem* problem) const;
    /// Why the call must not write into an argument that the plan writes; empty where it may.
    std::string why_not_written(std::size_t argument, const runtime::Executable::Frame& frame, bool is_writeable,
                                const runtime::MemoryRange* ranges) const;
    std::string why_out_is_shared(std::size_t argument, PyObject* out, const runtime::MemoryRange& range) const;
    /// Memory on the host for the results, the caller's where it may be written at once: how many bytes they have; -1
    /// with a Python error.
    std::int64_t make_room(const HostCall& call, HostResults& memory) const;
    Attempt run(const HostCall& call, PyObject** result) const;
    /// What a call that has run gives, with its results on the host. `calls`: null where the plan has no stages.
    Attempt give_back(const HostCall& call, HostResults& memory, const StageCalls* calls, PyObject** result) const;
    /// Whether `out` has as many items as there are results. False with a Python error.
    bool has_item_for_each(PyObject* out) const;
    /// That, and None for each argument that is returned.
    bool items_fit(PyObject* out) const;
    /// The caller's out arrays, by result: NumPy's. False with a Python error.
    bool take_out(const runtime::Executable::Frame& frame, PyObject* out, PyObject** given) const;
    /// Sets the Python error of a run that was not done; unchecked, with the problem, where the data were none for the
    /// plan.
    Attempt failure(runtime::RunStatus status, int version, const std::string& failed, Problem* problem) const;

    /// As call(), for what kernels can index.
    Attempt call_whole(PyObject* const* values, PyObject* out, Freedom freedom, Problem* problem, PyObject** result,
                       Found* found = nullptr) const;

    // plan_call_sliced.cpp
    /// A call that is too large, of a plan that says how it can be sliced. `problem` is what stands against it, and
    /// stands still where it cannot be.
    Attempt call_in_parts(PyObject* const* values, PyObject* out, Freedom freedom, Problem& problem,
                          PyObject** result) const;
    /// Whether smaller parts of the sliced arguments may be what a call needs against a problem.
    bool may_be_cut_for(const Problem& problem) const;
    /// The extent of the first axes of all sliced arguments; -1 where they differ, which is another problem.
    Py_ssize_t rows_of(PyObject* const* values, Problem& problem) const;
    /// Whether an out array of NumPy's shares memory with an argument, or with another one.
    bool shares_memory(PyObject* const* values, const std::vector<Ref>& given) const;
    /// The caller's out arrays, which have to have the rows of the call. False with a Python error.
    bool take_out_of_rows(PyObject* out, Py_ssize_t rows, std::vector<Ref>& given) const;
    /// Runs the call with parts of the sliced arguments, as few as serve, into `whole`: memory is made for what is
    /// nothing. gives_rows: what a part gives is one row of that; otherwise it has the part's rows.
    Attempt run_parts(PyObject* const* values, Py_ssize_t rows, bool gives_rows, Freedom freedom, Problem& problem,
                      std::vector<Ref>& whole) const;
    /// Memory for results that are nothing in `whole`, as those of these values but with so many rows. are_few: they
    /// have to be ones that kernels can index.
    Attempt make_results(PyObject* const* values, Py_ssize_t rows, bool are_few, Problem& problem,
                         std::vector<Ref>& whole) const;
    /// Memory for a result, where the call has its results. Null with a Python error.
    Ref new_result_where(const DeviceArguments& arguments, DType dtype, int rank, const std::int64_t* shape) const;
    /// Results that we have made, as those of the library of `first`.
    Attempt hand_over_results(PyObject* first, PyObject* out, PyObject** result) const;

    // plan_call_generators.cpp
    bool load_generators(const Binding& binding);
    /// The number of the one whose words an argument has, or -1.
    int generator_of(const std::string& argument) const;

    // plan_call_stages.cpp
    bool load_stages(const Binding& binding);

    // plan_call_partials.cpp
    bool load_partials(PyObject* objects, const Signature& signature, const Binding& binding);
    bool load_rest(PyObject* rest, PyObject* objects, const Signature& signature, const Binding& binding);
    /// A call that is too large, of a plan that has one for parts of its rows and one for the total of these.
    Attempt call_by_partials(PyObject* const* values, PyObject* out, Freedom freedom, Problem& problem,
                             PyObject** result) const;
    /// A total and a rest; each gives its results.
    Attempt call_with_rest(PyObject* const* values, PyObject* const* of_total, PyObject* out, Freedom freedom,
                           Problem& problem, PyObject** result) const;
    /// The out of the total, and that of the rest. `attempt`: what the call comes to where false.
    bool take_out_apart(PyObject* const* values, PyObject* out, Ref& of_total, Ref& of_rest, Attempt& attempt) const;

    // plan_call_device.cpp
    Attempt call_on_device(DeviceArguments& arguments, PyObject* const* values, PyObject* out, Freedom freedom,
                           Problem* problem, PyObject** result) const;
    Attempt run_on_device(const DeviceCall& call, PyObject** result) const;
    bool take_device_out(const DeviceCall& call, PyObject** given, DeviceViews& views) const;
    PyObject* constant_on_device(std::size_t argument, PyObject* object, const runtime::cuda::Place& place) const;
    /// Null without an error: its dtype is another one.
    PyObject* number_on_device(PyObject* object, const DeviceView& view, const runtime::PlanArgument& argument,
                               const runtime::cuda::Place& place) const;
    // plan_call_copied.cpp
    /// A call of NumPy arrays, as the caller has them, at the frame's place. It has no version yet.
    Attempt call_with_copies(HostCall call, bool copies, PyObject** result) const;

    std::string function_;
    std::shared_ptr<const runtime::Executable> executable_;
    std::vector<Source> sources_;
    std::vector<Fixed> fixed_;
    std::vector<std::string> fixed_names_;
    Outside outside_;
    std::vector<DrawnGenerator> drawn_;
    std::vector<Stage> stages_;               ///< what computes each of the executable's
    std::unique_ptr<StageTimes> stage_times_; ///< null where there are none
    std::vector<Return> returns_;
    std::vector<std::size_t> sliced_; ///< arguments that a call which is too large gets in parts
    /// Of calls that are too large: of a part of each sliced argument, of what all parts give, one below another, and,
    /// where rows need what that gives, of the arguments and that.
    std::shared_ptr<const LoadedPlan> partial_, total_, rest_;
    std::string when_too_large_ = "Work on it in parts."; ///< what to do about it
    std::size_t parameters_ = 0;                          ///< of the function, where there are these
    std::size_t handed_ = 0;                              ///< the first results of the total, which the rest takes
    std::vector<std::size_t> kept_;                       ///< which results of the call the others are
    bool writes_arguments_ = false;
    bool has_host_ = true;                                 ///< versions for the host
    bool has_device_ = false;                              ///< versions for a device
    bool device_waits_ = false;                            ///< some of them look at data on the way
    mutable bool has_run_on_device_ = false;               ///< the driver has its code
    mutable runtime::Executable::Decision last_on_device_; ///< the GIL guards it
    std::vector<Ref> result_descrs_;
};

} // namespace tilewright::face
