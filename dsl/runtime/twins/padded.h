// dsl/runtime/twins/padded.h: np.pad, in parallel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// One axis of an array that is padded. A margin has a place of the axis for each of its elements, or -1 for zero.
struct PaddedAxis {
    std::int64_t extent = 0; ///< before it is padded
    std::vector<std::int64_t> before, behind;

    std::int64_t padded_extent() const {
        return extent + static_cast<std::int64_t>(before.size()) + static_cast<std::int64_t>(behind.size());
    }
    /// Of an element of the padded axis.
    std::int64_t place(std::int64_t at) const {
        const auto first = static_cast<std::int64_t>(before.size());
        if (at < first) return before[static_cast<std::size_t>(at)];
        at -= first;
        return at < extent ? at : behind[static_cast<std::size_t>(at - extent)];
    }
};

/// Elements of `item_bytes` each. Both arrays are contiguous, in C order, and apart from each other.
void pad(const std::byte* from, std::byte* to, const std::vector<PaddedAxis>& axes, std::size_t item_bytes);

} // namespace tilewright::runtime
