// translator/ir/size.cpp: sizes of calls and of loops.
#include "translator/ir/size.h"

#include <algorithm>

#include "dsl/base/error.h"

namespace tilewright::translator {

std::optional<std::int64_t> evaluate(const Size& size, const std::map<std::string, std::int64_t>& sizes) {
    return size.evaluate([&](const Size& symbol) -> std::optional<std::int64_t> {
        const auto found = sizes.find(symbol.name());
        if (found == sizes.end()) return std::nullopt;
        // An integer of the call, whose name has no dot, may be negative.
        if (found->second < 0 && symbol.name().find('.') != std::string::npos) return std::nullopt;
        return found->second;
    });
}

Size iterations(const Size& first, const Size& stop, std::int64_t step) {
    const Size distance = step > 0 ? stop - first : first - stop;
    return larger_of(ceil_div(distance, step > 0 ? step : -step), Size::integer(0));
}

Size product(const std::vector<Size>& shape) {
    Size out = Size::integer(1);
    for (const Size& extent : shape)
        out = out * extent;
    return out;
}

bool is_whole(const IndexEntry& entry, const Size& count, const Size& axis) {
    return entry.kind == IndexEntry::Kind::slice && entry.start.is_constant() && entry.start.constant() == 0 &&
           is_one(entry.step) && same_size(count, axis);
}

bool same_shape(const std::vector<Size>& a, const std::vector<Size>& b) {
    return std::ranges::equal(a, b, same_size);
}

Op operation_for(Size::Op op) {
    static const std::map<Size::Op, Op> operations = {
        {Size::Op::add, Op::add},       {Size::Op::sub, Op::subtract},
        {Size::Op::mul, Op::multiply},  {Size::Op::floordiv, Op::floor_divide},
        {Size::Op::mod, Op::remainder}, {Size::Op::min, Op::minimum},
        {Size::Op::max, Op::maximum}};
    const auto found = operations.find(op);
    if (found == operations.end()) throw InternalError("a size has no operation for its operator.");
    return found->second;
}

} // namespace tilewright::translator
