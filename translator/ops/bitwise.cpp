// translator/ops/bitwise.cpp: bits of integers and bool; shifts beyond the width.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

Expr bitwise_and(const Exprs& x, const RuleContext&) {
    return x[0].type().is_bool() ? x[0] && x[1] : x[0] & x[1];
}
Expr bitwise_or(const Exprs& x, const RuleContext&) {
    return x[0].type().is_bool() ? x[0] || x[1] : x[0] | x[1];
}
Expr bitwise_xor(const Exprs& x, const RuleContext&) {
    return x[0] ^ x[1];
}
Expr invert(const Exprs& x, const RuleContext&) {
    return x[0].type().is_bool() ? !x[0] : ~x[0];
}

namespace {

struct Count {
    Expr fits; ///< 0 <= count < width
    Expr safe; ///< the count where it fits, else 0; unsigned
};

Count count_of(const Expr& count) {
    Type bits = Halide::UInt(count.type().bits());
    // A negative count is huge as unsigned, as in NumPy's own test.
    Expr raw = Halide::cast(bits, count);
    Expr fits = raw < integer_constant(bits, static_cast<std::uint64_t>(bits.bits()));
    return {fits, Halide::select(fits, raw, Halide::Internal::make_zero(bits))};
}

} // namespace

Expr left_shift(const Exprs& x, const RuleContext&) {
    Type type = x[0].type();
    Type bits = Halide::UInt(type.bits());
    Count count = count_of(x[1]);
    Expr shifted = Halide::cast(bits, x[0]) << count.safe;
    return Halide::cast(type, Halide::select(count.fits, shifted, Halide::Internal::make_zero(bits)));
}

Expr right_shift(const Exprs& x, const RuleContext&) {
    Type type = x[0].type();
    Count count = count_of(x[1]);
    Expr zero = Halide::Internal::make_zero(type);
    Expr beyond = type.is_int() ? Halide::select(x[0] < zero, integer_constant(type, ~std::uint64_t{0}), zero) : zero;
    return Halide::select(count.fits, x[0] >> count.safe, beyond);
}

} // namespace tilewright::translator::ops
