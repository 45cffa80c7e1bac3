// python/native/face/plan_call.cpp: from Python's arguments to a run of a plan, and back.
#include "python/native/face/plan_call.h"

#include <alloca.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>

#include "dsl/runtime/element_count.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/device_arguments.h"
#include "python/native/face/device_context.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/plan_call_stages.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

using runtime::Executable;
using runtime::MemoryRange;
using runtime::PlanArgument;
using runtime::RunStatus;

PyObject* item_of(PyObject* mapping, const std::string& name, bool& failed) {
    if (!mapping || mapping == Py_None) return nullptr;
    const Ref key = unicode(name);
    PyObject* value = key ? PyObject_GetItem(mapping, key.get()) : nullptr;
    if (!value) {
        if (PyErr_ExceptionMatches(PyExc_KeyError))
            PyErr_Clear();
        else
            failed = true;
    }
    return value;
}

/// A date is of a class of NumPy's that has arithmetic, but it is no number.
bool is_number(PyObject* object) {
    if (PyArray_IsScalar(object, Generic)) return PyArray_IsScalar(object, Number) || PyArray_IsScalar(object, Bool);
    return PyNumber_Check(object) != 0;
}

} // namespace

std::shared_ptr<const LoadedPlan> LoadedPlan::make(PyObject* plan_text, PyObject* objects, const std::string& function,
                                                   const Signature& signature, const Binding& binding) {
    Py_ssize_t size = 0;
    if (!PyUnicode_Check(plan_text)) return fail(PyExc_TypeError, "a plan is a str."), nullptr;
    const char* text = PyUnicode_AsUTF8AndSize(plan_text, &size);
    if (!text) return nullptr;
    std::string_view view(text, static_cast<std::size_t>(size));
    auto result = std::make_shared<LoadedPlan>();
    result->function_ = function;
    try {
        std::set<std::string> names;
        for (const auto& version : runtime::parse_plan(view).versions)
            runtime::for_each_step(version.steps, [&](const runtime::PlanStep& step) {
                if (step.kind == runtime::PlanStep::Kind::call) names.insert(step.object);
            });
        std::vector<Ref> held;
        std::map<std::string, std::string_view> views;
        for (const std::string& name : names) {
            bool failed = false;
            char* bytes = nullptr;
            held.emplace_back(item_of(objects, name, failed));
            if (failed) return nullptr;
            // Objects of levels that this machine lacks may be left out; the loader names what it misses.
            if (!held.back()) continue;
            if (PyBytes_AsStringAndSize(held.back().get(), &bytes, &size) != 0) return nullptr;
            views[name] = {bytes, static_cast<std::size_t>(size)};
        }
        result->executable_ = Executable::load(view, views);
    } catch (const std::exception& e) {
        set_error(g_plan_error, e.what());
        return nullptr;
    }
    if (!result->outside_.read(binding.places, binding.checks, signature)) return nullptr;
    if (!result->load_generators(binding)) return nullptr;
    if (!result->bind_arguments(signature, binding)) return nullptr;
    if (!result->load_stages(binding)) return nullptr;
    if (!result->load_partials(objects, signature, binding)) return nullptr;
    result->look_at_versions();
    return result;
}

void LoadedPlan::look_at_versions() {
    const runtime::Plan& plan = executable_->plan();
    has_host_ = executable_->serves_host();
    has_device_ = executable_->serves_devices();
    for (const runtime::PlanVersionBody& version : plan.versions) {
        bool on_device = false;
        for (const runtime::PlanRequirement& r : version.requirements)
            on_device =
                on_device || (r.kind == runtime::PlanRequirement::Kind::isa && r.name.compare(0, 4, "cuda") == 0);
        if (on_device)
            runtime::for_each_step(version.steps, [&](const runtime::PlanStep& step) {
                device_waits_ = device_waits_ || runtime::form(step.kind).waits;
            });
    }
}

