// translator/ops/rounding.cpp: floor, ceil, trunc, rint and copysign.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

Expr floor(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::floor(x[0]) : x[0];
}
Expr ceil(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::ceil(x[0]) : x[0];
}
Expr trunc(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::trunc(x[0]) : x[0];
}
Expr rint(const Exprs& x, const RuleContext&) {
    return Halide::round(x[0]);
}

Expr copysign(const Exprs& x, const RuleContext&) {
    Type type = x[0].type();
    Type bits = Halide::UInt(type.bits());
    Expr mask = integer_constant(bits, std::uint64_t{1} << (type.bits() - 1));
    Expr magnitude = Halide::reinterpret(bits, x[0]) & ~mask;
    return Halide::reinterpret(type, magnitude | (Halide::reinterpret(bits, x[1]) & mask));
}

} // namespace tilewright::translator::ops
