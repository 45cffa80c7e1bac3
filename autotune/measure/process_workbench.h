// autotune/measure/process_workbench.h: the real workbench: candidates are built and run in tilewright-worker
// processes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "autotune/job.h"
#include "autotune/measure/builders.h"
#include "autotune/measure/devices.h"
#include "autotune/measure/worker_lane.h"
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
    void expect(const MeasureRequest& request) override;
    std::optional<Outcome> verify(const Built& built) override;
    OrOutcome<PairedTimes> measure(const MeasureRequest& request) override;

    /// Lowered code and assembly of a schedule, for people.
    struct Listing {
        std::string lowered;
        std::string assembly;
    };
    OrOutcome<Listing> lowered(const dsl::Schedule& schedule);
    /// The worker's process, 0 when none runs. For tests.
    pid_t worker_pid() const { return lane_.pid(); }

  private:
    OrOutcome<Built> build_ahead(const std::string& id, const std::string& text);

    Job job_;
    const std::atomic<bool>* cancel_;
    std::string job_file_;
    WorkerLane lane_;
    std::unique_ptr<Builders> builders_; ///< of a job for devices
    std::unique_ptr<Devices> devices_;   ///< where it names several
};

} // namespace tilewright::autotune
