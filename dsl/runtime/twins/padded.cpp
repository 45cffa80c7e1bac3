// dsl/runtime/twins/padded.cpp: a row of the padded array at a time.
#include "dsl/runtime/twins/padded.h"

#include <algorithm>
#include <cstring>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kPaddedPiece = 1 << 17; ///< bytes of one iteration

} // namespace

void pad(const std::byte* from, std::byte* to, const Padding& padding) {
    const std::size_t rank = padding.axes.size(), item = padding.item_bytes;
    const PaddedAxis& last = padding.axes.back();
    const auto width = static_cast<std::int64_t>(last.size()), own = padding.extents.back();
    std::int64_t rows = 1;
    for (std::size_t k = 0; k + 1 < rank; ++k)
        rows *= static_cast<std::int64_t>(padding.axes[k].size());
    const std::size_t row_bytes = last.size() * item;
    const auto fill = [&](std::byte* at, std::int64_t count) {
        for (; count > 0; --count, at += item)
            std::memcpy(at, padding.number.data(), item);
    };
    const auto write_row = [&](std::int64_t row) {
        std::byte* const out = to + static_cast<std::size_t>(row) * row_bytes;
        std::int64_t source = 0, stride = 1;
        for (std::size_t k = rank - 1; k-- > 0;) {
            const auto extent = static_cast<std::int64_t>(padding.axes[k].size());
            const std::int64_t place = padding.axes[k][static_cast<std::size_t>(row % extent)];
            if (place < 0) return fill(out, width);
            source += place * stride;
            stride *= padding.extents[k];
            row /= extent;
        }
        const std::byte* const in = from + static_cast<std::size_t>(source * own) * item;
        const auto mapped = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t j = begin; j < end; ++j) {
                const std::int64_t place = last[static_cast<std::size_t>(j)];
                const std::byte* const element =
                    place < 0 ? padding.number.data() : in + static_cast<std::size_t>(place) * item;
                std::memcpy(out + static_cast<std::size_t>(j) * item, element, item);
            }
        };
        const std::int64_t before = padding.inside.back();
        mapped(0, before);
        std::memcpy(out + static_cast<std::size_t>(before) * item, in, static_cast<std::size_t>(own) * item);
        mapped(before + own, width);
    };
    const auto together =
        static_cast<std::int64_t>(std::max<std::size_t>(1, kPaddedPiece / std::max<std::size_t>(1, row_bytes)));
    parallel_for(static_cast<int>((rows + together - 1) / together), [&](int piece) {
        for (std::int64_t row = piece * together; row < std::min(rows, (piece + 1) * together); ++row)
            write_row(row);
    });
}

} // namespace tilewright::runtime
