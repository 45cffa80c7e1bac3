// dsl/runtime/twins/padded.h: np.pad, in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// For each place along an axis of a padded array, the place in the array that is padded; -1 for the number that pads.
using PaddedAxis = std::vector<std::int64_t>;

/// Elements of `item_bytes` each, both arrays contiguous and apart from each other. `extents`: of the array that is
/// padded. `inside[k]`: how many places of axis k stand before its own elements.
struct Padding {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> inside;
    std::vector<PaddedAxis> axes;
    std::size_t item_bytes = 0;
    std::vector<std::byte> number; ///< item_bytes of it
};
void pad(const std::byte* from, std::byte* to, const Padding& padding);

} // namespace tilewright::runtime
