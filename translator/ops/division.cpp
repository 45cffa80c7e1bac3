// translator/ops/division.cpp: floor_divide and remainder, for zero divisors, MIN // -1, NaN and infinities too.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

namespace {

struct QuotientRemainder {
    Expr quotient;
    Expr remainder;
};

QuotientRemainder divide_unsigned(const Expr& a, const Expr& b) {
    // Halide: x / 0 == 0 as NumPy, but x % 0 is only defined to be 0 since the divisor is guarded.
    Expr zero = Halide::Internal::make_zero(a.type());
    if (Halide::Internal::is_const(b) && !Halide::Internal::is_const_zero(b)) return {a / b, a % b};
    Expr safe = Halide::select(b == zero, integer_constant(a.type(), 1), b);
    return {Halide::select(b == zero, zero, a / safe), Halide::select(b == zero, zero, a % safe)};
}

QuotientRemainder divide_signed(const Expr& a, const Expr& b) {
    Type type = a.type();
    Expr zero = Halide::Internal::make_zero(type);
    Expr one = integer_constant(type, 1);
    if (std::optional<std::int64_t> divisor = Halide::Internal::as_const_int(b); divisor && *divisor > 0)
        return {a / b, a % b};
    Expr minus_one = integer_constant(type, ~std::uint64_t{0});
    Expr safe = Halide::select(b == zero || b == minus_one, one, b);
    // Halide's remainder is never negative, Python's has the sign of the divisor.
    Expr euclid_quotient = a / safe;
    Expr euclid_remainder = a % safe;
    Expr adjust = safe < zero && euclid_remainder != zero;
    Expr quotient = Halide::select(adjust, euclid_quotient - one, euclid_quotient);
    Expr remainder = Halide::select(adjust, euclid_remainder + safe, euclid_remainder);
    Type bits = Halide::UInt(type.bits());
    Expr negated = Halide::cast(type, Halide::Internal::make_zero(bits) - Halide::cast(bits, a));
    return {Halide::select(b == zero, zero, b == minus_one, negated, quotient),
            Halide::select(b == zero || b == minus_one, zero, remainder)};
}

/// CPython's and NumPy's divmod; fmod is exact, which a - b * trunc(a / b) is not.
QuotientRemainder divide_float(const Expr& a, const Expr& b) {
    Type type = a.type();
    Expr zero = Halide::Internal::make_zero(type);
    Expr one = Halide::Internal::make_one(type);
    const char* name = type.bits() == 32 ? "fmodf" : "fmod";
    Expr mod = outside_call(type, name, {a, b});
    Expr ratio = quotient(a - mod, b);
    Expr adjust = mod != zero && ((b < zero) != (mod < zero));
    // A remainder of zero has the sign of the divisor.
    Expr remainder = Halide::select(mod != zero, Halide::select(adjust, mod + b, mod), copysign({zero, b}, {}));
    Expr adjusted = Halide::select(adjust, ratio - one, ratio);
    Expr down = Halide::floor(adjusted);
    Expr rounded = Halide::select(adjusted - down > float_constant(type, 0.5), down + one, down);
    Expr floored = Halide::select(adjusted != zero, rounded, copysign({zero, quotient(a, b)}, {}));
    return {Halide::select(b == zero, quotient(a, b), floored), Halide::select(b == zero, mod, remainder)};
}

QuotientRemainder divide_any(const Expr& a, const Expr& b) {
    if (a.type().is_float()) return divide_float(a, b);
    return a.type().is_int() ? divide_signed(a, b) : divide_unsigned(a, b);
}

} // namespace

Expr floor_divide(const Exprs& x, const RuleContext&) {
    return divide_any(x[0], x[1]).quotient;
}
Expr remainder(const Exprs& x, const RuleContext&) {
    return divide_any(x[0], x[1]).remainder;
}

} // namespace tilewright::translator::ops
