// dsl/check/device_limits.h: what CUDA allows on every device that a target names.
#pragma once

#include <cstdint>

namespace tilewright::dsl {

inline constexpr std::int64_t kWarp = 32;           ///< threads that run as one, its lanes
inline constexpr std::int64_t kMostThreads = 1024;  ///< of a block
inline constexpr std::int64_t kMostThreadsInZ = 64; ///< of a block, in the third dimension

} // namespace tilewright::dsl
