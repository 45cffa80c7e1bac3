// dsl/runtime/twins/scattered_sums.cpp: each thread has a part of the sums, and adds what goes there.
#include "dsl/runtime/twins/scattered_sums.h"

#include <algorithm>
#include <atomic>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/twins/wrapping.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kSortedOut = 1024; ///< positions that are sorted out before their terms are added
constexpr int kMostSumParts = 4;          ///< each part reads all positions
constexpr std::int64_t kLookedAt = 1 << 16;

} // namespace

bool are_inside(const std::int64_t* positions, std::int64_t count, std::int64_t size) {
    std::atomic<bool> inside = true;
    parallel_for(static_cast<int>((count + kLookedAt - 1) / kLookedAt), [&](int piece) {
        const std::int64_t end = std::min(count, (piece + 1) * kLookedAt);
        bool outside = false;
        for (std::int64_t i = piece * kLookedAt; i < end; ++i)
            outside |= positions[i] < -size || positions[i] >= size;
        if (outside) inside = false;
    });
    return inside;
}

template <class T>
void add_scattered(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
                   int step) {
    const int parts = std::clamp(num_threads(), 1, kMostSumParts);
    const std::int64_t width = (size + parts - 1) / parts;
    parallel_for(parts, [&](int part) {
        const std::int64_t first = part * width, last = std::min(size, first + width);
        if (first >= last) return;
        std::uint16_t chosen[kSortedOut];
        for (std::int64_t begin = 0; begin < count; begin += kSortedOut) {
            const std::int64_t here = std::min(kSortedOut, count - begin);
            int found = 0;
            for (std::int64_t i = 0; i < here; ++i) { // no branch: whether an element goes here is anybody's guess
                const std::int64_t position = positions[begin + i];
                const std::int64_t at = position + (position >> 63 & size);
                __builtin_prefetch(sums + at, 1);
                chosen[found] = static_cast<std::uint16_t>(i);
                found += at >= first && at < last;
            }
            for (int k = 0; k < found; ++k) {
                const std::int64_t i = begin + chosen[k], position = positions[i];
                T& sum = sums[position + (position >> 63 & size)];
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
