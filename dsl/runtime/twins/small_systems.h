// dsl/runtime/twins/small_systems.h: inverses, solutions and determinants of small square matrices, by the LAPACK that
// NumPy has loaded, in the steps of NumPy's own numpy.linalg: the bits are NumPy's.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Of matrices up to this size what NumPy does around LAPACK takes about as long as LAPACK, or longer.
inline constexpr std::int64_t kMostOfSmallSystem = 32;

// Matrices lie row by row. False: NumPy has to compute it, or say why it cannot be.

/// a: n x n; inverse: n x n.
template <class T> bool invert(const T* a, std::int64_t n, T* inverse);
/// a: n x n; b and x: n x sides.
template <class T> bool solve(const T* a, std::int64_t n, const T* b, std::int64_t sides, T* x);
/// a: n x n.
template <class T> bool determinant(const T* a, std::int64_t n, T& result);

} // namespace tilewright::runtime