bool LoadedPlan::bind_arguments(const Signature& signature, const Binding& binding) {
    const runtime::Plan& plan = executable_->plan();
    if (drawn_.empty()) sliced_ = plan.sliced; // parts would draw once each
    bool failed = false;
    std::vector<bool> used(signature.size(), false);
    for (const PlanArgument& a : plan.arguments) {
        Source source;
        Ref place(item_of(binding.hidden, a.name, failed));
        source.generator = generator_of(a.name);
        if (source.generator >= 0) {
        } else if (place) {
            const Py_ssize_t number = PyLong_AsSsize_t(place.get());
            if (number < 0 || static_cast<std::size_t>(number) >= outside_.size())
                return fail(PyExc_ValueError, "hidden: %s needs one of %zu places.", a.name.c_str(), outside_.size());
            source.place = static_cast<int>(number);
        } else {
            source.parameter = signature.find(a.name);
            if (source.parameter >= 0)
                used[static_cast<std::size_t>(source.parameter)] = true;
            else
                source.constant = Ref(item_of(binding.constants, a.name, failed));
            if (source.parameter < 0 && !source.constant && !failed)
                return fail(g_plan_error, "plan of %s: it reads %s, which is neither a parameter nor a constant.",
                            function_.c_str(), a.name.c_str());
        }
        source.exact_type = Ref(item_of(binding.scalar_types, a.name, failed));
        if (source.exact_type && !PyType_Check(source.exact_type.get()))
            return fail(PyExc_TypeError, "scalar_types: %s needs a type.", a.name.c_str());
        if (failed) return false;
        writes_arguments_ = writes_arguments_ || a.written;
        sources_.push_back(std::move(source));
    }
    for (std::size_t i = 0; i < signature.size(); ++i) {
        if (used[i]) continue;
        Ref name = signature.parameters()[i].name;
        const char* text = PyUnicode_AsUTF8AndSize(name.get(), nullptr);
        if (!text) return false;
        Ref value(item_of(binding.constants, text, failed));
        if (failed) return false;
        if (!value) continue;
        fixed_.push_back({static_cast<int>(i), value});
        fixed_names_.push_back(text);
    }
    for (std::size_t k = 0; k < plan.returns.size(); ++k) {
        const std::string& name = plan.returns[k];
        const std::string& number = plan.numbers[k];
        Return r{false, -1, number};
        for (std::size_t i = 0; i < plan.results.size(); ++i)
            if (plan.results[i].name == name) r = {true, static_cast<int>(i), number};
        for (std::size_t i = 0; i < plan.arguments.size() && r.index < 0; ++i)
            if (plan.arguments[i].name == name) r = {false, static_cast<int>(i), number};
        returns_.push_back(r);
    }
    for (const auto& b : plan.results) {
        result_descrs_.emplace_back(reinterpret_cast<PyObject*>(PyArray_DescrFromType(numpy_type(b.dtype))));
        if (!result_descrs_.back()) return false;
    }
    return true;
}

PyObject* LoadedPlan::object_of(std::size_t i, PyObject* const* values, PyObject*& owned) const {
    const Source& source = sources_[i];
    if (source.generator >= 0) return nullptr;
    if (source.place < 0) return source.parameter >= 0 ? values[source.parameter] : source.constant.get();
    return owned = outside_.value(static_cast<std::size_t>(source.place), values).release();
}

PyObject* LoadedPlan::object_of(std::size_t i, PyObject* const* values, PyObject*& owned,
                                const CallGenerators& generators, Found& found) const {
    const Source& source = sources_[i];
    if (source.generator >= 0) return owned = generators.words(static_cast<std::size_t>(source.generator)).release();
    if (source.place < 0) return object_of(i, values, owned);
    // Owned: another thread may rebind it while the GIL is away.
    return owned = Ref::borrowed(found.at(static_cast<std::size_t>(source.place))).release();
}

