// dsl/runtime/twins/selected.h: what a boolean mask picks out of an array, in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// For each block of a mask of `count` bytes, how many of it and of the blocks before it are not 0.
std::vector<std::int64_t> selected_up_to(const std::uint8_t* mask, std::int64_t count);

/// Writes the items of `item_bytes` each for which the mask is not 0, one after the other. `up_to` is of the same mask.
void select(const std::byte* from, std::size_t item_bytes, const std::uint8_t* mask, std::int64_t count,
            const std::vector<std::int64_t>& up_to, std::byte* to);

/// Writes where the mask is not 0: for each of `extents`, which it has in C's order, the position along that axis.
/// `up_to` is of the same mask.
void positions(const std::uint8_t* mask, const std::vector<std::int64_t>& extents,
               const std::vector<std::int64_t>& up_to, const std::vector<std::int64_t*>& to);

} // namespace tilewright::runtime
