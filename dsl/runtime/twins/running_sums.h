// dsl/runtime/twins/running_sums.h: np.cumsum along the last axis, in parallel.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Elements that are added one by one. A longer row is cut into such blocks: each has running sums of its own, to which
/// the last result of the block before is added. So the order does not depend on threads, rows of one block have
/// NumPy's bits, and sums of what is not negative never fall.
inline constexpr std::int64_t kBlockOfSums = 16384;

/// to[r, j] = from[r, 0] + … + from[r, j], both contiguous and apart from each other. Integers wrap.
template <class T> void running_sums(const T* from, T* to, std::int64_t rows, std::int64_t length);

} // namespace tilewright::runtime
