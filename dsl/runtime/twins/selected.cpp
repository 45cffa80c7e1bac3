// dsl/runtime/twins/selected.cpp: blocks are counted, then each writes where the ones before it end.
#include "dsl/runtime/twins/selected.h"

#include <algorithm>
#include <cstring>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kSelectedBlock = 1 << 15;

/// Writes without a branch, since nobody can tell what the next bit of a mask is. The write that a 0 makes is made good
/// by the next 1, so that it ends with the last 1.
template <class T>
void select_items(const std::byte* from, const std::uint8_t* mask, std::int64_t wanted, std::byte* to) {
    for (std::int64_t i = 0, written = 0; written < wanted; ++i) {
        std::memcpy(to + static_cast<std::size_t>(written) * sizeof(T), from + static_cast<std::size_t>(i) * sizeof(T),
                    sizeof(T));
        written += mask[i] != 0;
    }
}

void select_items_of(std::size_t item_bytes, const std::byte* from, const std::uint8_t* mask, std::int64_t wanted,
                     std::byte* to) {
    switch (item_bytes) {
    case 1:
        return select_items<std::uint8_t>(from, mask, wanted, to);
    case 2:
        return select_items<std::uint16_t>(from, mask, wanted, to);
    case 4:
        return select_items<std::uint32_t>(from, mask, wanted, to);
    case 8:
        return select_items<std::uint64_t>(from, mask, wanted, to);
    default:
        for (; wanted > 0; ++mask, from += item_bytes) {
            if (*mask == 0) continue;
            std::memcpy(to, from, item_bytes);
            to += item_bytes;
            --wanted;
        }
    }
}

} // namespace

std::vector<std::int64_t> selected_up_to(const std::uint8_t* mask, std::int64_t count) {
    std::vector<std::int64_t> up_to(static_cast<std::size_t>((count + kSelectedBlock - 1) / kSelectedBlock));
    parallel_pieces(count, kSelectedBlock, [&](std::int64_t begin, std::int64_t here) {
        std::uint32_t selected = 0;
        for (std::int64_t i = begin; i < begin + here; ++i)
            selected += mask[i] != 0;
        up_to[static_cast<std::size_t>(begin / kSelectedBlock)] = selected;
    });
    for (std::size_t block = 1; block < up_to.size(); ++block)
        up_to[block] += up_to[block - 1];
    return up_to;
}

void select(const std::byte* from, std::size_t item_bytes, const std::uint8_t* mask,
            const std::vector<std::int64_t>& up_to, std::byte* to) {
    parallel_for(static_cast<int>(up_to.size()), [&](int block) {
        const std::int64_t begin = block * kSelectedBlock;
        const std::int64_t before = block > 0 ? up_to[static_cast<std::size_t>(block) - 1] : 0;
        select_items_of(item_bytes, from + static_cast<std::size_t>(begin) * item_bytes, mask + begin,
                        up_to[static_cast<std::size_t>(block)] - before,
                        to + static_cast<std::size_t>(before) * item_bytes);
    });
}

} // namespace tilewright::runtime
