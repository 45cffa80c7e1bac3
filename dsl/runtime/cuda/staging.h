// dsl/runtime/cuda/staging.h: pinned memory between pageable arrays and a device. Internal to dsl/runtime.
#pragma once

#include <cstddef>
#include <mutex>

#include "dsl/runtime/cuda/driver.h"

namespace tilewright::runtime::cuda {

/// Slots in one direction: while the device copies from or to one, threads copy to or from another.
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

} // namespace tilewright::runtime::cuda
