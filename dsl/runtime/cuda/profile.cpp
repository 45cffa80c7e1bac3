// dsl/runtime/cuda/profile.cpp: how long each launch takes on the device, and what its function needs there.
#include "dsl/runtime/cuda/profile.h"

namespace tilewright::runtime::cuda {
namespace {

thread_local Profile* t_profile = nullptr;

/// More are not timed: a loop of a million launches would leave two million events.
constexpr std::size_t kMostLaunches = 10'000;

} // namespace

struct Profile::Launch {
    LaunchTime time;
    Stream stream = nullptr;
    Function function = nullptr;
    Event begin = nullptr, end = nullptr;
};

Profile* current_profile() {
    return t_profile;
}

Profile::Profile() : before_(t_profile) {
    t_profile = this;
}
Profile::~Profile() {
    t_profile = before_;
    forget();
}

void Profile::forget() noexcept {
    if (!is_forked())
        for (Launch& launch : launches_)
            for (Event event : {launch.begin, launch.end})
                if (event) ready_driver().event_destroy(event);
    launches_.clear();
    untimed_ = 0;
}

FunctionFacts facts_of(Function function, std::string name) {
    FunctionFacts facts;
    facts.name = std::move(name);
    auto read = [&](FunctionAttribute which) {
        int value = 0;
        return ready_driver().function_attribute(&value, which, function) == kSuccess ? value : 0;
    };
    facts.registers = read(kFunctionRegisters);
    facts.shared_bytes = read(kFunctionSharedBytes);
    facts.local_bytes = read(kFunctionLocalBytes);
    facts.max_threads = read(kFunctionMaxThreads);
    return facts;
}

std::vector<LaunchTime> Profile::read() {
    std::vector<LaunchTime> all;
    const Driver& d = driver();
    for (Launch& launch : launches_) {
        if (!launch.end) continue; // the driver refused it, which its call has said
        Entered entered(launch.time.device);
        count(g_calls.event_synchronizations);
        require(d.event_synchronize(launch.end), "waiting for an event");
        float milliseconds = 0;
        require(d.event_elapsed(&milliseconds, launch.begin, launch.end), "cuEventElapsedTime");
        LaunchTime& time = launch.time;
        time.ns = static_cast<double>(milliseconds) * 1e6;
        if (launch.function) {
            time.facts = facts_of(launch.function, time.facts.name);
            if (d.occupancy(&time.blocks_per_multiprocessor, launch.function, static_cast<int>(time.block_threads()),
                            time.shared_bytes) != kSuccess)
                time.blocks_per_multiprocessor = 0;
        }
        all.push_back(time);
    }
    const std::size_t untimed = untimed_;
    forget();
    untimed_ = untimed;
    return all;
}

void Timed::begin(Call& call, Function function, const char* name, const LaunchShape& shape, std::int64_t array_bytes) {
    // What is being captured into a graph does not run now.
    if (profile_->launches_.size() >= kMostLaunches || call.is_captured()) {
        ++profile_->untimed_;
        profile_ = nullptr;
        return;
    }
    Profile::Launch launch;
    static_cast<LaunchShape&>(launch.time) = shape;
    launch.time.device = call.place().device;
    launch.time.facts.name = name;
    launch.time.array_bytes = array_bytes;
    launch.stream = call.stream();
    launch.function = function;
    profile_->launches_.push_back(launch);
    const Driver& d = ready_driver();
    Event& event = profile_->launches_.back().begin;
    require(d.event_create(&event, 0), "cuEventCreate");
    count(g_calls.events);
    require(d.event_record(event, launch.stream), "cuEventRecord");
}

void Timed::end() noexcept {
    const Driver& d = ready_driver();
    Profile::Launch& launch = profile_->launches_.back();
    Event event = nullptr;
    if (d.event_create(&event, 0) != kSuccess) return;
    count(g_calls.events);
    if (d.event_record(event, launch.stream) == kSuccess)
        launch.end = event;
    else
        d.event_destroy(event);
}

} // namespace tilewright::runtime::cuda
