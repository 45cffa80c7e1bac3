// dsl/runtime/twins/row_quantiles.cpp: elements of a series that lie near a place, put in order as far as it takes.
#include "dsl/runtime/twins/row_quantiles.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kPiece = 8192;      ///< elements of a task
constexpr std::int64_t kLongSeries = 4096; ///< from which on a sample says where a place is, and threads share one
constexpr std::int64_t kSample = 1024;     ///< elements of it, at most
constexpr std::int64_t kTogether =
    16; ///< series that lie side by side are copied together: a cache line or two of each row

/// numpy.lib._function_base_impl._lerp: from the nearer end, so that both ends are met.
double between(double low, double high, double share) {
    const double apart = high - low;
    return share >= 0.5 ? high - apart * (1 - share) : low + apart * share;
}

/// The numbers at places k and k + 1 of a series in order; twice the last one at its end.
template <class T> struct Pair {
    T low, high;
    bool is_signed_zero = false; ///< one of the two is a zero, and the series has a -0.0
};

template <class T> bool has_negative_zero(const T* from, std::int64_t count) {
    return std::any_of(from, from + count, [](T x) { return x == 0 && std::signbit(x); });
}

template <class T> Pair<T> ordered_pair(T* first, std::int64_t count, std::int64_t k) {
    T* const at = first + k;
    std::nth_element(first, at, first + count);
    const T low = *at, high = k + 1 < count ? *std::min_element(at + 1, first + count) : low;
    return {low, high, (low == 0 || high == 0) && has_negative_zero(first, count)};
}

/// A series that is no longer needed, without NaN.
template <class T> Pair<T> pair_of(std::vector<T>& series, std::int64_t k) {
    return ordered_pair(series.data(), static_cast<std::int64_t>(series.size()), k);
}

template <class T> bool has_nan(const T* from, std::int64_t count) {
    bool found = false;
    for (std::int64_t j = 0; j < count; ++j)
        found |= from[j] != from[j];
    return found;
}

/// What a pass over a piece of a long series finds.
template <class T> struct Piece {
    std::vector<T> near = {}; ///< elements between two limits
    std::int64_t below = 0;   ///< how many elements are less than the lower one
    bool has_nan = false;
};

template <class T> Piece<T> near_elements(const T* from, std::int64_t count, T least, T most) {
    Piece<T> piece;
    piece.near.resize(static_cast<std::size_t>(count) + 1);
    T* to = piece.near.data();
    std::int64_t below = 0;
    bool found = false;
    // Without branches: nobody can predict them.
    for (std::int64_t j = 0; j < count; ++j) {
        const T value = from[j];
        found |= value != value;
        below += value < least;
        *to = value;
        to += (value >= least) & (value <= most);
    }
    piece.near.resize(static_cast<std::size_t>(to - piece.near.data()));
    piece.below = below;
    piece.has_nan = found;
    return piece;
}

