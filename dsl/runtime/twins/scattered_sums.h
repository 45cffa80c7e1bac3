// dsl/runtime/twins/scattered_sums.h: np.add.at and np.subtract.at, in parallel.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Whether all of the positions are in -size … size - 1.
bool are_inside(const std::int64_t* positions, std::int64_t count, std::int64_t size);

/// The largest of the positions; -1 where one is negative.
std::int64_t largest_position(const std::int64_t* positions, std::int64_t count);

/// What is added to a row of sums, or taken off it.
template <class T> struct Terms {
    const T* first;
    std::int64_t step = 0;  ///< from one row of terms to the next; 0 for a single row
    bool is_single = false; ///< one term for all elements
    bool are_taken_off = false;
};

/// sums[positions[i]] += terms[i], rows of `width` elements, for one i after the other: the bits are NumPy's. A
/// negative position counts from the end; all are inside of `rows`. The arrays are apart from each other.
template <class T>
void add_scattered(T* sums, std::int64_t rows, std::int64_t width, const std::int64_t* positions, std::int64_t count,
                   const Terms<T>& terms);

/// sums[positions[i]] += terms[i], one by one, up to the first position that is none of 0, 1, …, size - 1; whether all
/// are.
bool add_up_to_outside(double* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count,
                       const double* terms);

} // namespace tilewright::runtime
