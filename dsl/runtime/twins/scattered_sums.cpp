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

// Each thread has a range of the sums, and looks through all positions for those that are in it.
template <class T>
void add_scattered(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
                   int step) {
    const int ranges = std::clamp(num_threads(), 1, kMostRanges);
    const std::int64_t width = (size + ranges - 1) / ranges;
    parallel_for(ranges, [&](int range) {
        const std::int64_t first = range * width, last = std::min(size, first + width);
        if (first >= last) return;
        std::uint16_t chosen[kSortedOut];
        for (std::int64_t begin = 0; begin < count; begin += kSortedOut) {
            const std::int64_t here = std::min(kSortedOut, count - begin);
            int found = 0;
            for (std::int64_t i = 0; i < here; ++i) { // no branch: whether an element goes here is anybody's guess
                const std::int64_t at = place_of(positions[begin + i], size);
                __builtin_prefetch(sums + at);
                chosen[found] = static_cast<std::uint16_t>(i);
                found += at >= first && at < last;
            }
            for (int k = 0; k < found; ++k) {
                const std::int64_t i = begin + chosen[k];
                T& sum = sums[place_of(positions[i], size)];
                sum = wrapping_sum(sum, terms[i * step]);
            }
        }
    });
}

template void add_scattered(float*, std::int64_t, const std::int64_t*, std::int64_t, const float*, int);
template void add_scattered(double*, std::int64_t, const std::int64_t*, std::int64_t, const double*, int);
template void add_scattered(std::int32_t*, std::int64_t, const std::int64_t*, std::int64_t, const std::int32_t*, int);
template void add_scattered(std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t, const std::int64_t*, int);

} // namespace tilewright::runtime