LoadedPlan::Attempt LoadedPlan::call_whole(PyObject* const* values, PyObject* out, Freedom freedom, Problem* problem,
                                           PyObject** result, Found* found) const {
    const runtime::Plan& plan = executable_->plan();
    const bool strict = freedom.strict, copies = freedom.copies;
    for (std::size_t i = 0; i < fixed_.size(); ++i)
        if (!same_value(values[fixed_[i].parameter], fixed_[i].value.get()))
            return no_match(problem, Problem::Kind::constant, i, values[fixed_[i].parameter]);
    std::optional<Found> own;
    if (!found) own.emplace(outside_, values, alloca(Found::bytes(outside_)));
    Found& places = found ? *found : *own;
    if (!outside_.all_hold(places)) return no_match(problem, Problem::Kind::constant, fixed_.size(), nullptr);
    CallGenerators generators(drawn_);
    if (!drawn_.empty() && !generators.take(places))
        return PyErr_Occurred() ? Attempt::error : no_match(problem, Problem::Kind::constant, fixed_.size(), nullptr);
    std::size_t count = sources_.size();
    auto** arrays = static_cast<PyObject**>(alloca((count + 1) * sizeof(PyObject*)));
    // What was converted, or might be rebound by another thread while the GIL is away.
    RefArray owned(alloca((count + 1) * sizeof(PyObject*)), count);
    bool is_foreign = false;
    for (std::size_t i = 0; i < count; ++i) {
        arrays[i] = object_of(i, values, owned[i], generators, places);
        if (!arrays[i] && PyErr_Occurred()) return Attempt::error;
        if (!arrays[i]) return no_match(problem, Problem::Kind::array, i, Py_None);
        is_foreign = is_foreign || (plan.arguments[i].is_array && array_class_of(arrays[i]));
    }
    if (is_foreign) {
        DeviceArguments arguments(*this, arrays, alloca(DeviceViews::bytes(count)));
        if (!arguments.read()) return Attempt::error;
        if (arguments.on_device()) {
            if (has_device_) return call_on_device(arguments, values, out, freedom, problem, result);
            if (strict) return no_match(problem, Problem::Kind::array, arguments.leader(), arrays[arguments.leader()]);
            arguments.raise_without_device_code();
            return Attempt::error;
        }
    }
    if (device_context() && !has_device_) {
        if (strict) return no_match(problem, Problem::Kind::no_version, 0, nullptr);
        return error(g_device_error, "the call is inside of `with device(...)`, but this module has no code for CUDA "
                                     "devices. Export it with --target host,cuda.");
    }
    Executable::Frame frame = executable_->lay_out(alloca(executable_->frame_bytes()));
    const bool is_elsewhere = has_device_ && (device_context() || (!has_host_ && freedom.to_device));
    runtime::cuda::Place place;
    if (is_elsewhere) {
        place = default_place();
        if (!check_device(place.device)) return Attempt::error;
        frame.place = &place;
    }

    // Where the arguments of the caller lie, before any is copied.
    auto* ranges = static_cast<MemoryRange*>(alloca((writes_arguments_ ? count + 1 : 1) * sizeof(MemoryRange)));

    // What is made of an argument stands for it from here on. False with a Python error.
    const auto take = [&](std::size_t i, PyObject* made) {
        if (!made) return false;
        Py_XDECREF(owned[i]);
        arrays[i] = owned[i] = made;
        return true;
    };
    for (std::size_t i = 0; i < count; ++i) {
        const PlanArgument& a = plan.arguments[i];
        if (writes_arguments_) ranges[i] = {};
        PyObject* object = arrays[i];
        if (!a.is_array) {
            if (!read_number(i, object, strict, frame)) return no_match(problem, Problem::Kind::scalar, i, object);
            continue;
        }
        Mismatch mismatch = check_array(object, a.dtype, a.rank);
        const bool may_convert = copies && (!a.written || PyArray_Check(object));
        if (copies && !may_convert && !is_elsewhere) {
            std::string why = a.name + " is " + describe(object) + ", and the call writes into it. Pass an array.";
            return no_match(problem, Problem::Kind::written, i, nullptr, std::move(why));
        }
        if (mismatch == Mismatch::kind && (strict ? is_memmap(object) : may_convert)) {
            if (!take(i, as_array(object, function_, a.name).release())) return Attempt::error;
            object = arrays[i];
            mismatch = check_array(object, a.dtype, a.rank);
        }
        if (mismatch == Mismatch::needs_copy && is_elsewhere) mismatch = Mismatch::none; // it is copied there
        const bool fits = mismatch == Mismatch::none || mismatch == Mismatch::needs_copy;
        if (writes_arguments_ && fits) ranges[i] = memory_of(numpy_array(object));
        if (mismatch == Mismatch::needs_copy && copies && !a.written) {
            if (!take(i, PyArray_NewCopy(numpy_array(object), NPY_CORDER))) return Attempt::error;
            object = arrays[i];
            mismatch = check_array(object, a.dtype, a.rank);
        }
        if (mismatch == Mismatch::needs_copy && a.written)
            return no_match(problem, Problem::Kind::written, i, nullptr,
                            a.name + " is not aligned to its elements, and the call writes into it. Pass a copy.");
        if (mismatch != Mismatch::none) return no_match(problem, Problem::Kind::array, i, object);
        view_of(numpy_array(object), frame.arguments[i].array);
    }

    if (writes_arguments_ && !may_write(frame, arrays, out, ranges, problem)) return Attempt::no_match;
    if (is_elsewhere) return call_with_copies({frame, -1, values, arrays, out, problem}, copies, result);
    if (!has_sizes(frame, arrays, problem)) return Attempt::no_match;
    int version = executable_->select(frame);
    for (NPY_ORDER order : {NPY_CORDER, NPY_FORTRANORDER}) {
        if (version >= 0 || !copies) break;
        for (std::size_t i = 0; i < count; ++i) {
            if (!plan.arguments[i].is_array || plan.arguments[i].written) continue;
            auto* array = numpy_array(arrays[i]);
            if (order == NPY_CORDER ? PyArray_IS_C_CONTIGUOUS(array) : PyArray_IS_F_CONTIGUOUS(array)) continue;
            if (!take(i, PyArray_NewCopy(array, order))) return Attempt::error;
            view_of(numpy_array(arrays[i]), frame.arguments[i].array);
        }
        version = executable_->select(frame);
    }
    if (const Attempt attempt = served(frame, version, problem); attempt != Attempt::done) return attempt;
    if (!generators.count(frame.symbols)) return no_match(problem, Problem::Kind::constant, fixed_.size(), nullptr);
    const Attempt attempt = run({frame, version, values, arrays, out, problem, freedom.strict}, result);
    if (attempt == Attempt::done) generators.move_on();
    return attempt;
}

