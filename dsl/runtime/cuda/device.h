// dsl/runtime/cuda/device.h: CUDA devices, their memory, copies, streams and time. libcuda.so.1 is opened at the first
// use; a machine without it has 0 devices. Everything here but device_count(), allocate() and release() throws
// DeviceError, with CUDA's name of the error, what was asked and what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime::cuda {

struct Device {
    int ordinal = 0;
    std::string name; ///< "NVIDIA H200"
    int major = 0, minor = 0;
    int multiprocessors = 0;
    int max_threads_per_block = 0;
    int max_threads_per_multiprocessor = 0;
    int max_blocks_per_multiprocessor = 0;
    std::int64_t shared_bytes_per_block = 0; ///< what a kernel may ask for (opt-in)
    std::int64_t shared_bytes_per_multiprocessor = 0;
    std::int64_t shared_bytes_reserved = 0; ///< of each block, by the system
    int registers_per_multiprocessor = 0;
    std::int64_t memory_bytes = 0;
    std::int64_t l2_bytes = 0;
    std::int64_t l2_window_bytes = 0; ///< the most that an access policy window covers; 0: there are none
    int clock_khz = 0;                ///< the highest of the multiprocessors
    int memory_clock_khz = 0;         ///< 0 where the driver does not say
    int memory_bus_bits = 0;
    std::string uuid; ///< "GPU-…", as nvidia-smi -L says it
};

/// 0 and why: no driver, no device, or a driver that is too old.
int device_count(std::string* why = nullptr);
const Device& device(int ordinal);
/// 90 for compute capability 9.0; 0 where there is no such device.
int capability(int ordinal) noexcept;
/// 12040 for CUDA 12.4: what the driver supports.
int driver_version();

/// Where a call runs.
struct Place {
    int device = 0;
    void* stream = nullptr; ///< CUstream; null is the legacy default stream
};

/// From the device's pool, 256-byte aligned, ordered by the stream: the memory may be used by what is put on this
/// stream from here on. Null: out of device memory, also after a trim. Throws DeviceError where the device is lost.
void* allocate(const Place& place, std::size_t bytes);
/// What is on the stream by now may still use it. The place's stream is the one that used it last. Never throws; a
/// null pointer is nothing.
void release(const Place& place, void* pointer) noexcept;

struct DevicePoolInfo {
    std::size_t live_bytes = 0;   ///< handed out
    std::size_t pooled_bytes = 0; ///< released and kept
    std::size_t graph_bytes = 0;  ///< released, and kept for graphs that were captured
    std::size_t limit_bytes = 0;  ///< what pooled_bytes may reach
};
DevicePoolInfo device_pool_info(int device);
/// Waits for the device and gives all kept blocks back to the driver; returns how many bytes that were.
std::size_t trim_device_pool(int device);

/// `from` may be changed on return; what is on the stream behind this call sees the bytes.
void copy_to_device(const Place& place, void* to, const void* from, std::size_t bytes);
/// Behind everything on the stream; the bytes are there on return.
void copy_to_host(const Place& place, void* to, const void* from, std::size_t bytes);
/// In the order of the stream, as fill().
void copy_on_device(const Place& place, void* to, const void* from, std::size_t bytes);
void fill(const Place& place, void* to, unsigned char byte, std::size_t bytes);
/// Waits for the stream alone; throws for what went wrong on it.
void synchronize(const Place& place);
/// `place` goes on when what is on `other` by now is done (an event; nothing waits on the host).
void wait_for(const Place& place, const Place& other);
/// Whether calls on the stream are being recorded into a graph and not run.
bool is_captured(const Place& place);

/// Does not wait for the legacy default stream.
void* new_stream(int device);
/// A stream of ours on which nothing is ever captured.
Place side_place(int device);
/// Blocks that were released on it stay usable for other streams.
void destroy_stream(int device, void* stream);

/// Which device holds an address; -1 for memory of the host, or of nobody.
int device_of(const void* pointer);

/// A device loses its context with some errors (an illegal address, a launch that never ends, ...): nothing works in
/// this process any more. Empty as long as that has not happened.
std::string lost_why();

/// Time on the device between start() and stop(), by events.
class Timer {
  public:
    explicit Timer(const Place& place);
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    void start() { record(events_[0]); }
    void stop() { record(events_[1]); }
    /// Waits for stop() to be reached.
    double elapsed_ns();

