// autotune/measure/devices.h: several devices, a worker each. What is expected is checked and timed ahead, a candidate
// a device, beside the incumbent of that moment; the search then finds the answers waiting. Where there is a better
// incumbent by then, a candidate that was no faster than the earlier one is not timed again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autotune/measure/builders.h"
#include "autotune/measure/worker_lane.h"

namespace tilewright::autotune {

class Devices {
  public:
    Devices(const Job& job, const std::string& job_file, Builders& builders, const std::atomic<bool>* cancel);
    ~Devices();
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;

    /// Requires builders.expect() of the same schedule.
    void expect(const std::string& id, const std::string& text);
    /// Requires know() of both schedules.
    void expect(const MeasureRequest& request);
    void know(const std::string& id, const std::string& text, const std::string& file);
    std::optional<Outcome> verify(const std::string& id);
    OrOutcome<PairedTimes> measure(const MeasureRequest& request);

  private:
    struct Lane {
        std::unique_ptr<WorkerLane> worker;
        std::mutex busy;
    };
    /// What a lane has found out before anybody asked.
    struct Answer {
        std::size_t lane = 0;
        bool built = false; ///< false: nothing is known, the caller has to ask
        std::optional<Outcome> wrong;
    };
    struct Timing {
        MeasureRequest request;
        std::future<OrOutcome<PairedTimes>> times;
    };
    struct Known {
        std::string text, file;
    };
    void work(std::size_t lane);
    Answer check_and_time(std::size_t lane, const std::string& id, const std::string& text);
    Answer answer_of(const std::string& id);
    std::packaged_task<OrOutcome<PairedTimes>(std::size_t)> timing_of(const MeasureRequest& request);
    OrOutcome<PairedTimes> measured(std::size_t lane, const MeasureRequest& request);
    std::optional<OrOutcome<PairedTimes>> taken_ahead(const MeasureRequest& request);
    void tell(Lane& lane, const std::string& id);

    const Job& job_;
    Builders& builders_;
    const std::atomic<bool>* cancel_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::mutex mutex_; ///< of all below
    std::condition_variable changed_;
    std::deque<std::packaged_task<void(std::size_t)>> queue_;   ///< of the lane that takes it
    std::map<std::string, std::shared_future<Answer>> answers_; ///< by id
    std::map<std::string, Timing> timings_;                     ///< by the candidate's id
    std::map<std::string, Known> known_;
    std::string incumbent_;
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

} // namespace tilewright::autotune
