// dsl/runtime/twins/scattered_sums.cpp: threads share the sums.
#include "dsl/runtime/twins/scattered_sums.h"

#include <algorithm>
#include <atomic>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/twins/wrapping.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kSortedOut = 1024; ///< positions that are sorted out before their terms are added
constexpr int kMostRanges = 4;            ///< each looks through all positions
constexpr std::int64_t kLookedAt = 1 << 16;
constexpr std::int64_t kShared = 1 << 15; ///< elements, from which on threads are worth their start

std::int64_t place_of(std::int64_t position, std::int64_t size) {
    return position + (position >> 63 & size);
}

} // namespace

bool are_inside(const std::int64_t* positions, std::int64_t count, std::int64_t size) {
    std::atomic<bool> inside = true;
    parallel_pieces(count, kLookedAt, [&](std::int64_t begin, std::int64_t here) {
        bool outside = false;
        for (std::int64_t i = begin; i < begin + here; ++i)
            outside |= positions[i] < -size || positions[i] >= size;
        if (outside) inside = false;
    });
    return inside;
}

std::int64_t largest_position(const std::int64_t* positions, std::int64_t count) {
    std::atomic<std::int64_t> largest = 0;
    std::atomic<bool> is_negative = false;
    parallel_pieces(count, kLookedAt, [&](std::int64_t begin, std::int64_t here) {
        std::int64_t least = 0, most = 0;
        for (std::int64_t i = begin; i < begin + here; ++i) {
            least = std::min(least, positions[i]);
            most = std::max(most, positions[i]);
        }
        if (least < 0) is_negative = true;
        for (std::int64_t now = largest; most > now && !largest.compare_exchange_weak(now, most);) {
        }
    });
    return is_negative ? -1 : largest.load();
}

// To look at a position takes as long as to add to a number: threads that look at all of them gain nothing.
template <class T, class F>
void add_numbers(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const Terms<T>& terms,
                 const F& combined) {
    const T* from = terms.first;
    for (std::int64_t i = 0; i < count; ++i, from += terms.step) {
        T& sum = sums[place_of(positions[i], size)];
        sum = combined(sum, *from);
    }
}

// Each thread has a range of the sums, and looks through all positions for those that are in it.
template <class T>
void add_scattered(T* sums, std::int64_t rows, std::int64_t width, const std::int64_t* positions, std::int64_t count,
                   const Terms<T>& terms) {
    const auto combined = [&](T sum, T term) {
        return terms.are_taken_off ? wrapping_difference(sum, term) : wrapping_sum(sum, term);
    };
    const auto add = [&](std::int64_t row, std::int64_t i) {
        T* const to = sums + row * width;
        const T* const from = terms.first + i * terms.step;
        if (width == 1) {
            *to = combined(*to, *from);
            return;
        }
        for (std::int64_t j = 0; j < width; ++j)
            to[j] = combined(to[j], from[terms.is_single ? 0 : j]);
    };
    const int ranges = std::clamp(num_threads(), 1, kMostRanges);
    if (width == 1) return add_numbers(sums, rows, positions, count, terms, combined);
    if (ranges == 1 || count * width < kShared) {
        for (std::int64_t i = 0; i < count; ++i)
            add(place_of(positions[i], rows), i);
        return;
    }
    const std::int64_t of_range = (rows + ranges - 1) / ranges;
    parallel_for(ranges, [&](int range) {
        const std::int64_t first = range * of_range, last = std::min(rows, first + of_range);
        if (first >= last) return;
        std::uint16_t chosen[kSortedOut];
        for (std::int64_t begin = 0; begin < count; begin += kSortedOut) {
            const std::int64_t here = std::min(kSortedOut, count - begin);
            int found = 0;
            for (std::int64_t i = 0; i < here; ++i) { // no branch: whether an element goes here is anybody's guess
                const std::int64_t at = place_of(positions[begin + i], rows);
                __builtin_prefetch(sums + at * width);
                chosen[found] = static_cast<std::uint16_t>(i);
                found += at >= first && at < last;
            }
            for (int k = 0; k < found; ++k) {
                const std::int64_t i = begin + chosen[k];
                add(place_of(positions[i], rows), i);
            }
        }
    });
}

bool add_up_to_outside(double* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count,
                       const double* terms) {
    for (std::int64_t i = 0; i < count; ++i) {
        if (static_cast<std::uint64_t>(positions[i]) >= static_cast<std::uint64_t>(size)) return false;
        sums[positions[i]] += terms[i];
    }
    return true;
}

#define SCATTERED(T)                                                                                                   \
    template void add_scattered(T*, std::int64_t, std::int64_t, const std::int64_t*, std::int64_t, const Terms<T>&)
SCATTERED(float);
SCATTERED(double);
SCATTERED(std::int32_t);
SCATTERED(std::int64_t);
#undef SCATTERED

} // namespace tilewright::runtime
