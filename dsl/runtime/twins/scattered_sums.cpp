// dsl/runtime/twins/scattered_sums.cpp: threads share the sums, or the terms.
#include "dsl/runtime/twins/scattered_sums.h"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/twins/wrapping.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kSortedOut = 1024; ///< positions that are sorted out before their terms are added
constexpr int kMostRanges = 4;            ///< each looks through all positions
constexpr std::int64_t kTermsOfASum = 4;  ///< in each part, or the parts' sums cost more than the terms
constexpr int kMostParts = 16;
constexpr std::int64_t kPositionsAhead = 16; ///< whose sums are asked for: large ones lie in far caches
constexpr std::int64_t kLookedAt = 1 << 16;

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

namespace {

std::int64_t place_of(std::int64_t position, std::int64_t size) {
    return position + (position >> 63 & size);
}

/// Each thread has a range of the sums, and looks through all positions for those that are in it.
template <class T>
void add_in_order(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
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

/// Each part of the terms has sums of its own, but for the first, which adds to what is there.
template <class T>
void add_in_parts(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
                  int step, int parts) {
    const T nothing = std::is_integral_v<T> ? T(0) : T(-0.0); // -0.0 + x is x, of 0.0 too
    std::vector<T> own(static_cast<std::size_t>((parts - 1) * size), nothing);
    const std::int64_t width = (count + parts - 1) / parts;
    parallel_for(parts, [&](int part) {
        T* const to = part == 0 ? sums : own.data() + (part - 1) * size;
        const std::int64_t end = std::min(count, (part + 1) * width), ahead = end - kPositionsAhead;
        for (std::int64_t i = part * width; i < end; ++i) {
            if (i < ahead) __builtin_prefetch(to + place_of(positions[i + kPositionsAhead], size), 1);
            T& sum = to[place_of(positions[i], size)];
            sum = wrapping_sum(sum, terms[i * step]);
        }
    });
    parallel_pieces(size, kSortedOut, [&](std::int64_t begin, std::int64_t here) {
        for (int part = 1; part < parts; ++part)
            for (std::int64_t at = begin; at < begin + here; ++at)
                sums[at] = wrapping_sum(sums[at], own[static_cast<std::size_t>((part - 1) * size + at)]);
    });
}

} // namespace

template <class T>
void add_scattered(T* sums, std::int64_t size, const std::int64_t* positions, std::int64_t count, const T* terms,
                   int step) {
    const std::int64_t parts =
        std::clamp<std::int64_t>(count / (kTermsOfASum * std::max<std::int64_t>(1, size)), 1, kMostParts);
    if (parts == 1)
        add_in_order(sums, size, positions, count, terms, step);
    else
        add_in_parts(sums, size, positions, count, terms, step, static_cast<int>(parts));
}

template void add_scattered(float*, std::int64_t, const std::int64_t*, std::int64_t, const float*, int);
template void add_scattered(double*, std::int64_t, const std::int64_t*, std::int64_t, const double*, int);
template void add_scattered(std::int32_t*, std::int64_t, const std::int64_t*, std::int64_t, const std::int32_t*, int);
template void add_scattered(std::int64_t*, std::int64_t, const std::int64_t*, std::int64_t, const std::int64_t*, int);

} // namespace tilewright::runtime
