// dsl/runtime/twins/padded.cpp: pieces of rows, the elements of which are copied together where they lie together.
#include "dsl/runtime/twins/padded.h"

#include <algorithm>
#include <cstring>

#include "dsl/runtime/parallel.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kPaddedPiece = 1 << 17; ///< bytes of one iteration

/// Part of one row of the padded array.
class PaddedRow {
  public:
    PaddedRow(const PaddedAxis& axis, const std::byte* from, std::byte* to, std::size_t item_bytes)
        : axis_(axis), from_(from), to_(to), item_(item_bytes) {}

    void write(std::int64_t begin, std::int64_t end) const {
        const auto first = static_cast<std::int64_t>(axis_.before.size()), last = first + axis_.extent;
        margin(begin, std::min(end, first));
        const std::int64_t inside = std::max(begin, first), count = std::min(end, last) - inside;
        if (count > 0) std::memcpy(to(inside), from(inside - first), static_cast<std::size_t>(count) * item_);
        margin(std::max(begin, last), end);
    }
    void clear(std::int64_t begin, std::int64_t end) const {
        std::memset(to(begin), 0, static_cast<std::size_t>(end - begin) * item_);
    }

  private:
    void margin(std::int64_t begin, std::int64_t end) const {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t place = axis_.place(at);
            if (place < 0)
                clear(at, at + 1);
            else
                std::memcpy(to(at), from(place), item_);
        }
    }
    std::byte* to(std::int64_t at) const { return to_ + static_cast<std::size_t>(at) * item_; }
    const std::byte* from(std::int64_t at) const { return from_ + static_cast<std::size_t>(at) * item_; }

    const PaddedAxis& axis_;
    const std::byte* from_;
    std::byte* to_;
    std::size_t item_;
};

} // namespace

void pad(const std::byte* from, std::byte* to, const std::vector<PaddedAxis>& axes, std::size_t item_bytes) {
    const PaddedAxis& last = axes.back();
    const std::int64_t width = last.padded_extent();
    std::int64_t rows = 1;
    for (std::size_t k = 0; k + 1 < axes.size(); ++k)
        rows *= axes[k].padded_extent();
    const auto write = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
        std::byte* const out = to + static_cast<std::size_t>(row * width) * item_bytes;
        std::int64_t source = 0, stride = 1;
        for (std::size_t k = axes.size() - 1; k-- > 0;) {
            const std::int64_t place = axes[k].place(row % axes[k].padded_extent());
            if (place < 0) return PaddedRow(last, nullptr, out, item_bytes).clear(begin, end);
            source += place * stride;
            stride *= axes[k].extent;
            row /= axes[k].padded_extent();
        }
        const std::byte* const in = from + static_cast<std::size_t>(source * last.extent) * item_bytes;
        PaddedRow(last, in, out, item_bytes).write(begin, end);
    };
    const std::int64_t items = std::max<std::int64_t>(1, kPaddedPiece / static_cast<std::int64_t>(item_bytes));
    const std::int64_t rows_together = std::max<std::int64_t>(1, items / std::max<std::int64_t>(1, width));
    const std::int64_t pieces_of_a_row = std::max<std::int64_t>(1, (width + items - 1) / items);
    const std::int64_t groups = (rows + rows_together - 1) / rows_together;
    parallel_for(static_cast<int>(groups * pieces_of_a_row), [&](int index) {
        const std::int64_t group = index / pieces_of_a_row, begin = index % pieces_of_a_row * items;
        const std::int64_t end = pieces_of_a_row == 1 ? width : std::min(width, begin + items);
        for (std::int64_t row = group * rows_together; row < std::min(rows, (group + 1) * rows_together); ++row)
            write(row, begin, end);
    });
}

} // namespace tilewright::runtime
