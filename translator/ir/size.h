// translator/ir/size.h: what the translator asks of sizes beyond dsl/base/size_expression.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/base/size_polynomial.h"
#include "translator/ir/program.h"

namespace tilewright::translator {

/// At the extents and integers of a call. nullopt where one is unknown, which callers write as an extent below 0, on
/// division by zero and on overflow.
std::optional<std::int64_t> evaluate(const Size& size, const std::map<std::string, std::int64_t>& sizes);
/// How many numbers range(first, stop, step) has: max(0, ceil((stop - first) / step)).
Size iterations(const Size& first, const Size& stop, std::int64_t step);
inline bool is_one(const Size& size) {
    return size.is_constant() && size.constant() == 1;
}
Size product(const std::vector<Size>& shape);
/// Whether a slice of `count` elements is a whole axis.
bool is_whole(const IndexEntry& entry, const Size& count, const Size& axis);
bool same_shape(const std::vector<Size>& a, const std::vector<Size>& b);
/// Whether 32 bits of what it computes with are enough for 32 bits of the result: + - *.
constexpr bool wraps(Size::Op op) {
    return op == Size::Op::add || op == Size::Op::sub || op == Size::Op::mul;
}
/// The operation of programs that computes with values what `op` computes with sizes: add, subtract, minimum, ...
/// Requires an operator of two numbers.
Op operation_for(Size::Op op);

} // namespace tilewright::translator
