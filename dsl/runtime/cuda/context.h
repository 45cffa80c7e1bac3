// dsl/runtime/cuda/context.h: the devices of this process and their primary contexts, which torch, CuPy and the CUDA
// runtime use too. Internal to dsl/runtime.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "dsl/runtime/cuda/driver.h"
#include "dsl/runtime/cuda/pool.h"

namespace tilewright::runtime::cuda {

/// Pinned memory between pageable arrays and a device, slots in one direction: while the device copies from or to one,
/// threads copy to or from another.
class Staging {
  public:
    static constexpr std::size_t kSlotBytes = std::size_t{4} << 20;
    static constexpr int kSlots = 4;

    /// Held by one copy at a time.
    std::mutex mutex;

    /// The slots are there behind this call.
    void prepare();
    unsigned char* slot(std::size_t chunk) const { return memory_ + chunk % kSlots * kSlotBytes; }
    /// The slot of a chunk is used by what is on the stream by now.
    void mark(std::size_t chunk, Stream stream);
    /// Waits for that.
    void wait(std::size_t chunk);

  private:
    unsigned char* memory_ = nullptr;
    Event events_[kSlots] = {};
    bool marked_[kSlots] = {};
};

struct DeviceState {
    Device facts;
    int handle = 0; ///< CUdevice
    std::atomic<Context> context{nullptr};
    std::mutex context_mutex;
    DevicePool pool;
    Staging to_device, to_host;
    std::mutex capture_mutex; ///< held while iterations of a loop are recorded
    Stream capture_stream = nullptr;
    std::atomic<void*> side_stream{nullptr};
    std::atomic<bool> takes_windows{true}; ///< until it has refused one that nothing was wrong with
};

using Devices = std::vector<std::unique_ptr<DeviceState>>;
inline std::atomic<const Devices*> g_devices{nullptr};
DeviceState& find_device_state(int ordinal);
/// Throws DeviceError where there is no such device. Lives as long as the process.
inline DeviceState& device_state(int ordinal) {
    const Devices* known = g_devices.load(std::memory_order_acquire);
    const auto index = static_cast<std::size_t>(ordinal);
    return known && index < known->size() && !is_forked() ? *(*known)[index] : find_device_state(ordinal);
}

/// Makes the device's primary context current. The caller's own one is current again behind it; where there was none,
/// the primary one stays, as the CUDA runtime does it.
class Entered {
  public:
    explicit Entered(int ordinal);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    DeviceState& state() const { return *state_; }

  private:
    DeviceState* state_;
    DeviceState* before_;
    bool pushed_ = false;
};

/// Two names for one stream: null and 1 are the legacy stream; 2 is another one on each thread.
void* stream_key(void* stream);
inline Stream stream_of(const Place& place) {
    return static_cast<Stream>(place.stream);
}

} // namespace tilewright::runtime::cuda
