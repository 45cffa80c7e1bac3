// dsl/runtime/cuda/launch.h: what launches of kernels have beside their arguments. Internal to dsl/runtime.
#pragma once

#include <HalideRuntime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

// early_launch.cpp: kernels that start while the one before them on their stream ends (CUDA C++ Programming Guide,
// "Programmatic Dependent Launch and Synchronization"): from compute capability 9.0 and CUDA 12.3 on.

/// Whether launches on devices of this capability (90 is 9.0) are early ones.
bool launches_early(int capability);
inline int capability_of(const Device& device) {
    return device.major * 10 + device.minor;
}

/// What this PTX is for: 80 for ".target sm_80"; 0 where it does not say.
int target_of(std::string_view ptx);

// l2_window.cpp: which part of an array stays in the L2 cache while a kernel reads all of it (CUDA C++ Programming
// Guide, "L2 Access Policy Window"): from compute capability 8.0 and CUDA 11.8 on.

/// The arrays of a launch, each once, though the kernel may read it more often or not all of it.
struct LaunchedArrays {
    std::int64_t bytes = 0;   ///< of all
    std::int64_t largest = 0; ///< of the largest one, from its first address to its last, if these are all its elements
    std::uint64_t begin = 0;  ///< where that one lies
};
LaunchedArrays arrays_of(void* const* arguments, const std::int8_t* is_buffer, std::size_t count);

/// CUaccessPolicyWindow.
struct L2Window {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    float kept = 0;  ///< the part of its lines that are cached as any others; which ones, the device chooses
    int kept_as = 0; ///< CU_ACCESS_PROPERTY_NORMAL
    int rest_as = 1; ///< CU_ACCESS_PROPERTY_STREAMING: the first to be evicted
};

/// For a kernel that reads one array which the cache cannot hold, and hardly anything else; 0 bytes for others.
L2Window window_for(const Device& device, const LaunchedArrays& arrays);

// cubins.cpp: code that was assembled for a device before, beside the PTX that it was made of.

/// What a cubin is in the driver's hands; empty where no folder has one of this PTX for this device. Throws DeviceError
/// for a file that is not what was written.
std::string find_cubin(const Device& device, std::string_view ptx);

} // namespace tilewright::runtime::cuda
