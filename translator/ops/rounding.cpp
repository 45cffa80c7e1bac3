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

Expr as_bits(const Expr& x) {
    return Halide::reinterpret(Halide::UInt(x.type().bits()), x);
}

Expr sign_mask(Type type) {
    return integer_constant(Halide::UInt(type.bits()), std::uint64_t{1} << (type.bits() - 1));
}

Expr copysign(const Exprs& x, const RuleContext&) {
    const Expr mask = sign_mask(x[0].type());
    return Halide::reinterpret(x[0].type(), (as_bits(x[0]) & ~mask) | (as_bits(x[1]) & mask));
}

} // namespace tilewright::translator::ops
