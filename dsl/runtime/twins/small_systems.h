// dsl/runtime/twins/small_systems.h: inverses, solutions and determinants of small square matrices, by the LAPACK that
// NumPy has loaded, in the steps of NumPy's own numpy.linalg: the bits are NumPy's where that is NumPy's own.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Up to this size NumPy's own work round LAPACK takes as long as LAPACK, or longer.
inline constexpr std::int64_t kMostOfSmallSystem = 32;

// Matrices lie row by row. False: NumPy has to compute it, or say why it cannot be.

/// a: n x n; inverse: n x n.
template <class T> bool invert(const T* a, std::int64_t n, T* inverse);
/// a: n x n; b and x: n x sides.
template <class T> bool solve(const T* a, std::int64_t n, const T* b, std::int64_t sides, T* x);
/// a: n x n.
template <class T> bool determinant(const T* a, std::int64_t n, T& result);

} // namespace tilewright::runtime
