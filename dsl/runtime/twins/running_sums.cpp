// dsl/runtime/twins/running_sums.cpp: blocks whose running sums are made side by side, then moved by what came before.
#include "dsl/runtime/twins/running_sums.h"

#include <algorithm>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/twins/wrapping.h"

namespace tilewright::runtime {
namespace {

constexpr int kChains = 4; ///< blocks that one thread adds side by side: an addition takes several cycles
constexpr std::int64_t kBlocksTogether = 32; ///< blocks that are moved while caches still hold them

/// The running sums of `count` <= kChains blocks that follow each other and are whole, but for the last.
template <class T> void sum_blocks(const T* from, T* to, std::int64_t length, int count) {
    if (count == kChains && length == kChains * kBlockOfSums) {
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
        parallel_for((blocks + kChains - 1) / kChains, [&](int chain) {
            const std::int64_t at = begin + chain * kChains * kBlockOfSums;
            const std::int64_t some = std::min<std::int64_t>(kChains * kBlockOfSums, begin + here - at);
            sum_blocks(from + at, to + at, some, static_cast<int>((some + kBlockOfSums - 1) / kBlockOfSums));
        });
        T before[kBlocksTogether];
        // Nothing comes before the first block of a row: not even 0, which would end a -0.0.
        const int first = begin > 0 ? 0 : 1;
        for (int b = first; b < blocks; ++b) {
            const T own = to[begin + b * kBlockOfSums - 1]; // of the block before
            before[b] = b > first ? wrapping_sum(before[b - 1], own) : own;
        }
        parallel_for(blocks, [&](int b) {
            if (b < first) return;
            T* const block = to + begin + b * kBlockOfSums;
            const std::int64_t count = std::min(kBlockOfSums, begin + here - (begin + b * kBlockOfSums));
            for (std::int64_t j = 0; j < count; ++j)
                block[j] = wrapping_sum(block[j], before[b]);
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
    const std::int64_t together = std::max<std::int64_t>(1, kBlockOfSums / length); // rows of one iteration
    parallel_for(static_cast<int>((rows + together - 1) / together), [&](int piece) {
        for (std::int64_t r = piece * together; r < std::min(rows, (piece + 1) * together); ++r)
            sum_blocks(from + r * length, to + r * length, length, 1);
    });
}

template void running_sums(const float*, float*, std::int64_t, std::int64_t);
template void running_sums(const double*, double*, std::int64_t, std::int64_t);
template void running_sums(const std::int64_t*, std::int64_t*, std::int64_t, std::int64_t);

} // namespace tilewright::runtime
