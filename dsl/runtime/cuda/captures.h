// dsl/runtime/cuda/captures.h: streams that the caller captures into a graph. Nothing runs then: the graph runs later,
// and again, with the addresses that were captured.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dsl/runtime/cuda/driver.h"

namespace tilewright::runtime::cuda {

/// As long as it lives, this thread may call what captures forbid to all (or to their own thread): memory from the
/// driver, questions about events, the loading of code. It touches no captured stream, and no graph misses it.
class OutsideOfCaptures {
  public:
    OutsideOfCaptures() { ready_driver().exchange_capture_mode(&mode_); }
    ~OutsideOfCaptures() { ready_driver().exchange_capture_mode(&mode_); }
    OutsideOfCaptures(const OutsideOfCaptures&) = delete;
    OutsideOfCaptures& operator=(const OutsideOfCaptures&) = delete;

  private:
    int mode_ = kCaptureRelaxed;
};

/// As is_captured(), and false where the driver does not say: what is asked of the stream next says why. The device's
/// context is current.
bool is_seen_captured(const Place& place) noexcept;

/// A capture under way.
struct Captured {
    std::uint64_t id = 0;
    Graph graph = nullptr; ///< that is being made
};
/// False where the stream is not captured. Throws DeviceError, also where the capture is broken.
bool find_capture(const Place& place, Captured& found);

/// True from when nothing is left of a captured graph: the graph itself, what was made of it, and their launches.
using IsOver = std::shared_ptr<const std::atomic<bool>>;
/// Throws DeviceError.
IsOver watch_end_of(const Captured& capture);

/// Throws DeviceError where the stream is captured: `what` would wait for it, or read the host's memory when the graph
/// runs. The capture goes on.
void refuse_in_capture(const Place& place, const char* what, const char* hint);

} // namespace tilewright::runtime::cuda
