// dsl/runtime/strided_copy.cpp: rows by memcpy where they lie without gaps, else element by element.
#include "dsl/runtime/strided_copy.h"

#include <cstring>

namespace tilewright::runtime {
namespace {

using Axis = CopyAxes::Axis;

template <std::size_t bytes>
void copy_elements(const std::uint8_t* from, std::uint8_t* to, std::int64_t count, const Axis& axis) {
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * axis.to, from + i * axis.from, bytes);
}

/// The innermost axis; `whole` bytes lie together.
void copy_row(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes, const Axis& axis) {
    if (axis.from == axis.to && axis.to == static_cast<std::int64_t>(bytes))
        std::memcpy(to, from, bytes * static_cast<std::size_t>(axis.extent));
    else if (bytes == 8)
        copy_elements<8>(from, to, axis.extent, axis);
    else if (bytes == 4)
        copy_elements<4>(from, to, axis.extent, axis);
    else if (bytes == 16)
        copy_elements<16>(from, to, axis.extent, axis);
    else if (bytes == 2)
        copy_elements<2>(from, to, axis.extent, axis);
    else
        copy_elements<1>(from, to, axis.extent, axis);
}

} // namespace

bool copy_strided(const halide_buffer_t& from, const halide_buffer_t& to) {
    const std::int64_t bytes = from.type.bits / 8;
    CopyAxes joined;
    for (int d = 0; d < from.dimensions; ++d) {
        std::int64_t extent = from.dim[d].extent;
        if (extent != to.dim[d].extent) return false;
        if (extent == 0) return true;
        joined.add({extent, from.dim[d].stride * bytes, to.dim[d].stride * bytes});
    }
    if (joined.count == 0) joined.axes[joined.count++] = {1, bytes, bytes};
    const auto& [axes, count] = joined;
    std::int64_t index[CopyAxes::kMost] = {};
    const std::uint8_t* source = from.host;
    std::uint8_t* target = to.host;
    for (;;) {
        copy_row(source, target, static_cast<std::size_t>(bytes), axes[0]);
        int d = 1;
        for (; d < count; ++d) {
            source += axes[d].from;
            target += axes[d].to;
            if (++index[d] < axes[d].extent) break;
            source -= axes[d].from * axes[d].extent;
            target -= axes[d].to * axes[d].extent;
            index[d] = 0;
        }
        if (d == count) return true;
    }
}

} // namespace tilewright::runtime
