// dsl/runtime/twins/row_quantiles.h: np.quantile along the last axis, in parallel.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// results[r]: the number at `place` of row r in order, 0 <= place <= length - 1; between two places, between their
/// numbers as NumPy's method "linear" has it. A row with a NaN gives NaN. `rows` is contiguous, of one element or more.
void row_quantiles(const double* rows, std::int64_t count, std::int64_t length, double place, double* results);

} // namespace tilewright::runtime