bool LoadedPlan::read_number(std::size_t i, PyObject* object, bool strict, const Executable::Frame& frame) const {
    auto* exact_type = reinterpret_cast<PyTypeObject*>(sources_[i].exact_type.get());
    return read_scalar(object, executable_->plan().arguments[i].dtype, exact_type, strict, frame.arguments[i].scalar);
}

LoadedPlan::Attempt LoadedPlan::no_match(Problem* problem, Problem::Kind kind, std::size_t index, PyObject* object,
                                         std::string text) {
    if (problem) *problem = {kind, static_cast<int>(index), Ref::borrowed(object), std::move(text)};
    return Attempt::no_match;
}

bool LoadedPlan::has_sizes(const Executable::Frame& frame, PyObject* const* objects, Problem* problem) const {
    int large = -1;
    const bool are_read = executable_->read_sizes(frame, large);
    // What is cut into parts has to be a call for this program as a whole.
    const int guard = are_read ? executable_->failed_guard(frame) : executable_->failed_guard_of_large(frame);
    if (guard >= 0)
        no_match(problem, Problem::Kind::guard, static_cast<std::size_t>(guard), nullptr,
                 problem ? executable_->guard_message(guard, frame) : "");
    else if (!are_read)
        no_match(problem, Problem::Kind::too_large, static_cast<std::size_t>(large), objects[large]);
    return are_read && guard < 0;
}

LoadedPlan::Attempt LoadedPlan::served(const Executable::Frame& frame, int version, Problem* problem) const {
    if (version >= 0 && executable_->size_results(frame)) return Attempt::done;
    if (version < 0 && frame.place)
        if (const std::string why = executable_->device_problem(*frame.place); !why.empty())
            return error(g_device_error, why);
    const auto kind = version < 0 ? Problem::Kind::no_version : Problem::Kind::result_too_large;
    const auto text = [&] { return version < 0 ? executable_->sizes_text(frame) : executable_->why_not_sized(frame); };
    return no_match(problem, kind, 0, nullptr, problem ? text() : "");
}

bool LoadedPlan::may_write(const Executable::Frame& frame, PyObject* const* arrays, PyObject* out,
                           const MemoryRange* ranges, Problem* problem) const {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (!executable_->plan().arguments[i].written) continue;
        std::string why = why_not_written(i, frame, PyArray_ISWRITEABLE(numpy_array(arrays[i])), ranges);
        if (why.empty() && out) why = why_out_is_shared(i, out, ranges[i]);
        if (!why.empty()) return no_match(problem, Problem::Kind::written, i, nullptr, std::move(why)), false;
    }
    return true;
}

std::string LoadedPlan::why_not_written(std::size_t argument, const Executable::Frame& frame, bool is_writeable,
                                        const MemoryRange* ranges) const {
    const std::string& name = executable_->plan().arguments[argument].name;
    if (!is_writeable) return name + " is read-only, and the call writes into it. Pass an array that can be written.";
    return executable_->why_not_written(argument, frame, ranges);
}

