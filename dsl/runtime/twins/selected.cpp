// dsl/runtime/twins/selected.cpp: blocks are counted, then each writes where the ones before it end.
#include "dsl/runtime/twins/selected.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kSelectedBlock = 1 << 15;

/// Writes without a branch, since nobody can tell what the next bit of a mask is. The write that a 0 makes is made good
/// by the next 1, so that it ends with the last 1. Eight zeros in a row are passed over: masks may have few ones.
template <std::size_t bytes>
void select_items(const std::byte* from, const std::uint8_t* mask, std::int64_t count, std::int64_t wanted,
                  std::byte* to) {
    constexpr std::size_t kTogether = 8;
    const auto all = static_cast<std::size_t>(count);
    const std::byte* const end = to + static_cast<std::size_t>(wanted) * bytes;
    // Of a product with a truth compilers make a branch, of this they do not.
    const auto step = [mask](std::size_t k) { return -static_cast<std::size_t>(mask[k] != 0) & bytes; };
    std::size_t i = 0;
    for (; i + kTogether <= all && end - to >= static_cast<std::ptrdiff_t>(kTogether * bytes); i += kTogether) {
        std::uint64_t bits;
        std::memcpy(&bits, mask + i, sizeof bits);
        if (bits == 0) continue;
        for (std::size_t k = i; k < i + kTogether; ++k) {
            std::memcpy(to, from + k * bytes, bytes);
            to += step(k);
        }
    }
    for (; to != end; ++i) {
        std::memcpy(to, from + i * bytes, bytes);
        to += step(i);
    }
}

void select_items_of(std::size_t item_bytes, const std::byte* from, const std::uint8_t* mask, std::int64_t count,
                     std::int64_t wanted, std::byte* to) {
    switch (item_bytes) {
#define ITEMS(bytes)                                                                                                   \
    case bytes:                                                                                                        \
        return select_items<bytes>(from, mask, count, wanted, to)
        ITEMS(1);
        ITEMS(2);
        ITEMS(4);
        ITEMS(8);
        ITEMS(12); // points in space
        ITEMS(16);
        ITEMS(24);
        ITEMS(32);
#undef ITEMS
    default:
        for (; wanted > 0; ++mask, from += item_bytes) {
            if (*mask == 0) continue;
            std::memcpy(to, from, item_bytes);
            to += item_bytes;
            --wanted;
        }
    }
}

std::int64_t zeros_of(const std::uint8_t* mask, std::int64_t count) {
    constexpr std::int64_t kTogether = sizeof(__m128i);
    const __m128i zero = _mm_setzero_si128();
    __m128i sums = zero; // two
    std::int64_t i = 0;
    for (; i + kTogether <= count; i += kTogether) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(mask + i));
        const __m128i ones = _mm_sub_epi8(zero, _mm_cmpeq_epi8(bytes, zero));
        sums = _mm_add_epi64(sums, _mm_sad_epu8(ones, zero));
    }
    std::int64_t zeros = _mm_cvtsi128_si64(sums) + _mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
    for (; i < count; ++i)
        zeros += mask[i] == 0;
    return zeros;
}

/// Calls `found` with each position of a mask that is not 0, in order. Eight zeros in a row are passed over.
template <class Found> void each_position(const std::uint8_t* mask, std::int64_t count, const Found& found) {
    constexpr std::int64_t kTogether = 8;
    constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
    std::int64_t i = 0;
    for (; i + kTogether <= count; i += kTogether) {
        std::uint64_t bytes;
        std::memcpy(&bytes, mask + i, sizeof bytes);
        // The upper bit of each byte that is not 0.
        for (std::uint64_t bits = (((bytes & kLow) + kLow) | bytes) & ~kLow; bits != 0; bits &= bits - 1)
            found(i + std::countr_zero(bits) / 8);
    }
    for (; i < count; ++i)
        if (mask[i] != 0) found(i);
}

} // namespace

std::vector<std::int64_t> selected_up_to(const std::uint8_t* mask, std::int64_t count) {
    std::vector<std::int64_t> up_to(static_cast<std::size_t>((count + kSelectedBlock - 1) / kSelectedBlock));
    parallel_pieces(count, kSelectedBlock, [&](std::int64_t begin, std::int64_t here) {
        up_to[static_cast<std::size_t>(begin / kSelectedBlock)] = here - zeros_of(mask + begin, here);
    });
    for (std::size_t block = 1; block < up_to.size(); ++block)
        up_to[block] += up_to[block - 1];
    return up_to;
}

void select(const std::byte* from, std::size_t item_bytes, const std::uint8_t* mask, std::int64_t count,
            const std::vector<std::int64_t>& up_to, std::byte* to) {
    parallel_for(static_cast<int>(up_to.size()), [&](int block) {
        const std::int64_t begin = block * kSelectedBlock;
        const std::int64_t here = std::min(kSelectedBlock, count - begin);
        const std::int64_t before = block > 0 ? up_to[static_cast<std::size_t>(block) - 1] : 0;
        select_items_of(item_bytes, from + static_cast<std::size_t>(begin) * item_bytes, mask + begin, here,
                        up_to[static_cast<std::size_t>(block)] - before,
                        to + static_cast<std::size_t>(before) * item_bytes);
    });
}

void positions(const std::uint8_t* mask, const std::vector<std::int64_t>& extents,
               const std::vector<std::int64_t>& up_to, const std::vector<std::int64_t*>& to) {
    const std::int64_t count =
        std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<std::int64_t>());
    const std::size_t rank = extents.size();
    const std::int64_t last = extents.back();
    parallel_for(static_cast<int>(up_to.size()), [&](int block) {
        const std::int64_t begin = block * kSelectedBlock;
        auto at = static_cast<std::size_t>(block > 0 ? up_to[static_cast<std::size_t>(block) - 1] : 0);
        // Most positions lie in the row of the one before: a division for each takes longer than to find it.
        std::int64_t row = begin / last, row_begin = row * last;
        each_position(mask + begin, std::min(kSelectedBlock, count - begin), [&](std::int64_t k) {
            const std::int64_t flat = begin + k;
            if (flat - row_begin >= last) row = flat / last, row_begin = row * last;
            to[rank - 1][at] = flat - row_begin;
            std::int64_t rest = row;
            for (std::size_t axis = rank - 1; axis-- > 1; rest /= extents[axis])
                to[axis][at] = rest % extents[axis];
            if (rank > 1) to[0][at] = rest;
            ++at;
        });
    });
}

} // namespace tilewright::runtime
