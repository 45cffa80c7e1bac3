// autotune/measure/devices.cpp: a thread a device.
#include "autotune/measure/devices.h"

#include "autotune/measure/statistics.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {

namespace {

/// Beside an earlier incumbent: what was no faster than that one is not faster than a better one.
bool was_no_faster(const OrOutcome<PairedTimes>& times) {
    return times.value && !times.value->incumbent_ns.empty() &&
           paired_ratio(times.value->candidate_ns, times.value->incumbent_ns).ratio >= 1;
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
        queue_.push_back({id, text, std::nullopt});
    }
    changed_.notify_all();
}

void Devices::expect(const MeasureRequest& request) {
    {
        const std::lock_guard lock(mutex_);
        timings_[request.candidate] = {request, false, std::nullopt};
        // Before candidates that nobody may ask for any more.
        queue_.push_front({{}, {}, request});
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
        Task task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) return;
            task = std::move(queue_.front());
            queue_.pop_front();
            if (!task.request) answers_[task.id].lane = number;
        }
        if (task.request) {
            time(lane, *task.request);
        } else {
            Answer answer = check_and_time(lane, task);
            answer.lane = number;
            answer.done = true;
            const std::lock_guard lock(mutex_);
            answers_[task.id] = std::move(answer);
        }
        changed_.notify_all();
    }
}

Devices::Answer Devices::check_and_time(Lane& lane, const Task& task) {
    Answer answer;
    try {
        const BuiltFile built = builders_.take(task.id);
        if (built.path.empty()) return answer;
        know(task.id, task.text, built.path);
        std::string incumbent;
        {
            const std::lock_guard busy(lane.busy);
            tell(lane, task.id);
            answer.wrong = lane.worker->verify(task.id);
            const std::lock_guard lock(mutex_);
            incumbent = incumbent_;
        }
        if (!answer.wrong && !incumbent.empty()) time(lane, first_request(task.id, incumbent));
        answer.built = true;
    } catch (const std::exception&) {
        answer.built = false; // whoever asks for it hears of it
    }
    return answer;
}

void Devices::time(Lane& lane, const MeasureRequest& request) {
    Timing timing{request, true, std::nullopt};
    try {
        timing.times = measured(lane, request);
    } catch (const std::exception&) {
        timing.times.reset();
    }
    const std::lock_guard lock(mutex_);
    timings_[request.candidate] = std::move(timing);
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
    if (auto times = taken_ahead(request)) return std::move(*times);
    return measured(*lanes_[lane_of(request.candidate)], request);
}

OrOutcome<PairedTimes> Devices::measured(Lane& lane, const MeasureRequest& request) {
    const std::lock_guard busy(lane.busy);
    tell(lane, request.candidate);
    if (!request.incumbent.empty()) tell(lane, request.incumbent);
    return lane.worker->measure(request);
}

/// What a lane has measured before it was asked for, once.
std::optional<OrOutcome<PairedTimes>> Devices::taken_ahead(const MeasureRequest& request) {
    std::unique_lock lock(mutex_);
    incumbent_ = request.incumbent.empty() ? request.candidate : request.incumbent;
    const auto found = timings_.find(request.candidate);
    if (found == timings_.end()) return std::nullopt;
    const MeasureRequest taken = found->second.request;
    MeasureRequest beside = request;
    beside.incumbent = taken.incumbent;
    if (taken != beside || taken.incumbent.empty() != request.incumbent.empty()) return std::nullopt;
    while (!found->second.done)
        changed_.wait(lock);
    std::optional<OrOutcome<PairedTimes>> times = std::move(found->second.times);
    timings_.erase(found);
    if (!times || taken == request) return times;
    if (!was_no_faster(*times)) return std::nullopt;
    times->value->beside = taken.incumbent;
    return times;
}

} // namespace tilewright::autotune
