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
        queue_.clear();
    }
    changed_.notify_all();
}

void Builders::expect(const std::string& id, const std::string& text, bool first) {
    const std::lock_guard lock(mutex_);
    if (!files_.try_emplace(id).second) return;
    if (first)
        queue_.emplace_front(id, text);
    else
        queue_.emplace_back(id, text);
    if (static_cast<int>(threads_.size()) < count_) threads_.emplace_back([this] { work(); });
    changed_.notify_all();
}

BuiltFile Builders::take(const std::string& id) {
    std::unique_lock lock(mutex_);
    const auto found = files_.find(id);
    if (found == files_.end()) throw InternalError("builders: " + id + " was never asked for.");
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return found->second || ending_; }))
        if (cancel_ != nullptr && cancel_->load()) stop_ = true; // what is being built ends now
    if (found->second) return *found->second;
    BuiltFile none;
    none.outcome = {OutcomeKind::build_failed, "cancelled"};
    return none;
}

/// A builder's worker may die with a candidate; the next one gets a new worker.
void Builders::work() {
    WorkerLane worker(job_, job_file_, &stop_);
    for (;;) {
        std::pair<std::string, std::string> task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) break;
            task = queue_.front();
            queue_.pop_front();
        }
        BuiltFile built = compiled(worker, task.first, task.second);
        {
            const std::lock_guard lock(mutex_);
            files_[task.first] = std::move(built);
        }
        changed_.notify_all();
    }
    worker.kill();
}

BuiltFile Builders::compiled(WorkerLane& worker, const std::string& id, const std::string& text) const {
    BuiltFile built;
    const std::string path = folder_ + "/" + id;
    try {
        const WorkerReply reply =
            worker.ask_twice({{"verb", "compile"}, {"id", id}, {"schedule", text}, {"file", path}}, job_.build_limit_s);
        if (const auto failed = reply.build_failure(job_.build_limit_s)) {
            built.outcome = *failed;
        } else {
            built.path = path;
            built.build_s = reply.object.value("build_s", 0.0);
        }
    } catch (const std::exception&) {
        built.error = std::current_exception();
    }
    return built;
}

} // namespace tilewright::autotune
