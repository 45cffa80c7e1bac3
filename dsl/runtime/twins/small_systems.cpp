// dsl/runtime/twins/small_systems.cpp: LAPACK's gesv and getrf of copies that lie column by column.
#include "dsl/runtime/twins/small_systems.h"

#include <cmath>

#include "dsl/runtime/matmul.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kMost = kMostOfSmallSystem;

/// A routine of Fortran's, with integers of 32 or 64 bits.
struct Routine {
    bool wide;
    void* address;

    explicit Routine(const char* name) : wide(false), address(lapack_routine(name, wide)) {}
};

const Routine& gesv() {
    static const Routine found("dgesv");
    return found;
}
const Routine& getrf() {
    static const Routine found("dgetrf");
    return found;
}

// NumPy computes with float32 in float64.
template <class T> void to_columns(const T* from, std::int64_t rows, std::int64_t columns, double* to) {
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            to[j * rows + i] = static_cast<double>(from[i * columns + j]);
}
/// False where a number becomes an infinity: NumPy warns of that.
template <class T> bool to_rows(const double* from, std::int64_t rows, std::int64_t columns, T* to) {
    bool are_kept = true;
    for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
            to[i * columns + j] = static_cast<T>(from[j * rows + i]);
            are_kept = are_kept && (std::isfinite(to[i * columns + j]) || !std::isfinite(from[j * rows + i]));
        }
    return are_kept;
}

/// b becomes what solves a x = b; both lie column by column. False where a is singular.
template <class Int> bool solve_columns(double* a, Int n, double* b, Int sides) {
    using Gesv = void (*)(Int*, Int*, double*, Int*, Int*, double*, Int*, Int*);
    Int pivots[kMost], leading = n, failed = 0;
    reinterpret_cast<Gesv>(gesv().address)(&n, &sides, a, &leading, pivots, b, &leading, &failed);
    return failed == 0;
}
bool solve_columns_by_lapack(double* a, std::int64_t n, double* b, std::int64_t sides) {
    if (!gesv().address) return false;
    if (gesv().wide) return solve_columns<std::int64_t>(a, n, b, sides);
    return solve_columns<std::int32_t>(a, static_cast<std::int32_t>(n), b, static_cast<std::int32_t>(sides));
}

/// False where NumPy may have to warn of the result.
template <class Int> bool determinant_of_columns(double* a, Int n, double& result) {
    using Getrf = void (*)(Int*, Int*, double*, Int*, Int*, Int*);
    Int pivots[kMost], leading = n, failed = 0;
    reinterpret_cast<Getrf>(getrf().address)(&n, &n, a, &leading, pivots, &failed);
    result = 0;
    if (failed != 0) return true; // it is singular
    double sign = 1, logarithm = 0;
    for (Int k = 0; k < n; ++k)
        if (pivots[k] != k + 1) sign = -sign;
    for (Int k = 0; k < n; ++k) {
        double element = a[k * (n + 1)];
        if (element < 0) {
            sign = -sign;
            element = -element;
        }
        logarithm += std::log(element);
    }
    result = sign * std::exp(logarithm);
    return std::isnormal(result);
}

} // namespace

template <class T> bool invert(const T* a, std::int64_t n, T* inverse) {
    if (n < 1 || n > kMost) return false;
    double left[kMost * kMost], right[kMost * kMost];
    to_columns(a, n, n, left);
    for (std::int64_t k = 0; k < n * n; ++k)
        right[k] = k % (n + 1) == 0 ? 1 : 0;
    return solve_columns_by_lapack(left, n, right, n) && to_rows(right, n, n, inverse);
}

template <class T> bool solve(const T* a, std::int64_t n, const T* b, std::int64_t sides, T* x) {
    if (n < 1 || n > kMost || sides < 1 || sides > kMost) return false;
    double left[kMost * kMost], right[kMost * kMost];
    to_columns(a, n, n, left);
    to_columns(b, n, sides, right);
    return solve_columns_by_lapack(left, n, right, sides) && to_rows(right, n, sides, x);
}

template <class T> bool determinant(const T* a, std::int64_t n, T& result) {
    if (n < 1 || n > kMost || !getrf().address) return false;
    double columns[kMost * kMost], found = 0;
    to_columns(a, n, n, columns);
    const bool is_sure = getrf().wide
                             ? determinant_of_columns<std::int64_t>(columns, n, found)
                             : determinant_of_columns<std::int32_t>(columns, static_cast<std::int32_t>(n), found);
    result = static_cast<T>(found);
    return is_sure && (found == 0 || std::isnormal(result));
}

template bool invert(const float*, std::int64_t, float*);
template bool invert(const double*, std::int64_t, double*);
template bool solve(const float*, std::int64_t, const float*, std::int64_t, float*);
template bool solve(const double*, std::int64_t, const double*, std::int64_t, double*);
template bool determinant(const float*, std::int64_t, float&);
template bool determinant(const double*, std::int64_t, double&);

} // namespace tilewright::runtime
