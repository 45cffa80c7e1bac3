// translator/ops/casts.cpp: astype between bool, integers and floats, as NumPy on x86-64.
#include <cmath>

#include "dsl/passes/markers.h"
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

namespace {

/// Truncation to a signed type; its least value for NaN and for what does not fit (what cvttsd2si gives). LLVM leaves
/// those undefined, so they are selected away before the conversion.
Expr truncate(const Expr& x, Type to) {
    Type from = x.type();
    double limit = std::ldexp(1.0, to.bits() - 1);
    // In float64 the values just below -2^31 still truncate into range.
    Expr above = from.bits() == 64 && to.bits() == 32 ? x > float_constant(from, -limit - 1)
                                                      : at_least(x, float_constant(from, -limit));
    Expr fits = above && x < float_constant(from, limit);
    Expr safe = Halide::select(fits, x, Halide::Internal::make_zero(from));
    return Halide::select(fits, Halide::cast(to, safe), lowest(to));
}

Expr float_to_integer(const Expr& x, Type to) {
    Type from = x.type();
    if (to.is_int() && to.bits() >= 32) return truncate(x, to);
    // Narrow integers are the low bits of an int32.
    if (to.bits() < 32) return Halide::cast(to, truncate(x, Halide::Int(32)));
    Type wide = Halide::Int(to.bits());
    double half = std::ldexp(1.0, to.bits() - 1);
    Expr upper = at_least(x, float_constant(from, half));
    Expr shifted = Halide::select(upper, x - float_constant(from, half), x);
    Expr low = Halide::reinterpret(to, truncate(shifted, wide));
    Expr top = integer_constant(to, std::uint64_t{1} << (to.bits() - 1));
    return Halide::select(upper, low ^ top, low);
}

/// A float64 as a float32 from which rounding goes on as from the number itself: where it is inexact, the last place is
/// odd, so that it never lies halfway between two numbers of fewer places (Boldo, Melquiond, "When double rounding is
/// odd", 2005).
Expr rounded_to_odd(const Expr& x) {
    const Expr near = Halide::cast<float>(x);
    const Expr back = Halide::cast<double>(near);
    const Expr bits = as_bits(near);
    const Expr one = integer_constant(bits.type(), 1);
    const Expr is_even = (bits & one) == Halide::Internal::make_zero(bits.type());
    const Expr odd = Halide::select(Halide::abs(back) < Halide::abs(x), bits + one, bits - one);
    return Halide::reinterpret<float>(Halide::select(is_even && back != x, odd, bits));
}

/// To float16, from any dtype but bool. NumPy takes integers there through float32.
Expr narrowed(const Expr& x) {
    const bool is_double = x.type() == Halide::Float(64);
    return dsl::rounded_to_half(is_double ? rounded_to_odd(x) : Halide::cast<float>(x));
}

} // namespace

Expr convert(Expr x, const DTypeInfo& from, const DTypeInfo& to) {
    if (from.kind == to.kind && from.bytes == to.bytes) return x;
    if (to.kind == DTypeKind::boolean) return truth(x);
    Type type = value_type(to);
    if (from.kind == DTypeKind::boolean)
        return Halide::select(x, Halide::Internal::make_one(type), Halide::Internal::make_zero(type));
    if (from.kind == DTypeKind::floating && to.kind != DTypeKind::floating) return float_to_integer(x, type);
    if (to.dtype == DType::float16) return narrowed(x);
    return Halide::cast(type, x);
}

Expr cast(const Exprs& x, const RuleContext& context) {
    const Expr made = convert(x[0], *context.from, *context.to);
    return context.keeps_apart && made.type().bits() > x[0].type().bits() ? dsl::apart(made) : made;
}

} // namespace tilewright::translator::ops
