// dsl/runtime/twins/scattered_sums.h: np.add.at of vectors, in parallel.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Whether all of the positions are in -size … size - 1.
bool are_inside(const std::int64_t* positions, std::int64_t count, std::int64_t size);

/// sums[positions[i]] += terms[i * step], for one i after the other: the bits are NumPy's. A negative position counts
/// from the end; all are inside. `step` is 0 for one term. The arrays are apart from each other.
template <class T>
void add_scattered(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
                   int step);

} // namespace tilewright::runtime