std::string LoadedPlan::why_out_is_shared(std::size_t argument, PyObject* out, const MemoryRange& range) const {
    for (Py_ssize_t i = 0, n = PyTuple_Check(out) ? PyTuple_Size(out) : 1; i < n; ++i) {
        PyObject* item = item_at(out, static_cast<std::size_t>(i));
        if (PyArray_Check(item) && range.meets(memory_of(numpy_array(item))))
            return executable_->plan().arguments[argument].name +
                   " shares memory with out, and the call writes into both. Pass another out.";
    }
    return "";
}

bool LoadedPlan::has_item_for_each(PyObject* out) const {
    const std::size_t returns = returns_.size();
    if (PyTuple_Check(out) ? static_cast<std::size_t>(PyTuple_Size(out)) == returns : returns == 1) return true;
    error(PyExc_ValueError, "out must have an array for each of the " + std::to_string(returns) + " results, or None.");
    return false;
}

bool LoadedPlan::items_fit(PyObject* out) const {
    if (!has_item_for_each(out)) return false;
    for (std::size_t r = 0; r < returns_.size(); ++r) {
        if (returns_[r].is_result || item_at(out, r) == Py_None) continue;
        error(PyExc_ValueError, "out must be None for an argument that is returned as it is.");
        return false;
    }
    return true;
}

bool LoadedPlan::take_out(const Executable::Frame& frame, PyObject* out, PyObject** given) const {
    const runtime::Plan& plan = executable_->plan();
    if (!items_fit(out)) return false;
    for (std::size_t r = 0; r < returns_.size(); ++r) {
        PyObject* item = item_at(out, r);
        if (item == Py_None) continue;
        std::size_t index = static_cast<std::size_t>(returns_[r].index);
        const runtime::PlanBuffer& b = plan.results[index];
        int rank = static_cast<int>(b.shape.size());
        DType dtype;
        bool is_array = PyArray_Check(item);
        auto* array = numpy_array(item);
        bool same_type = is_array && dtype_of(array, dtype) && dtype == b.dtype;
        const std::int64_t* const shape = frame.results[index].shape;
        if (!same_type || PyArray_NDIM(array) != rank || !std::equal(shape, shape + rank, PyArray_DIMS(array))) {
            const std::string wanted = std::string(info(b.dtype).name) + extents_text(shape, rank);
            error(same_type ? PyExc_ValueError : PyExc_TypeError,
                  "out is " + describe(item) + ", but the result is " + wanted + ". Pass numpy.empty of that.");
            return false;
        }
        if (PyArray_FailUnlessWriteable(array, "out") != 0 || refuse_overlapping_out(function_, item)) return false;
        if (given[index]) continue;
        for (std::size_t other = 0; other < plan.results.size(); ++other)
            if (given[other] && refuse_shared_out(function_, item, given[other])) return false;
        given[index] = Py_NewRef(item);
    }
    return true;
}

LoadedPlan::Attempt LoadedPlan::error(PyObject* type, const std::string& text) const {
    set_error(type, function_ + ": " + text);
    return Attempt::error;
}

LoadedPlan::Attempt LoadedPlan::failure(RunStatus status, int version, const std::string& failed,
                                        Problem* problem) const {
    switch (status) {
    case RunStatus::check_failed:
        return no_match(problem, Problem::Kind::check, 0, nullptr, failed), Attempt::unchecked;
    case RunStatus::interrupted: // the handler's own exception
        return Attempt::error;
    case RunStatus::out_of_memory:
        return PyErr_NoMemory(), Attempt::error;
    case RunStatus::failed:
        return error(PyExc_RuntimeError,
                     "a kernel of version \"" + executable_->version_label(version) + "\" failed. Please report this.");
    case RunStatus::device_error:
        return error(is_out_of_device_memory(failed) ? PyExc_MemoryError : g_device_error, failed);
    default:
        return error(PyExc_ValueError, "a size or a step that the call computes is out of range: sizes are below "
                                       "2**31, steps not 0.");
    }
}

