// dsl/runtime/memory_range.h: which bytes an array reaches, in which order, and whether arrays share memory.
#pragma once

#include <cstdint>

#include "dsl/runtime/executor.h"

namespace tilewright::runtime {

/// From the lowest byte of an array's elements to behind the highest; empty where it has none.
struct MemoryRange {
    std::intptr_t low = 0, high = 0;
    bool meets(const MemoryRange& other) const {
        return low < high && other.low < other.high && low < other.high && other.low < high;
    }
};

inline MemoryRange memory_of(const ArrayView& array, int rank, std::int64_t element_bytes) {
    MemoryRange range;
    range.low = range.high = reinterpret_cast<std::intptr_t>(array.data);
    for (int k = 0; k < rank; ++k) {
        if (array.shape[k] <= 0) return {};
        std::int64_t span = array.strides[k] * (array.shape[k] - 1);
        (span < 0 ? range.low : range.high) += span;
    }
    range.high += element_bytes;
    return range;
}

inline bool is_contiguous(const ArrayView& array, int rank, std::int64_t element_bytes, bool c_order) {
    std::int64_t expected = element_bytes;
    bool follows = true;
    for (int n = 0; n < rank; ++n) {
        int k = c_order ? rank - 1 - n : n;
        // An empty array is contiguous whatever its strides are.
        if (array.shape[k] == 0) return true;
        follows = follows && (array.shape[k] == 1 || array.strides[k] == expected);
        expected *= array.shape[k];
    }
    return follows;
}

/// Whether two elements may share memory: where a stride is less than what lies within it. Of ranks up to kMaxRank.
inline bool overlaps_itself(const ArrayView& array, int rank, std::int64_t element_bytes) {
    struct Axis {
        std::int64_t stride, extent;
    } axes[kMaxRank];
    int count = 0;
    for (int k = 0; k < rank; ++k) {
        std::int64_t extent = array.shape[k], stride = array.strides[k];
        if (extent <= 0) return false;
        if (extent == 1) continue;
        int at = count++;
        stride = stride < 0 ? -stride : stride;
        for (; at > 0 && axes[at - 1].stride > stride; --at)
            axes[at] = axes[at - 1];
        axes[at] = {stride, extent};
    }
    std::int64_t within = element_bytes;
    for (int n = 0; n < count; ++n) {
        if (axes[n].stride < within) return true;
        within += axes[n].stride * (axes[n].extent - 1);
    }
    return false;
}

} // namespace tilewright::runtime
