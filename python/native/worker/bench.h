// python/native/worker/bench.h: runs candidates on the job's data: compares results, takes times.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "autotune/measure/messages.h"
#include "autotune/outcome.h"
#include "autotune/workbench.h"
#include "python/native/worker/candidates.h"
#include "python/native/worker/data_sets.h"
#include "python/native/worker/device_memory.h"
#include "python/native/worker/faults.h"
#include "python/native/worker/stage_replay.h"

namespace tilewright::native {

class Bench {
  public:
    /// `status` may be null. `device`: which one runs candidates whose target is CUDA's.
    Bench(const autotune::Job& job, Candidates& candidates, autotune::WorkerStatus* status, int device = 0);

    /// The status names what this process is at, and for which schedule.
    void say(const char* phase, const std::string& id);
    /// Loads the data and, once a variant, computes what its candidates are compared with: the results of the default
    /// schedule (or of no schedule at all where `bare`), themselves checked against NumPy. An outcome when that fails.
    std::optional<autotune::Outcome> prepare(const std::string& id, bool bare);
    /// Requires prepare(). nullopt when every data set gives the same bits as the reference.
    std::optional<autotune::Outcome> verify(const std::string& id);
    autotune::OrOutcome<autotune::PairedTimes> measure(const autotune::MeasureRequest& request);

  private:
    /// One call made ready: frame and version.
    struct Call {
        std::vector<unsigned char> frame_memory;
        runtime::Executable::Frame frame{};
        int version = -1; ///< -1: the schedule does not serve these sizes
        /// Of the data set's written arguments, the copies that this call writes into.
        std::vector<char*> written;
    };
    /// What a call leaves behind: a result, or the content of an argument that it writes into.
    struct Output {
        std::string name;
        DType dtype{};
        std::vector<std::int64_t> shape;
        std::int64_t elements = 0;
        const char* data = nullptr; ///< in C order; null: memory between the elements of a written argument has changed
        const char* numpy = nullptr; ///< null: nobody asked NumPy
    };
    /// A run without results.
    struct Failure : autotune::Outcome {
        bool is_the_datas = false; ///< NumPy has to run such data, or a loop does not end on it
    };
    struct Reference {
        std::string wrong; ///< the variant disagrees with NumPy: what all its candidates are told
        /// By data set and output: the reference's bits, empty where the schedule does not serve the data set or
        /// NumPy's answer has the very same bits.
        std::vector<std::vector<GuardedMemory>> outputs;
        std::vector<bool> served;
        /// Of the recorded call with special values planted in it; empty where nothing can be planted, or where loops
        /// that the data end would then not end.
        std::vector<GuardedMemory> planted;
        /// What its stages were given, by data set, and by those values.
        std::vector<StageReplay::Operands> operands;
        StageReplay::Operands planted_operands;
        unsigned last_use = 0;
    };

    void load();
    Call make_ready(const Candidate& candidate, DataSet& set, Place place);
    /// Results are filled with what nobody computes.
    void poison(DataSet& set, const Candidate& candidate, Place place);
    /// Written arguments get their content from before the call.
    void refresh(const Call& call, const DataSet& set);
    /// Requires refresh(). `limit_s`: loops of the plan end then; 0: never.
    std::optional<Failure> run(const Candidate& candidate, const Call& call, DataSet& set, bool timed,
                               double limit_s = 0, const StageReplay::Watch& watch = {});
    StageReplay& replay(const DataSet& set) { return *replays_[static_cast<std::size_t>(&set - sets_.data())]; }
    /// Waits for the device. What went wrong there is a failure, or the end of this process where nothing works any
    /// more: the search then charges it to the schedule that ran.
    std::optional<Failure> finish();
    Failure device_failure(const std::string& text) const;
    /// Where the first result or written argument of a call lies; null where it has none.
    static FaultyResult first_output(const Candidate& candidate, const Call& call, const DataSet& set);
    /// Faults that tests inject. False: pretend that memory ran out.
    bool act_out_fault(const Candidate& candidate, const Call& call, const DataSet& set, bool timed);
    DeviceSet* on_device(const DataSet& set);
    /// Nanoseconds of one call, of so many.
    autotune::OrOutcome<double> timed(const Candidate& candidate, const Call& call, DataSet& set, int repeats);
    std::vector<Output> outputs(const Candidate& candidate, const Call& call, DataSet& set);
    std::optional<autotune::Outcome> compare_with_numpy(const std::vector<Output>& outputs, const DataSet& set);
    /// What a candidate has written on the device outside of its arrays.
    std::optional<autotune::Outcome> device_damage(const DataSet& set, const std::string& data);
    bool recorded_fits(const Candidate& candidate);
    /// What `body` says of the outputs of the recorded call with special values planted in it; the rest as in run().
    template <class Body>
    std::optional<autotune::Outcome> with_planted(const Candidate& candidate, double limit_s,
                                                  const StageReplay::Watch& watch, const Body& body);
    std::optional<autotune::Outcome> plant(const Candidate& candidate, Reference& reference, double limit_s);
    std::optional<autotune::Outcome> verify_planted(const Candidate& candidate, const Reference& reference);
    void forget_old_references();

    const autotune::Job& job_;
    Candidates& candidates_;
    autotune::WorkerStatus* status_;
    bool loaded_ = false;
    bool planted_ = false; ///< the recorded call holds special values right now
    std::vector<DataSet> sets_;
    std::vector<std::unique_ptr<StageReplay>> replays_; ///< of each
    /// Of a CUDA target: where calls run, and the arrays of each data set there.
    std::optional<runtime::cuda::Place> device_;
    std::vector<DeviceSet> device_sets_;
    std::optional<DeviceBlock> flushing_; ///< larger than the second cache
    std::map<Variant, Reference> references_;
    unsigned uses_ = 0;
};

} // namespace tilewright::native