std::int64_t LoadedPlan::make_room(const HostCall& call, HostResults& memory) const {
    const runtime::Plan& plan = executable_->plan();
    const std::size_t results = plan.results.size();
    RefArray& given = memory.given;
    if (call.out && !take_out(call.frame, call.out, given.items())) return -1;
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < results; ++i) {
        const runtime::PlanBuffer& b = plan.results[i];
        runtime::CallResult& r = call.frame.results[i];
        bytes += r.elements * info(b.dtype).bytes;
        if (given[i]) {
            // As if nothing overlapped: an out array that shares memory with an argument, or lies between the elements
            // of another out, gets its values at the end.
            PyArrayObject* array = numpy_array(given[i]);
            bool direct = PyArray_IS_C_CONTIGUOUS(array) && PyArray_ISBEHAVED(array);
            for (std::size_t a = 0; a < sources_.size() && direct; ++a)
                direct = !plan.arguments[a].is_array || !overlap(array, numpy_array(call.arrays[a]));
            for (std::size_t o = 0; o < results && direct; ++o)
                direct = o == i || !given[o] || !overlap(array, numpy_array(given[o]));
            if (direct) {
                r.data = PyArray_DATA(array);
                continue;
            }
        } else if (b.shape.empty()) {
            r.data = memory.scalar(i);
            continue;
        }
        PyArrayObject* array = new_result(b.dtype, static_cast<int>(b.shape.size()), r.shape, r.elements, &r.is_pooled);
        if (!array) return -1;
        memory.made[i] = reinterpret_cast<PyObject*>(array);
        r.data = PyArray_DATA(array);
    }
    return bytes;
}

LoadedPlan::Attempt LoadedPlan::run(const HostCall& call, PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    HostResults memory(alloca(HostResults::bytes(plan.results.size())), plan.results.size());
    std::int64_t bytes = make_room(call, memory);
    if (bytes < 0) return Attempt::error;
    for (std::size_t a = 0; a < sources_.size() && bytes < kReleaseGilFrom; ++a)
        if (plan.arguments[a].is_array)
            bytes += PyArray_SIZE(numpy_array(call.arrays[a])) * info(plan.arguments[a].dtype).bytes;
    RunningThread thread;
    const runtime::Interrupt interrupt = thread.interrupt();
    std::string failed;
    if (bytes >= kReleaseGilFrom) thread.release_gil();
    StageCalls calls(stages_, stage_times_.get(), thread);
    const runtime::StageRunner runner = calls.runner();
    runtime::Executable::Frame frame = call.frame;
    frame.stages = &runner;
    const RunStatus status = executable_->run(frame, call.version, &interrupt, &failed);
    thread.take_gil();
    if (Ref raised = calls.error(); raised && status == RunStatus::check_failed && !call.strict) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.get())), raised.get());
        return Attempt::error;
    }
    if (status != RunStatus::done) return failure(status, call.version, failed, call.problem);
    calls.ended();
    return give_back(call, memory, &calls, result);
}

LoadedPlan::Attempt LoadedPlan::give_back(const HostCall& call, HostResults& memory, const StageCalls* calls,
                                          PyObject** result) const {
    const runtime::Plan& plan = executable_->plan();
    *result = put_together(plan.returns_tuple, returns_.size(), [&](std::size_t r) {
                  const auto& [is_result, index, number] = returns_[r];
                  const auto i = static_cast<std::size_t>(index);
                  if (!is_result && number.empty()) { // the caller's very object, whatever was made of it here
                      PyObject* own = sources_[i].parameter >= 0 ? call.values[sources_[i].parameter] : call.arrays[i];
                      return plan.arguments[i].is_array ? Ref::borrowed(own) : numpy_number(own);
                  }
                  if (!is_result && plan.arguments[i].is_array)
                      return python_number(number, PyArray_DATA(numpy_array(call.arrays[i])));
                  if (!is_result) return python_number(number, call.frame.arguments[i].scalar);
                  PyObject *given = memory.given[i], *made = memory.made[i];
                  if (given && made && PyArray_CopyInto(numpy_array(given), numpy_array(made)) != 0) return Ref();
                  if (given || made) return Ref::borrowed(given ? given : made);
                  if (number == "held") return calls->held(memory.scalar(i));
                  if (!number.empty()) return python_number(number, memory.scalar(i));
                  auto* descr = reinterpret_cast<PyArray_Descr*>(result_descrs_[i].get());
                  return Ref(PyArray_Scalar(memory.scalar(i), descr, nullptr));
              }).release();
    return *result ? Attempt::done : Attempt::error;
}

