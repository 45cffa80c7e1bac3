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
template <class T> T between(T low, T high, T share) {
    const T apart = high - low;
    return share >= T(0.5) ? high - apart * (T(1) - share) : low + apart * share;
}

} // namespace

template <class T>
void row_quantiles(const T* rows, std::int64_t count, std::int64_t length, double place, T* results) {
    const double below = std::floor(place);
    const auto k = static_cast<std::int64_t>(below);
    const T share = static_cast<T>(place - below);
    const std::int64_t together = std::max<std::int64_t>(1, 8192 / length);
    parallel_for(static_cast<int>((count + together - 1) / together), [&](int piece) {
        std::vector<T> row(static_cast<std::size_t>(length));
        for (std::int64_t r = piece * together; r < std::min(count, (piece + 1) * together); ++r) {
            const T* const from = rows + r * length;
            bool has_nan = false;
            for (std::int64_t j = 0; j < length; ++j) {
                row[static_cast<std::size_t>(j)] = from[j];
                has_nan |= from[j] != from[j];
            }
            if (has_nan) {
                results[r] = std::numeric_limits<T>::quiet_NaN();
                continue;
            }
            const auto at = row.begin() + k;
            std::nth_element(row.begin(), at, row.end());
            const bool is_last = k + 1 >= length;
            results[r] = between(*at, is_last ? *at : *std::min_element(at + 1, row.end()), share);
        }
    });
}

template void row_quantiles(const float*, std::int64_t, std::int64_t, double, float*);
template void row_quantiles(const double*, std::int64_t, std::int64_t, double, double*);

} // namespace tilewright::runtime
