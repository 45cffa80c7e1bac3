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

void Devices::expect(const std::string& id, const std::string& text) {
    {
        const std::lock_guard lock(mutex_);
        if (answers_.count(id) != 0) return;
        std::packaged_task<Answer(std::size_t)> task(
            [this, id, text](std::size_t lane) { return check_and_time(lane, id, text); });
        answers_[id] = task.get_future().share();
        queue_.emplace_back(std::move(task));
    }
    changed_.notify_all();
}

void Devices::expect(const MeasureRequest& request) {
    {
        const std::lock_guard lock(mutex_);
        // Before candidates that nobody may ask for any more.
        queue_.emplace_front(timing_of(request));
    }
    changed_.notify_all();
}

/// Requires mutex_.
std::packaged_task<OrOutcome<PairedTimes>(std::size_t)> Devices::timing_of(const MeasureRequest& request) {
    std::packaged_task<OrOutcome<PairedTimes>(std::size_t)> timing(
        [this, request](std::size_t lane) { return measured(lane, request); });
    timings_[request.candidate] = {request, timing.get_future()};
    return timing;
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

void Devices::work(std::size_t lane) {
    for (;;) {
        std::packaged_task<void(std::size_t)> task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
            if (ending_) return;
            task = std::move(queue_.front());
            queue_.pop_front();
        }
        task(lane);
    }
}

Devices::Answer Devices::check_and_time(std::size_t number, const std::string& id, const std::string& text) {
    Answer answer{number, false, std::nullopt};
    Lane& lane = *lanes_[number];
    try {
        if (!builders_.take(id).value) return answer;
        know(id, text, builders_.file_of(id));
        std::packaged_task<OrOutcome<PairedTimes>(std::size_t)> timing;
        {
            const std::lock_guard busy(lane.busy);
            tell(lane, id);
            answer.wrong = lane.worker->verify(id);
            const std::lock_guard lock(mutex_);
            if (!answer.wrong && !incumbent_.empty()) timing = timing_of(first_request(id, incumbent_));
        }
        if (timing.valid()) timing(number);
        answer.built = true;
    } catch (const std::exception&) {
        // Whoever asks for it hears of it.
    }
    return answer;
}

/// Waits for it; of what nobody expected nothing is known.
Devices::Answer Devices::answer_of(const std::string& id) {
    std::shared_future<Answer> answer;
    {
        const std::lock_guard lock(mutex_);
        const auto found = answers_.find(id);
        if (found == answers_.end()) return {};
        answer = found->second;
    }
    return answer.get();
}

std::optional<Outcome> Devices::verify(const std::string& id) {
    const Answer answer = answer_of(id);
    if (answer.built) return answer.wrong;
    Lane& lane = *lanes_[answer.lane];
    const std::lock_guard busy(lane.busy);
    tell(lane, id);
    return lane.worker->verify(id);
}

/// On the device where the candidate was checked.
OrOutcome<PairedTimes> Devices::measure(const MeasureRequest& request) {
    if (auto times = taken_ahead(request)) return std::move(*times);
    return measured(answer_of(request.candidate).lane, request);
}

OrOutcome<PairedTimes> Devices::measured(std::size_t number, const MeasureRequest& request) {
    Lane& lane = *lanes_[number];
    const std::lock_guard busy(lane.busy);
    tell(lane, request.candidate);
    if (!request.incumbent.empty()) tell(lane, request.incumbent);
    return lane.worker->measure(request);
}

/// What a lane has measured before it was asked for, once.
std::optional<OrOutcome<PairedTimes>> Devices::taken_ahead(const MeasureRequest& request) {
    Timing taken;
    {
        const std::lock_guard lock(mutex_);
        incumbent_ = request.incumbent.empty() ? request.candidate : request.incumbent;
        const auto found = timings_.find(request.candidate);
        if (found == timings_.end()) return std::nullopt;
        MeasureRequest beside = request;
        beside.incumbent = found->second.request.incumbent;
        if (found->second.request != beside || beside.incumbent.empty() != request.incumbent.empty())
            return std::nullopt;
        taken = std::move(found->second);
        timings_.erase(found);
    }
    try {
        OrOutcome<PairedTimes> times = taken.times.get();
        if (taken.request == request) return times;
        if (!was_no_faster(times)) return std::nullopt;
        times.value->beside = taken.request.incumbent;
        return times;
    } catch (const std::exception&) {
        return std::nullopt; // the caller has to ask
    }
}

} // namespace tilewright::autotune
