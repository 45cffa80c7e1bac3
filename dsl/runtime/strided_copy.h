// dsl/runtime/strided_copy.h: one array's elements into another's.
#pragma once

#include <cstdint>

#include "HalideRuntime.h"

namespace tilewright::runtime {

/// The axes of a copy that are left when those of one element are left out, and those that go on as the axis inside of
/// them does are joined to it; the first is the innermost. Strides are in bytes.
struct CopyAxes {
    static constexpr int kMost = 8;
    struct Axis {
        std::int64_t extent, from, to;
    };
    Axis axes[kMost];
    int count = 0;

    /// From the innermost to the outermost; no extent is 0.
    void add(const Axis& axis) {
        if (axis.extent == 1) return;
        Axis* inner = count > 0 ? &axes[count - 1] : nullptr;
        if (inner && axis.from == inner->from * inner->extent && axis.to == inner->to * inner->extent)
            inner->extent *= axis.extent;
        else
            axes[count++] = axis;
    }
};

/// Elements of `bytes` bytes each, between memory that is not shared.
void copy_strided(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes, CopyAxes axes);
/// Both have one type and rank and share no memory; any strides. False where their shapes differ.
bool copy_strided(const halide_buffer_t& from, const halide_buffer_t& to);

} // namespace tilewright::runtime
