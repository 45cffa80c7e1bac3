// autotune/measure/worker_lane.h: one worker that builds, checks and times; a dead one is replaced, and what it held is
// built or loaded again.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "autotune/job.h"
#include "autotune/measure/worker_process.h"
#include "autotune/workbench.h"

namespace tilewright::autotune {

struct WorkerReply {
    WorkerAnswer answer;
    nlohmann::json object;
    bool answered() const { return answer.kind == WorkerAnswer::Kind::line; }
    /// What became of a candidate that was to be built, or run, instead; nullopt where the reply is a success.
    std::optional<Outcome> build_failure(double limit_s) const {
        return failure(OutcomeKind::build_failed, OutcomeKind::build_timed_out, limit_s);
    }
    std::optional<Outcome> run_failure(double limit_s) const {
        return failure(OutcomeKind::run_crashed, OutcomeKind::run_timed_out, limit_s);
    }
    /// By SIGKILL that is not ours: a person, or a system without memory.
    bool is_killed() const;

  private:
    std::optional<Outcome> failure(OutcomeKind crashed, OutcomeKind timed_out, double limit_s) const;
    /// In an answer.
    std::optional<Outcome> outcome() const;
};

/// Not for several threads at once.
class WorkerLane {
  public:
    /// `job` has to live as long. `cancel` may be null. `device`: which one the worker measures on, -1: the CPU.
    WorkerLane(const Job& job, const std::string& job_file, const std::atomic<bool>* cancel, int device = -1);

    /// Starts a worker where none runs, asks, and turns errors of the worker into ours.
    WorkerReply ask(const nlohmann::json& request, double limit_s);
    /// The same, and once more of a new worker where somebody killed the first one.
    WorkerReply ask_twice(const nlohmann::json& request, double limit_s);
    /// Of these three as well.
    OrOutcome<Built> build(const std::string& id, const std::string& text);
    /// A schedule that was built elsewhere, into a file.
    void know(const std::string& id, const std::string& text, const std::string& file);
    bool knows(const std::string& id) const { return texts_.count(id) != 0; }
    std::optional<Outcome> verify(const std::string& id);
    OrOutcome<PairedTimes> measure(const MeasureRequest& request);
    pid_t pid() const { return worker_.running() ? worker_.pid() : 0; }

  private:
    std::optional<Outcome> verify_once(const std::string& id);
    OrOutcome<PairedTimes> measure_once(const MeasureRequest& request);
    /// Has the worker build a schedule, or load what was built of it.
    WorkerReply ask_for(const std::string& id, const std::string& text);
    /// Builds schedules again that a worker which has died had built.
    std::optional<Outcome> restore(const std::string& id);
    std::optional<Outcome> prepare(const std::string& id);
    double run_limit_s() const;

    const Job& job_;
    const std::atomic<bool>* cancel_;
    WorkerProcess worker_;
    std::map<std::string, std::string> texts_; ///< of every schedule that was built, by id
    std::map<std::string, std::string> files_; ///< of those that another worker has built
    std::set<std::string> in_worker_;          ///< what the present worker holds
    std::set<std::string> bare_references_;    ///< variants whose default schedule kills its worker
    double slowest_verify_s_ = 0;
    int verified_ = 0;
};

} // namespace tilewright::autotune
