// autotune/measure/builders.cpp: a thread a worker, a queue of schedules.
#include "autotune/measure/builders.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "autotune/measure/worker_process.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {

using nlohmann::json;

Builders::Builders(int count, std::string worker, std::string job_file, double limit_s, const std::atomic<bool>* cancel)
    : count_(count), worker_(std::move(worker)), job_file_(std::move(job_file)), limit_s_(limit_s), cancel_(cancel),
      folder_(job_file_ + "-built") {
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
    if (known_.count(id) != 0) return;
    known_[id] = false;
    if (first)
        queue_.emplace_front(id, text);
    else
        queue_.emplace_back(id, text);
    if (static_cast<int>(threads_.size()) < count_) threads_.emplace_back([this] { work(); });
    changed_.notify_all();
}

BuiltFile Builders::take(const std::string& id) {
    std::unique_lock lock(mutex_);
    const auto known = known_.find(id);
    if (known == known_.end()) throw InternalError("builders: " + id + " was never asked for.");
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return known->second || ending_; }))
        if (cancel_ != nullptr && cancel_->load()) stop_ = true; // what is being built ends now
    if (!known->second) {
        BuiltFile none;
        none.outcome = {OutcomeKind::build_failed, "cancelled"};
        return none;
    }
    return done_.at(id);
}

/// A builder's worker may die with a candidate; the next one gets a new worker.
void Builders::work() {
    WorkerProcess worker(worker_, job_file_);
    for (;;) {
        std::pair<std::string, std::string> task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) break;
            task = queue_.front();
            queue_.pop_front();
        }
        BuiltFile built;
        const std::string path = folder_ + "/" + task.first;
        try {
            if (!worker.running()) worker.start();
            const json request = {{"verb", "compile"}, {"id", task.first}, {"schedule", task.second}, {"file", path}};
            const std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace);
            WorkerAnswer answer = worker.ask(line, limit_s_, &stop_);
            if (answer.kind == WorkerAnswer::Kind::died && answer.signal == SIGKILL) { // by somebody else
                worker.start();
                answer = worker.ask(line, limit_s_, &stop_);
            }
            if (answer.kind == WorkerAnswer::Kind::line) {
                const json object = json::parse(answer.text, nullptr, false);
                if (object.is_discarded() || !object.is_object()) {
                    built.error_class = "InternalError";
                    built.error_text = "tilewright-worker: it answered " + answer.text.substr(0, 200) + ".";
                } else if (object.contains("error")) {
                    built.error_class = object.at("error").get<std::string>();
                    built.error_text = object.value("text", "");
                } else if (object.contains("outcome")) {
                    built.outcome = {
                        try_outcome_kind(object.at("outcome").get<std::string>()).value_or(OutcomeKind::build_failed),
                        object.value("text", "")};
                } else {
                    built.path = path;
                    built.build_s = object.value("build_s", 0.0);
                }
            } else if (answer.kind == WorkerAnswer::Kind::timed_out) {
                char words[64];
                std::snprintf(words, sizeof words, "no answer within %.1f s", limit_s_);
                built.outcome = {OutcomeKind::build_timed_out, words};
            } else {
                built.outcome = {OutcomeKind::build_failed,
                                 answer.kind == WorkerAnswer::Kind::cancelled ? "cancelled" : answer.text, false,
                                 answer.signal == SIGKILL};
            }
        } catch (const Error& error) {
            built.error_class = "DeviceError";
            built.error_text = error.what();
        } catch (const std::exception& error) {
            built.error_class = "InternalError";
            built.error_text = error.what();
        }
        {
            const std::lock_guard lock(mutex_);
            done_[task.first] = std::move(built);
            known_[task.first] = true;
        }
        changed_.notify_all();
    }
    worker.kill();
}

} // namespace tilewright::autotune
