// dsl/runtime/twins/row_quantiles.h: np.quantile and np.median along one axis, in parallel.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// A contiguous array as `outer` blocks of `length` rows of `inner` elements: elements `inner` apart are one series.
struct Series {
    std::int64_t outer = 1, length = 1, inner = 1;
};

/// results[s]: the number at `place` of series s in order, 0 <= place <= length - 1; between two places, between their
/// numbers as NumPy's method "linear" has it. A series with a NaN gives NaN. None is empty. False where a result is a
/// zero of a series with -0.0: its sign follows from the order in which NumPy finds them.
[[nodiscard]] bool quantiles(const double* from, Series series, double place, double* results);

/// The number in the middle, of an even number of elements the mean of the two there; no -0.0, as NumPy's means.
template <class T> void medians(const T* from, Series series, T* results);

extern template void medians(const float*, Series, float*);
extern template void medians(const double*, Series, double*);

} // namespace tilewright::runtime