  private:
    using Event = struct EventHandle*;
    void record(Event event);

    Place place_;
    Event events_[2] = {};
};

/// What one compiled device function needs, as the driver says after its code is loaded.
struct FunctionFacts {
    std::string name;
    int registers = 0;
    int shared_bytes = 0; ///< static
    int local_bytes = 0;  ///< a thread's; spills are among them
    int max_threads = 0;  ///< that a block of it may have
};
/// Of each `.entry` of a text of PTX, in its order; loads it and unloads it again. For explaining, not for calls.
std::vector<FunctionFacts> function_facts(int device, const std::string& ptx);

/// CUlaunchConfig begins so.
struct LaunchShape {
    unsigned blocks[3] = {}, threads[3] = {};
    unsigned shared_bytes = 0; ///< that the launch asks for, beside the function's static ones

    std::uint64_t block_threads() const { return std::uint64_t{threads[0]} * threads[1] * threads[2]; }
};

/// One launch of a kernel, as the device timed it. Of a library's kernels the shape is 0.
struct LaunchTime : LaunchShape {
    FunctionFacts facts; ///< of a library's kernels the name alone
    int device = 0;
    int blocks_per_multiprocessor = 0; ///< at a time, as the driver says; 0 where it does not
    std::int64_t array_bytes = 0;      ///< of the arrays that it is given, each once; 0 of a library's kernels
    double ns = 0;                     ///< from an event before it to one behind it
};

/// As long as it lives, events stand around each launch of this thread's calls; their loops launch kernel by kernel and
/// no graphs. Launches of a stream that is being captured are not timed, nor those behind the ten thousandth.
class Profile {
  public:
    Profile();
    ~Profile();
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;
    /// Waits for the launches since the last read(), and tells them in their order.
    std::vector<LaunchTime> read();
    /// Launches that were not timed, of those that the last read() was about.
    std::size_t untimed() const { return untimed_; }

  private:
    friend class Timed;
    struct Launch;
    void forget() noexcept;
    Profile* before_;
    std::vector<Launch> launches_;
    std::size_t untimed_ = 0;
};

/// The text of PTX as a device of this capability (90 is 9.0) gets it: from 9.0 on each entry waits for the kernels
/// before it first, and then allows the one behind it to start (early_launch.cpp). For others: as it is.
std::string ptx_for(int capability, std::string_view ptx);

/// A folder in which code may lie that was assembled before, looked at when a kernel's code is loaded: the driver's
/// compiler has nothing to do then. See cubins.cpp for what lies there.
void look_for_cubins_in(const std::string& folder);

// What is counted of the driver's calls. Allocations are of device memory, from the driver; host allocations are
// pinned; events are recorded. device_synchronizations: cuCtxSynchronize, and cuMemFree, which waits as well.
// cubin_loads: those of module_loads that the driver's compiler had nothing to do for.
#define TW_DRIVER_CALLS(X)                                                                                             \
    X(launches)                                                                                                        \
    X(graph_launches)                                                                                                  \
    X(allocations)                                                                                                     \
    X(frees)                                                                                                           \
    X(host_allocations)                                                                                                \
    X(copies_to_device)                                                                                                \
    X(copies_to_host)                                                                                                  \
    X(copies_on_device)                                                                                                \
    X(fills)                                                                                                           \
    X(stream_synchronizations)                                                                                         \
    X(event_synchronizations)                                                                                          \
    X(device_synchronizations)                                                                                         \
    X(stream_waits)                                                                                                    \
    X(events)                                                                                                          \
    X(module_loads)                                                                                                    \
    X(cubin_loads)                                                                                                     \
    X(context_switches)

/// Calls of the driver by this process so far.
template <class Number> struct DriverCallsOf {
#define TW_NUMBER(name) Number name{0};
    TW_DRIVER_CALLS(TW_NUMBER)
#undef TW_NUMBER
    Number graph_kernels{0}; ///< that graph_launches launched
    Number threads{0};       ///< of all kernels but a library's
};
using DriverCalls = DriverCallsOf<std::uint64_t>;
DriverCalls driver_calls();

} // namespace tilewright::runtime::cuda
