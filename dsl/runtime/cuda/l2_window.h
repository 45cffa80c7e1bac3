// dsl/runtime/cuda/l2_window.h: which part of an array stays in the L2 cache while a kernel reads all of it (CUDA C++
// Programming Guide, "L2 Access Policy Window"): from compute capability 8.0 and CUDA 11.8 on.
#pragma once

#include <HalideRuntime.h>

#include <cstddef>
#include <cstdint>

#include "dsl/runtime/cuda/device.h"

namespace tilewright::runtime::cuda {

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

} // namespace tilewright::runtime::cuda