void LoadedPlan::raise(const Problem& problem) const {
    const auto index = static_cast<std::size_t>(problem.index);
    PyObject* const object = problem.object.get();
    const std::string& text = problem.text;
    const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
    const auto shown = [&] { return array_class_of(object) ? describe_placed(object) : describe(object); };
    // Arguments that these problems are about.
    const auto argument = [&]() -> const PlanArgument& { return executable_->plan().arguments[index]; };
    switch (problem.kind) {
    case Problem::Kind::array: {
        const PlanArgument& a = argument();
        const bool is_array = PyArray_Check(object);
        const bool same_rank = is_array && PyArray_NDIM(numpy_array(object)) == a.rank;
        // Of strings, dates and objects a cast makes an error, or numbers that nobody meant.
        const int type = is_array ? PyArray_TYPE(numpy_array(object)) : NPY_NOTYPE;
        const bool has_numbers = PyTypeNum_ISNUMBER(type) || PyTypeNum_ISBOOL(type);
        const std::string hint =
            is_array && !has_numbers ? "Pass an array of numbers."
            : same_rank              ? "Convert it: " + a.name + ".astype('" + std::string(info(a.dtype).name) + "')."
            : is_array ? "Pass an array of " + std::to_string(a.rank) + (a.rank == 1 ? " dimension." : " dimensions.")
                       : "Pass an array.";
        error(PyExc_TypeError,
              a.name + " is " + shown() + ", but this module takes " + describe(a.dtype, a.rank) + ". " + hint);
        return;
    }
    case Problem::Kind::scalar:
        PyErr_Format(PyExc_TypeError, "%s: %s is %R (%s), but this module takes a number that is %s without a cast. %s",
                     function_.c_str(), argument().name.c_str(), object, describe(object).c_str(),
                     std::string(info(argument().dtype).name).c_str(),
                     is_number(object) ? "Convert it." : "Pass a number.");
        return;
    case Problem::Kind::constant:
        if (index < fixed_.size())
            PyErr_Format(PyExc_ValueError,
                         "%s: %s is %R, but this module was made for %s=%R. Tune the function with that value too.",
                         function_.c_str(), fixed_names_[index].c_str(), object, fixed_names_[index].c_str(),
                         fixed_[index].value.get());
        else
            error(PyExc_ValueError, "a value that this module was made for has changed.");
        return;
    case Problem::Kind::written:
        error(g_written_error, text);
        return;
    case Problem::Kind::too_large:
        error(g_too_large_error, argument().name + " is " + shown() +
                                     "; kernels index with 32 bits, so an array has at most " +
                                     runtime::element_limit_text(argument().dtype) +
                                     " elements, and its strides reach no further. " + when_too_large_);
        return;
    case Problem::Kind::check:
        error(says("out of bounds") ? g_check_index_error : g_check_error, text + ".");
        return;
    case Problem::Kind::guard:
        // The class is NumPy's; a plan's text holds messages alone.
        error(says("is out of bounds for axis") ? PyExc_IndexError : PyExc_ValueError, text);
        return;
    case Problem::Kind::no_version:
        if (!executable_->usable())
            error(PyExc_RuntimeError,
                  "this module has no code for this machine's CPU. Export it with --target x86-64 as well.");
        else
            error(PyExc_ValueError, "no version of this module serves " + text + ": one needs " +
                                        executable_->requirements_text() + ". Tune the function with such sizes too.");
        return;
    default:
        error(g_too_large_error, text + ". Work on the arguments in parts.");
    }
}

int LoadedPlan::traverse(visitproc visit, void* data) const {
    auto see = [&](const Ref& ref) { return ref ? visit(ref.get(), data) : 0; };
    for (const Source& s : sources_)
        for (const Ref* ref : {&s.constant, &s.exact_type})
            if (int rc = see(*ref)) return rc;
    for (const Fixed& f : fixed_)
        if (int rc = see(f.value)) return rc;
    if (int rc = outside_.traverse(visit, data)) return rc;
    for (const Stage& stage : stages_)
        if (int rc = see(stage.callee)) return rc;
    for (const LoadedPlan* plan : {partial_.get(), total_.get(), rest_.get()})
        if (plan)
            if (int rc = plan->traverse(visit, data)) return rc;
    return 0;
}

} // namespace tilewright::face
