// autotune/measure/builders.cpp: a thread a worker, a queue of schedules.
#include "autotune/measure/builders.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

#include "dsl/base/error.h"

namespace tilewright::autotune {

Builders::Builders(int count, const Job& job, std::string job_file, const std::atomic<bool>* cancel)
    : count_(count), job_(job), job_file_(std::move(job_file)), cancel_(cancel), folder_(job_file_ + "-built") {
    if (::mkdir(folder_.c_str(), S_IRWXU) != 0)
        throw DeviceError("tuning: no folder " + folder_ + ": " + std::strerror(errno) + ".",
                          "Set TMPDIR to a folder that may be written.");
}

Builders::~Builders() {
    stop();
    for (std::thread& thread : threads_)
        thread.join();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void Builders::stop() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        stop_ = true;
    }
    changed_.notify_all();
}

void Builders::expect(const std::string& id, const std::string& text, bool first) {
    const std::lock_guard lock(mutex_);
    if (built_.count(id) != 0) return;
    Task task([this, id, text](WorkerLane& worker) { return compiled(worker, id, text); });
    built_[id] = task.get_future().share();
    queue_.insert(first ? queue_.begin() : queue_.end(), std::move(task));
    if (static_cast<int>(threads_.size()) < count_) threads_.emplace_back([this] { work(); });
    changed_.notify_all();
}

OrOutcome<Built> Builders::take(const std::string& id) {
    std::shared_future<OrOutcome<Built>> built;
    {
        const std::lock_guard lock(mutex_);
        const auto found = built_.find(id);
        if (found == built_.end()) throw InternalError("builders: " + id + " was never asked for.");
        built = found->second;
    }
    while (built.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
        if (ending_) return Outcome{OutcomeKind::build_failed, "cancelled"};
        if (cancel_ != nullptr && cancel_->load()) stop_ = true; // what is being built ends now
    }
    return built.get();
}

/// A builder's worker may die with a candidate; the next one gets a new worker.
void Builders::work() {
    WorkerLane worker(job_, job_file_, &stop_);
    for (;;) {
        Task task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) return;
            task = std::move(queue_.front());
            queue_.pop_front();
        }
        task(worker);
    }
}

OrOutcome<Built> Builders::compiled(WorkerLane& worker, const std::string& id, const std::string& text) const {
    const WorkerReply reply = worker.ask_twice(
        {{"verb", "compile"}, {"id", id}, {"schedule", text}, {"file", file_of(id)}}, job_.build_limit_s);
    if (const auto failed = reply.build_failure(job_.build_limit_s)) return *failed;
    return Built{id, reply.object.value("build_s", 0.0)};
}

} // namespace tilewright::autotune
