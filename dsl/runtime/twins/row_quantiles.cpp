// dsl/runtime/twins/row_quantiles.cpp: a row at a time is copied and put in order as far as it takes.
#include "dsl/runtime/twins/row_quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

/// numpy.lib._function_base_impl._lerp: from the nearer end, so that both ends are met.
double between(double low, double high, double share) {
    const double apart = high - low;
    return share >= 0.5 ? high - apart * (1 - share) : low + apart * share;
}

} // namespace

void row_quantiles(const double* rows, std::int64_t count, std::int64_t length, double place, double* results) {
    const double below = std::floor(place);
    const auto k = static_cast<std::int64_t>(below);
    const double share = place - below;
    parallel_pieces(count, std::max<std::int64_t>(1, 8192 / length), [&](std::int64_t begin, std::int64_t here) {
        std::vector<double> row(static_cast<std::size_t>(length));
        for (std::int64_t r = begin; r < begin + here; ++r) {
            const double* const from = rows + r * length;
            bool has_nan = false;
            for (std::int64_t j = 0; j < length; ++j) {
                row[static_cast<std::size_t>(j)] = from[j];
                has_nan |= from[j] != from[j];
            }
            if (has_nan) {
                results[r] = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            const auto at = row.begin() + k;
            std::nth_element(row.begin(), at, row.end());
            const bool is_last = k + 1 >= length;
            results[r] = between(*at, is_last ? *at : *std::min_element(at + 1, row.end()), share);
        }
    });
}

} // namespace tilewright::runtime
