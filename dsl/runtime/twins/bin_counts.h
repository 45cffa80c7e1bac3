// dsl/runtime/twins/bin_counts.h: np.bincount without weights, in parallel.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// How often each number of 0 … max(x) is in x: a count for each of a power of two of numbers, as many as hold the
/// largest. Nothing where a number is negative or the counts are more than `most`: NumPy's to say. `x` is not empty.
template <class T> std::vector<std::int64_t> bin_counts(const T* x, std::int64_t count, std::int64_t most);

} // namespace tilewright::runtime
