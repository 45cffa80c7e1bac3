// dsl/runtime/cuda/marks.h: places in a stream that can be asked about without waiting.
#pragma once

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

/// Behind all that is on the stream by now. Throws DeviceError.
void* mark(const Place& place);
/// Whether the stream has come that far; true also where the device is lost.
bool reached(void* mark) noexcept;
/// Each mark ends so, reached or not.
void forget(void* mark) noexcept;

} // namespace tilewright::runtime::cuda
