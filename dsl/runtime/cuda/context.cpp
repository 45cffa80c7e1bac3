// dsl/runtime/cuda/context.cpp: devices, contexts, streams and time.
#include "dsl/runtime/cuda/context.h"

#include <cstdio>

#include "dsl/runtime/cuda/captures.h"

namespace tilewright::runtime::cuda {
namespace {

std::string uuid_text(const unsigned char* bytes) {
    std::string out = "GPU-";
    for (int i = 0; i < 16; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
        out += digits;
        if (i == 3 || i == 5 || i == 7 || i == 9) out += '-';
    }
    return out;
}

std::unique_ptr<DeviceState> describe(const Driver& d, int ordinal) {
    auto state = std::make_unique<DeviceState>();
    Device& facts = state->facts;
    facts.ordinal = ordinal;
    require(d.device_get(&state->handle, ordinal), "cuDeviceGet");
    char name[256] = {};
    require(d.device_name(name, sizeof name - 1, state->handle), "cuDeviceGetName");
    facts.name = name;
    std::size_t memory = 0;
    require(d.device_memory(&memory, state->handle), "cuDeviceTotalMem");
    facts.memory_bytes = static_cast<std::int64_t>(memory);
    auto attribute = [&](DeviceAttribute which) {
        int value = 0;
        return d.device_attribute(&value, which, state->handle) == kSuccess ? value : 0;
    };
    facts.major = attribute(kCapabilityMajor);
    facts.minor = attribute(kCapabilityMinor);
    facts.multiprocessors = attribute(kMultiprocessorCount);
    facts.max_threads_per_block = attribute(kMaxThreadsPerBlock);
    facts.max_threads_per_multiprocessor = attribute(kMaxThreadsPerMultiprocessor);
    facts.max_blocks_per_multiprocessor = attribute(kMaxBlocksPerMultiprocessor);
    facts.shared_bytes_reserved = attribute(kReservedSharedPerBlock);
    facts.shared_bytes_per_block = attribute(kSharedPerBlockOptIn);
    facts.shared_bytes_per_multiprocessor = attribute(kSharedPerMultiprocessor);
    facts.registers_per_multiprocessor = attribute(kRegistersPerMultiprocessor);
    facts.l2_bytes = attribute(kL2Bytes);
    facts.l2_window_bytes = d.launch_extended ? attribute(kMaxL2Window) : 0;
    facts.clock_khz = attribute(kClockRate);
    facts.memory_clock_khz = attribute(kMemoryClockRate);
    facts.memory_bus_bits = attribute(kMemoryBusWidth);
    unsigned char uuid[16] = {};
    if (d.device_uuid(uuid, state->handle) == kSuccess) facts.uuid = uuid_text(uuid);
    state->pool.set_device(ordinal, memory);
    return state;
}

const Devices& devices() {
    const Driver& d = driver();
    static const Devices& all = *new Devices([&] {
        Devices found;
        int count = 0;
        require(d.device_count(&count), "cuDeviceGetCount");
        for (int i = 0; i < count; ++i)
            found.push_back(describe(d, i));
        return found;
    }());
    g_devices.store(&all, std::memory_order_release);
    return all;
}

thread_local DeviceState* t_entered = nullptr;

void retain(const Driver& d, DeviceState& state) {
    std::lock_guard lock(state.context_mutex);
    if (state.context.load()) return;
    Context context = nullptr;
    const std::string what =
        "the primary context of device " + std::to_string(state.facts.ordinal) + " (" + state.facts.name + ")";
    require(d.primary_retain(&context, state.handle), what.c_str());
    state.context.store(context, std::memory_order_release);
}

} // namespace

DeviceState& find_device_state(int ordinal) {
    const Devices& all = devices();
    if (ordinal < 0 || static_cast<std::size_t>(ordinal) >= all.size())
        throw DeviceError("cuda: there is no device " + std::to_string(ordinal) + ": this process sees " +
                              std::to_string(all.size()) + ".",
                          "Devices count from 0, as nvidia-smi -L and CUDA_VISIBLE_DEVICES have them.");
    return *all[static_cast<std::size_t>(ordinal)];
}

Entered::Entered(int ordinal) : state_(&device_state(ordinal)), before_(t_entered) {
    if (before_ == state_) return;    // the primary context is current already
    const Driver& d = ready_driver(); // device_state() has it from driver()
    Context wanted = state_->context.load(std::memory_order_acquire);
    if (!wanted) [[unlikely]] {
        retain(d, *state_);
        wanted = state_->context.load(std::memory_order_acquire);
    }
    Context now = nullptr;
    require(d.context_current(&now), "cuCtxGetCurrent");
    if (now != wanted) {
        count(g_calls.context_switches);
        if (now) {
            require(d.context_push(wanted), "cuCtxPushCurrent");
            pushed_ = true;
        } else {
            require(d.context_set(wanted), "cuCtxSetCurrent");
        }
    }
    t_entered = state_;
}

Entered::~Entered() {
    if (before_ == state_) return;
    t_entered = before_;
    Context popped = nullptr;
    if (pushed_) ready_driver().context_pop(&popped);
}

void* stream_key(void* stream) {
    static thread_local char own;
    if (stream == nullptr) return reinterpret_cast<void*>(1);
    return stream == reinterpret_cast<void*>(2) ? &own : stream;
}

int device_count(std::string* why) {
    std::string reason;
    if (!find_driver(reason)) {
        if (why) *why = reason;
        return 0;
    }
    try {
        return static_cast<int>(devices().size());
    } catch (const DeviceError& e) {
        if (why) { // its readers put "cuda:" or a device's name before it, as before find_driver()'s
            *why = e.what();
            if (why->rfind("cuda: ", 0) == 0) why->erase(0, 6);
        }
        return 0;
    }
}

const Device& device(int ordinal) {
    return device_state(ordinal).facts;
}

int capability(int ordinal) noexcept {
    try {
        const Device& facts = device_state(ordinal).facts;
        return facts.major * 10 + facts.minor;
    } catch (const std::exception&) {
        return 0;
    }
}

int driver_version() {
    int version = 0;
    require(driver().driver_version(&version), "cuDriverGetVersion");
    return version;
}

void synchronize(const Place& place) {
    Entered entered(place.device);
    refuse_in_capture(place, "waiting for a stream", "Wait behind the graph's launch.");
    OutsideOfCaptures outside;
    count(g_calls.stream_synchronizations);
    // Other threads may put more on the stream, and release more, behind what is waited for.
    const std::size_t releases = entered.state().pool.releases();
    require(driver().stream_synchronize(stream_of(place)), "waiting for a stream");
    entered.state().pool.stream_is_done(place.stream, releases);
}

void* new_stream(int device) {
    Entered entered(device);
    Stream stream = nullptr;
    require(driver().stream_create(&stream, kNonBlockingStream), "cuStreamCreate");
    return stream;
}

Place side_place(int device) {
    DeviceState& state = device_state(device);
    if (void* known = state.side_stream.load(std::memory_order_acquire)) return {device, known};
    void *made = new_stream(device), *first = nullptr;
    if (state.side_stream.compare_exchange_strong(first, made)) return {device, made};
    destroy_stream(device, made);
    return {device, first};
}

void destroy_stream(int device, void* stream) {
    if (!stream) return;
    Entered entered(device);
    entered.state().pool.stream_ends(stream);
    require(driver().stream_destroy(static_cast<Stream>(stream)), "cuStreamDestroy");
}

namespace {

/// Waits for what is on a stream that is not captured, while another one is.
void finish_outside(const Place& place) {
    Entered entered(place.device);
    OutsideOfCaptures outside;
    const Driver& d = ready_driver();
    int captured = 0;
    // Asked of the legacy stream, this says whether a capture forbids it, and leaves the capture as it is.
    const Status status = d.stream_capturing(stream_of(place), &captured);
    if (status == kCaptureImplicit)
        throw error_of(status, "an array that was last used on the legacy default stream, in a call on a captured one");
    require(status, "cuStreamIsCapturing");
    if (captured) throw error_of(kCaptureIsolation, "arrays of two streams that are captured into two graphs");
    Event event = nullptr;
    require(d.event_create(&event, kEventWithoutTiming), "cuEventCreate");
    count(g_calls.events);
    Status ended = d.event_record(event, stream_of(place));
    count(g_calls.event_synchronizations);
    if (ended == kSuccess) ended = d.event_synchronize(event);
    d.event_destroy(event);
    require(ended, "waiting for the arrays of a call on a captured stream");
}

} // namespace

void wait_for(const Place& place, const Place& other) {
    if (place.device == other.device && stream_key(place.stream) == stream_key(other.stream)) return;
    const Driver& d = driver();
    // A graph cannot wait for what is not in it, which is over by the time that it runs: the host waits for that.
    if (Captured here, there; find_capture(place, here) && !(find_capture(other, there) && there.id == here.id))
        return finish_outside(other);
    if (reinterpret_cast<std::uintptr_t>(place.stream) >
        2) { // one of the caller's: it is refused before memory waits for it
        Entered entered(place.device);
        Context of = nullptr;
        const Status status = d.stream_context(stream_of(place), &of);
        if (status != kSuccess || of != entered.state().context.load())
            throw error_of(kInvalidHandle, status == kSuccess
                                               ? "waiting on a stream of another context or of another device"
                                               : "waiting on a stream that is not there any more");
    }
    Event event = nullptr;
    {
        Entered entered(other.device);
        require(d.event_create(&event, kEventWithoutTiming), "cuEventCreate");
        count(g_calls.events);
        require(d.event_record(event, stream_of(other)), "cuEventRecord");
    }
    Entered entered(place.device);
    count(g_calls.stream_waits);
    Status status = d.stream_wait(stream_of(place), event, 0);
    d.event_destroy(event); // the driver keeps it until it has been reached
    require(status, "cuStreamWaitEvent");
}

int device_of(const void* pointer) {
    if (!pointer) return -1;
    const Driver& d = driver();
    auto address = static_cast<Pointer>(reinterpret_cast<std::uintptr_t>(pointer));
    // The question needs some context.
    std::unique_ptr<Entered> entered;
    Context now = nullptr;
    if (d.context_current(&now) == kSuccess && !now) entered = std::make_unique<Entered>(0);
    unsigned type = 0;
    if (d.pointer_attribute(&type, kPointerMemoryType, address) != kSuccess || type != kDeviceMemory) return -1;
    int ordinal = -1;
    require(d.pointer_attribute(&ordinal, kPointerDeviceOrdinal, address), "cuPointerGetAttribute");
    return ordinal;
}

Timer::Timer(const Place& place) : place_(place) {
    Entered entered(place.device);
    for (Event& event : events_)
        require(driver().event_create(&event, 0), "cuEventCreate");
}
Timer::~Timer() {
    for (Event event : events_)
        if (event && !is_forked()) ready_driver().event_destroy(event);
}
void Timer::record(Event event) {
    Entered entered(place_.device);
    count(g_calls.events);
    require(driver().event_record(event, stream_of(place_)), "cuEventRecord");
}
double Timer::elapsed_ns() {
    Entered entered(place_.device);
    const Driver& d = driver();
    count(g_calls.event_synchronizations);
    require(d.event_synchronize(events_[1]), "waiting for an event");
    float milliseconds = 0;
    require(d.event_elapsed(&milliseconds, events_[0], events_[1]), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
}

} // namespace tilewright::runtime::cuda
