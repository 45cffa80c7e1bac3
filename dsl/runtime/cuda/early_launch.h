// dsl/runtime/cuda/early_launch.h: kernels that start while the one before them on their stream ends (CUDA C++
// Programming Guide, "Programmatic Dependent Launch and Synchronization"): from compute capability 9.0 and CUDA 12.3
// on.
#pragma once

#include <string_view>

#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/cuda/driver.h"

namespace tilewright::runtime::cuda {

/// Whether launches on devices of this capability (90 is 9.0) are early ones.
bool launches_early(int capability);
inline int capability_of(const Device& device) {
    return device.major * 10 + device.minor;
}

/// What this PTX is for: 80 for ".target sm_80"; 0 where it does not say.
int target_of(std::string_view ptx);

} // namespace tilewright::runtime::cuda
