// autotune/measure/devices.cpp: a thread a device.
#include "autotune/measure/devices.h"

#include "dsl/base/error.h"

namespace tilewright::autotune {

namespace {

bool is_first(const MeasureRequest& request) {
    const MeasureRequest first = first_request(request.candidate, request.incumbent);
    return request.budget_s == first.budget_s && request.min_runs == first.min_runs &&
           request.max_runs == first.max_runs && request.give_up_ratio == first.give_up_ratio;
}

} // namespace

Devices::Devices(const Job& job, const std::string& job_file, Builders& builders, const std::atomic<bool>* cancel)
    : job_(job), builders_(builders), cancel_(cancel) {
    for (const int device : job_.devices) {
        lanes_.push_back(std::make_unique<Lane>());
        lanes_.back()->worker = std::make_unique<WorkerLane>(job_, job_file, cancel_, device);
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        threads_.emplace_back([this, lane] { work(lane); });
}

Devices::~Devices() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        queue_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void Devices::kill() {
    for (const auto& lane : lanes_) {
        const std::lock_guard busy(lane->busy);
        lane->worker->kill();
    }
}

void Devices::expect(const std::string& id, const std::string& text) {
    {
        const std::lock_guard lock(mutex_);
        if (answers_.count(id) != 0) return;
        answers_[id];
        queue_.emplace_back(id, text);
    }
    changed_.notify_all();
}

void Devices::know(const std::string& id, const std::string& text, const std::string& file) {
    const std::lock_guard lock(mutex_);
    known_[id] = {text, file};
}

/// Requires lane.busy.
void Devices::tell(Lane& lane, const std::string& id) {
    if (lane.worker->knows(id)) return;
    Known known;
    {
        const std::lock_guard lock(mutex_);
        const auto found = known_.find(id);
        if (found == known_.end()) throw InternalError("devices: the schedule " + id + " was never built.");
        known = found->second;
    }
    lane.worker->know(id, known.text, known.file);
}

void Devices::work(std::size_t number) {
    Lane& lane = *lanes_[number];
    for (;;) {
        std::pair<std::string, std::string> task;
        std::string incumbent;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) return;
            task = queue_.front();
            queue_.pop_front();
            answers_[task.first].lane = number;
        }
        Answer answer;
        answer.lane = number;
        try {
            const BuiltFile built = builders_.take(task.first);
            if (!built.path.empty()) {
                know(task.first, task.second, built.path);
                const std::lock_guard busy(lane.busy);
                tell(lane, task.first);
                answer.wrong = lane.worker->verify(task.first);
                {
                    const std::lock_guard lock(mutex_);
                    answer.incumbent = incumbent_;
                }
                if (!answer.wrong && !answer.incumbent.empty()) {
                    tell(lane, answer.incumbent);
                    answer.times = lane.worker->measure(first_request(task.first, answer.incumbent));
                }
                answer.built = true;
            }
        } catch (const std::exception&) {
            answer.built = false; // whoever asks for it hears of it
        }
        answer.done = true;
        {
            const std::lock_guard lock(mutex_);
            answers_[task.first] = std::move(answer);
        }
        changed_.notify_all();
    }
}

/// Where a candidate was checked; requires that it is done.
std::size_t Devices::lane_of(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(id);
    return found == answers_.end() ? 0 : found->second.lane;
}

std::optional<Outcome> Devices::verify(const std::string& id) {
    {
        std::unique_lock lock(mutex_);
        if (const auto found = answers_.find(id); found != answers_.end()) {
            while (!found->second.done)
                changed_.wait(lock);
            if (found->second.built) return found->second.wrong;
        }
    }
    Lane& lane = *lanes_[lane_of(id)];
    const std::lock_guard busy(lane.busy);
    tell(lane, id);
    return lane.worker->verify(id);
}

OrOutcome<PairedTimes> Devices::measure(const MeasureRequest& request) {
    {
        const std::lock_guard lock(mutex_);
        incumbent_ = request.incumbent.empty() ? request.candidate : request.incumbent;
        const auto found = answers_.find(request.candidate);
        if (found != answers_.end() && found->second.times && found->second.incumbent == request.incumbent &&
            is_first(request)) {
            OrOutcome<PairedTimes> times = std::move(*found->second.times);
            found->second.times.reset();
            return times;
        }
    }
    Lane& lane = *lanes_[lane_of(request.candidate)];
    const std::lock_guard busy(lane.busy);
    tell(lane, request.candidate);
    if (!request.incumbent.empty()) tell(lane, request.incumbent);
    return lane.worker->measure(request);
}

} // namespace tilewright::autotune
