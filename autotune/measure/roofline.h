// autotune/measure/roofline.h: measures what this machine can do at most, with plain loads, stores, multiplies and
// adds.
#pragma once

#include "autotune/machine.h"

namespace tilewright::autotune {

/// Takes about half a second on `machine.cores` threads. Largest level: `largest_bytes`.
Roofline measure_roofline(const Machine& machine, std::int64_t largest_bytes = std::int64_t{1} << 28);

/// The same for a CUDA device, in a process that may use it. Arithmetic is not measured. Throws DeviceError.
Roofline measure_device_roofline(int device);

} // namespace tilewright::autotune
