// autotune/measure/builders.h: several workers that compile candidates into files, ahead of the one that measures. A
// device measures while the CPU's cores build: neither disturbs the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autotune/measure/worker_lane.h"

namespace tilewright::autotune {

class Builders {
  public:
    /// Files lie in a folder beside the job's file, which only this user can read, and go with it. Workers start with
    /// the first schedules. `job` has to live as long. `cancel` may be null.
    Builders(int count, const Job& job, std::string job_file, const std::atomic<bool>* cancel);
    ~Builders();
    Builders(const Builders&) = delete;
    Builders& operator=(const Builders&) = delete;

    int count() const { return count_; }
    /// Puts a schedule in the queue, unless it is or was there.
    void expect(const std::string& id, const std::string& text, bool first = false);
    /// Waits for it. Requires expect(). Throws what went wrong with the worker itself.
    OrOutcome<Built> take(const std::string& id);
    /// What was built of a schedule, for a worker to load.
    std::string file_of(const std::string& id) const { return folder_ + "/" + id; }
    /// Nothing is built from here on, and nobody waits.
    void stop();

  private:
    using Task = std::packaged_task<OrOutcome<Built>(WorkerLane&)>;
    void work();
    OrOutcome<Built> compiled(WorkerLane& worker, const std::string& id, const std::string& text) const;

    const int count_;
    const Job& job_;
    const std::string job_file_;
    const std::atomic<bool>* cancel_;
    std::string folder_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> queue_;
    std::map<std::string, std::shared_future<OrOutcome<Built>>> built_; ///< by id
    std::atomic<bool> ending_{false}, stop_{false};
    std::vector<std::thread> threads_;
};

} // namespace tilewright::autotune
