// autotune/measure/process_workbench.h: the real workbench: candidates are built and run in tilewright-worker
// processes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "autotune/job.h"
#include "autotune/measure/builders.h"
#include "autotune/measure/worker_process.h"
#include "autotune/workbench.h"

namespace tilewright::autotune {

class ProcessWorkbench : public Workbench {
  public:
    /// Writes the job to a file that only this user can read, and removes it in the end. `cancel` may be null.
    explicit ProcessWorkbench(Job job, const std::atomic<bool>* cancel = nullptr);
    ~ProcessWorkbench() override;

    std::vector<VariantOptions> variants() override;
    dsl::AlgorithmInfo describe(const std::map<std::string, std::string>& variant) override;
    OrOutcome<dsl::Schedule> autoschedule(const std::string& name,
                                          const std::map<std::string, std::string>& variant) override;
    OrOutcome<Built> build(const dsl::Schedule& schedule) override;
    int builds_ahead() const override;
    void expect(const dsl::Schedule& schedule) override;
    std::optional<Outcome> verify(const Built& built) override;
    OrOutcome<PairedTimes> measure(const MeasureRequest& request) override;

    /// Lowered code and assembly of a schedule, for people.
    struct Listing {
        std::string lowered;
        std::string assembly;
    };
    OrOutcome<Listing> lowered(const dsl::Schedule& schedule);
    /// The worker's process, 0 when none runs. For tests.
    pid_t worker_pid() const { return worker_.running() ? worker_.pid() : 0; }

  private:
    struct Reply;
    OrOutcome<Built> build_ahead(const std::string& id, const std::string& text);
    /// Has the worker build a schedule, or load what was built of it.
    Reply ask_for(const std::string& id, const std::string& text);
    /// Starts a worker where none runs, asks, and turns errors of the worker into ours.
    Reply ask(const nlohmann::json& request, double limit_s);
    /// Builds schedules again that a worker which has died had built.
    std::optional<Outcome> restore(const std::string& id);
    std::optional<Outcome> prepare(const std::string& id);
    double run_limit_s() const;

    Job job_;
    const std::atomic<bool>* cancel_;
    std::string job_file_;
    WorkerProcess worker_;
    std::unique_ptr<Builders> builders_;       ///< of a job for a device
    std::map<std::string, std::string> files_; ///< what they have built, by id
    std::map<std::string, std::string> texts_; ///< of every schedule that was built, by id
    std::map<std::string, bool> in_worker_;    ///< what the present worker holds
    std::map<std::string, dsl::AlgorithmInfo> described_;
    std::set<std::string> bare_references_; ///< variants whose default schedule kills its worker
    double slowest_verify_s_ = 0;
    int verified_ = 0;
};

} // namespace tilewright::autotune
