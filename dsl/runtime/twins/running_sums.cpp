// dsl/runtime/twins/running_sums.cpp: blocks whose running sums are made side by side, then moved by what came before.
#include "dsl/runtime/twins/running_sums.h"

#include <algorithm>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/twins/wrapping.h"

namespace tilewright::runtime {
namespace {

constexpr int kChains = 4; ///< blocks that one thread adds side by side: an addition takes several cycles
constexpr std::int64_t kBlocksTogether = 32; ///< blocks that are moved while caches still hold them

/// The running sums of blocks that follow each other and are whole, but for the last: kChains at most.
template <class T> void sum_blocks(const T* from, T* to, std::int64_t length) {
    if (length == kChains * kBlockOfSums) {
        T sums[kChains];
        for (int c = 0; c < kChains; ++c)
            to[c * kBlockOfSums] = sums[c] = from[c * kBlockOfSums];
        for (std::int64_t j = 1; j < kBlockOfSums; ++j)
            for (int c = 0; c < kChains; ++c) {
                sums[c] = wrapping_sum(sums[c], from[c * kBlockOfSums + j]);
                to[c * kBlockOfSums + j] = sums[c];
            }
        return;
    }
    for (std::int64_t begin = 0; begin < length; begin += kBlockOfSums) {
        const std::int64_t end = std::min(length, begin + kBlockOfSums);
        T sum = to[begin] = from[begin];
        for (std::int64_t j = begin + 1; j < end; ++j)
            to[j] = sum = wrapping_sum(sum, from[j]);
    }
}

template <class T> void long_row(const T* from, T* to, std::int64_t length) {
    for (std::int64_t begin = 0; begin < length; begin += kBlocksTogether * kBlockOfSums) {
        const std::int64_t here = std::min(kBlocksTogether * kBlockOfSums, length - begin);
        const auto blocks = static_cast<int>((here + kBlockOfSums - 1) / kBlockOfSums);
        parallel_pieces(here, kChains * kBlockOfSums, [&](std::int64_t at, std::int64_t some) {
            sum_blocks(from + begin + at, to + begin + at, some);
        });
        T before[kBlocksTogether];
        // Nothing comes before the first block of a row: not even 0, which would end a -0.0.
        const int first = begin > 0 ? 0 : 1;
        for (int b = first; b < blocks; ++b) {
            const T own = to[begin + b * kBlockOfSums - 1]; // of the block before
            before[b] = b > first ? wrapping_sum(before[b - 1], own) : own;
        }
        parallel_pieces(here, kBlockOfSums, [&](std::int64_t at, std::int64_t some) {
            const std::int64_t b = at / kBlockOfSums;
            if (b < first) return;
            for (std::int64_t j = begin + at; j < begin + at + some; ++j)
                to[j] = wrapping_sum(to[j], before[b]);
        });
    }
}

} // namespace

template <class T> void running_sums(const T* from, T* to, std::int64_t rows, std::int64_t length) {
    if (length > kBlockOfSums) {
        for (std::int64_t r = 0; r < rows; ++r)
            long_row(from + r * length, to + r * length, length);
        return;
    }
    if (length == 0) return;
    parallel_pieces(rows, kBlockOfSums / length, [&](std::int64_t begin, std::int64_t here) {
        for (std::int64_t r = begin; r < begin + here; ++r)
            sum_blocks(from + r * length, to + r * length, length);
    });
}

template void running_sums(const float*, float*, std::int64_t, std::int64_t);
template void running_sums(const double*, double*, std::int64_t, std::int64_t);
template void running_sums(const std::int64_t*, std::int64_t*, std::int64_t, std::int64_t);

} // namespace tilewright::runtime
