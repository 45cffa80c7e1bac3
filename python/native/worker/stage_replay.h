// python/native/worker/stage_replay.h: the stages of a call, without Python: what they gave in NumPy is played back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "dsl/runtime/executor.h"
#include "python/native/worker/data_sets.h"

namespace tilewright::native {

/// Schedules never change the bits, so the stages of each candidate are given what those of the default schedule were:
/// then they give the same, too. Whether they are given that is compared here; a result would not show it.
class StageReplay {
  public:
    /// Operands by their number in the whole call; empty where they have the recorded bits.
    using Operands = std::vector<std::vector<char>>;
    /// What is done with operands beside: nothing at all in runs that are timed.
    struct Watch {
        /// Of results. Not zero: a sum in another order may be somewhat further from what was recorded.
        const autotune::JobTolerance* tolerance = nullptr;
        Operands* kept = nullptr;          ///< takes them, for others to be compared with
        const Operands* same_as = nullptr; ///< those they have the bits of
    };

    /// Throws InternalError for a job that contradicts its file.
    explicit StageReplay(const autotune::JobDataSet& set);
    StageReplay(const StageReplay&) = delete;
    StageReplay& operator=(const StageReplay&) = delete;

    /// Before each run of an executable, whose stages these are.
    void begin(const std::vector<std::string>& stages, const Watch& watch);
    const runtime::StageRunner* runner() const { return &runner_; }
    /// Behind a run: why it was none that the record is of, empty where it was one. `ended`: no stage ended it.
    std::string problem(bool ended) const;
    /// Nanoseconds that went into playing back since the last time that somebody asked.
    double take_spent_ns();

  private:
    struct Recorded {
        DType dtype;
        std::int64_t elements;
        const char* data;
    };
    struct Call {
        const autotune::JobStageCall* described;
        std::vector<Recorded> arrays;
        std::size_t first_operand; ///< in Operands
    };
    struct Stage {
        std::string text;
        std::vector<std::size_t> calls; ///< in calls_
        std::size_t next = 0;
    };

    runtime::StageOutcome run(int stage, const runtime::StageArray* arrays, int count);
    /// Sets the problem where an operand is not what it has to be.
    bool accept(const Call& call, std::size_t number, const runtime::StageArray& array);
    runtime::StageOutcome refuse(const std::string& why);

    const autotune::JobDataSet& set_;
    runtime::StageRunner runner_;
    std::optional<MappedFile> file_;
    std::vector<Call> calls_;
    std::size_t operands_ = 0;
    std::map<std::string, std::vector<std::size_t>> by_text_;
    std::vector<Stage> stages_; ///< of the executable that runs
    Watch watch_;
    std::string problem_;
    double spent_ns_ = 0;
    std::vector<char> in_c_order_; ///< room for an operand that lies in another way
};

} // namespace tilewright::native
