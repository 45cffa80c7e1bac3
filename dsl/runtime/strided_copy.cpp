// dsl/runtime/strided_copy.cpp: rows by memcpy where they lie without gaps, else element by element.
#include "dsl/runtime/strided_copy.h"

#include <emmintrin.h>

#include <cstring>

namespace tilewright::runtime {
namespace {

using Axis = CopyAxes::Axis;

template <std::size_t bytes>
void copy_elements(const std::uint8_t* from, std::uint8_t* to, std::int64_t count, const Axis& axis) {
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * axis.to, from + i * axis.from, bytes);
}

/// Every second element of 8 bytes, a half of complex numbers: two of them at a time.
void copy_half(const std::uint8_t* from, std::uint8_t* to, std::int64_t count) {
    const auto* const source = reinterpret_cast<const double*>(from);
    auto* const target = reinterpret_cast<double*>(to);
    std::int64_t i = 0;
    for (; i + 2 < count; i += 2) // the last pair has no element behind it
        _mm_storeu_pd(target + i, _mm_unpacklo_pd(_mm_loadu_pd(source + 2 * i), _mm_loadu_pd(source + 2 * i + 2)));
    copy_elements<8>(from + 16 * i, to + 8 * i, count - i, {count, 16, 8});
}

/// The innermost axis; `whole` bytes lie together.
void copy_row(const std::uint8_t* from, std::uint8_t* to, std::size_t bytes, const Axis& axis) {
    if (axis.from == axis.to && axis.to == static_cast<std::int64_t>(bytes))
        std::memcpy(to, from, bytes * static_cast<std::size_t>(axis.extent));
    else if (bytes == 8 && axis.from == 16 && axis.to == 8)
        copy_half(from, to, axis.extent);
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

void copy_strided(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes, CopyAxes joined) {
    if (joined.count == 0) joined.axes[joined.count++] = {1, bytes, bytes};
    const auto& [axes, count] = joined;
    std::int64_t index[CopyAxes::kMost] = {};
    for (;;) {
        copy_row(from, to, static_cast<std::size_t>(bytes), axes[0]);
        int d = 1;
        for (; d < count; ++d) {
            from += axes[d].from;
            to += axes[d].to;
            if (++index[d] < axes[d].extent) break;
            from -= axes[d].from * axes[d].extent;
            to -= axes[d].to * axes[d].extent;
            index[d] = 0;
        }
        if (d == count) return;
    }
}

bool copy_strided(const halide_buffer_t& from, const halide_buffer_t& to) {
    const std::int64_t bytes = from.type.bits / 8;
    CopyAxes axes;
    for (int d = 0; d < from.dimensions; ++d) {
        const std::int64_t extent = from.dim[d].extent;
        if (extent != to.dim[d].extent) return false;
        if (extent == 0) return true;
        axes.add({extent, from.dim[d].stride * bytes, to.dim[d].stride * bytes});
    }
    copy_strided(from.host, to.host, bytes, axes);
    return true;
}

} // namespace tilewright::runtime