/// Of a long contiguous series, on all threads. A sample in order says between which limits the place lies; where it
/// was wrong, all elements are put in order.
template <class T> Pair<T> pair_of_long(const T* from, std::int64_t length, std::int64_t k) {
    constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const std::int64_t taken = std::min(kSample, length / 16);
    std::vector<T> sample(static_cast<std::size_t>(taken));
    for (std::int64_t j = 0; j < taken; ++j)
        sample[static_cast<std::size_t>(j)] = from[j * (length / taken)];
    if (has_nan(sample.data(), taken)) return {nan, nan};
    std::sort(sample.begin(), sample.end());
    const auto share = static_cast<double>(k) / static_cast<double>(length);
    const auto middle = static_cast<std::int64_t>(share * static_cast<double>(taken));
    // Four standard deviations to both sides.
    const auto slack = static_cast<std::int64_t>(2 * std::sqrt(static_cast<double>(taken)));
    const std::int64_t first = middle - slack, last = middle + 1 + slack;
    const T least = first < 0 ? -infinity : sample[static_cast<std::size_t>(first)];
    const T most = last >= taken ? infinity : sample[static_cast<std::size_t>(last)];

    std::vector<Piece<T>> pieces(static_cast<std::size_t>((length + kPiece - 1) / kPiece));
    parallel_pieces(length, kPiece, [&](std::int64_t begin, std::int64_t here) {
        pieces[static_cast<std::size_t>(begin / kPiece)] = near_elements(from + begin, here, least, most);
    });
    std::vector<T> near;
    std::int64_t below = 0;
    for (const Piece<T>& piece : pieces) {
        if (piece.has_nan) return {nan, nan};
        below += piece.below;
        near.insert(near.end(), piece.near.begin(), piece.near.end());
    }
    const std::int64_t place = k - below, found = static_cast<std::int64_t>(near.size());
    const bool has_both = place >= 0 && place < found && (place + 1 < found || k + 1 == length);
    if (has_both) return pair_of(near, place);
    std::vector<T> all(from, from + length);
    return has_nan(all.data(), length) ? Pair<T>{nan, nan} : pair_of(all, k); // a Python thread may write meanwhile
}

/// results[s] = finish(the numbers at places k and k + 1 of series s, or two NaN).
template <class T, class Finish>
void each_pair(const T* from, const Series& series, std::int64_t k, T* results, const Finish& finish) {
    const auto [outer, length, inner] = series;
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    if (inner == 1 && length >= kLongSeries) {
        for (std::int64_t r = 0; r < outer; ++r)
            results[r] = finish(pair_of_long(from + r * length, length, k));
        return;
    }
    const std::int64_t groups = (inner + kTogether - 1) / kTogether;
    const std::int64_t at_once = std::max<std::int64_t>(1, kPiece / (length * std::min(inner, kTogether)));
    parallel_pieces(outer * groups, at_once, [&](std::int64_t begin, std::int64_t here) {
        std::vector<T> copies(static_cast<std::size_t>(length * std::min(inner, kTogether)));
        for (std::int64_t g = begin; g < begin + here; ++g) {
            const std::int64_t column = g % groups * kTogether, width = std::min(kTogether, inner - column);
            const T* const block = from + g / groups * length * inner + column;
            for (std::int64_t j = 0; j < length; ++j)
                for (std::int64_t c = 0; c < width; ++c)
                    copies[static_cast<std::size_t>(c * length + j)] = block[j * inner + c];
            for (std::int64_t c = 0; c < width; ++c) {
                T* const one = copies.data() + c * length;
                results[g / groups * inner + column + c] =
                    finish(length >= kLongSeries  ? pair_of_long(one, length, k)
                           : has_nan(one, length) ? Pair<T>{nan, nan}
                                                  : ordered_pair(one, length, k));
            }
        }
    });
}

} // namespace

bool quantiles(const double* from, Series series, double place, double* results) {
    const double below = std::floor(place);
    // At the end NumPy goes from the last number to itself, and takes the latter.
    const double share = place == static_cast<double>(series.length - 1) ? 1 : place - below;
    std::atomic<bool> is_known = true;
    each_pair(from, series, static_cast<std::int64_t>(below), results, [&](const Pair<double>& pair) {
        const double result = between(pair.low, pair.high, share);
        if (result == 0 && pair.is_signed_zero) is_known = false;
        return result;
    });
    return is_known;
}

template <class T> void medians(const T* from, Series series, T* results) {
    const bool is_even = series.length % 2 == 0;
    each_pair(from, series, (series.length - 1) / 2, results,
              // As a mean, it is no -0.0.
              [&](const Pair<T>& pair) { return (is_even ? (pair.low + pair.high) / 2 : pair.low) + T(0); });
}

template void medians(const float*, Series, float*);
template void medians(const double*, Series, double*);

} // namespace tilewright::runtime
