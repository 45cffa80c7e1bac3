// dsl/runtime/cuda/marks.h: places in a stream that can be asked about without waiting.
#pragma once

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

struct Mark;
/// Behind all that is on the stream by now; where it is captured, behind the last launch of its graph. Throws
/// DeviceError.
Mark* mark(const Place& place);
/// Whether the stream has come that far; true also where the device is lost.
bool reached(const Mark& mark) noexcept;
/// Each mark ends so, reached or not.
void forget(Mark* mark) noexcept;

} // namespace tilewright::runtime::cuda
