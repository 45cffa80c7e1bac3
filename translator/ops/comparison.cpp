// translator/ops/comparison.cpp: comparisons, truth and classification.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

namespace {

/// NumPy compares int64 with uint64 exactly. `flip(a, b)` is the answer for a negative signed side.
template <class F> Expr compare(const Exprs& x, bool if_left_negative, bool if_right_negative, F&& f) {
    const Type left = x[0].type();
    const Type right = x[1].type();
    if (left == right) return f(x[0], x[1]);
    if (left.is_int()) {
        Expr negative = x[0] < Halide::Internal::make_zero(left);
        Expr rest = f(Halide::cast(right, x[0]), x[1]);
        return if_left_negative ? negative || rest : !negative && rest;
    }
    Expr negative = x[1] < Halide::Internal::make_zero(right);
    Expr rest = f(x[0], Halide::cast(left, x[1]));
    return if_right_negative ? negative || rest : !negative && rest;
}

/// a < b as 32-bit integers, where both are such that were widened, a position and the extent of an axis perhaps:
/// vectors hold twice as many.
Expr try_narrow_less(const Expr& a, const Expr& b) {
    using Halide::Internal::Cast;
    const auto narrow = [](const Expr& x) {
        const Cast* cast = x.type() == Halide::Int(64) ? x.as<Cast>() : nullptr;
        const bool fits = cast != nullptr && (cast->value.type().is_int() || cast->value.type().is_uint()) &&
                          !cast->value.type().is_bool() && cast->value.type().bits() <= 32;
        return fits ? cast->value : Expr();
    };
    const Expr left = narrow(a), right = narrow(b);
    if (!left.defined() || !right.defined() || !right.type().is_int()) return {};
    const Expr bound = Halide::cast<int32_t>(right);
    if (left.type().is_int()) return Halide::cast<int32_t>(left) < bound;
    // Of no unsigned number is a negative one larger, and none is below 0.
    return Halide::cast<uint32_t>(left) < Halide::cast<uint32_t>(Halide::max(bound, 0));
}

/// a == b. Where Halide looks for the bounds of a condition it takes x == x for true, under strict_float too.
Expr same_value(const Expr& a, const Expr& b) {
    return a.type().is_float() && Halide::Internal::equal(a, b) ? !Halide::is_nan(a) : a == b;
}

} // namespace

Expr at_least(const Expr& a, const Expr& b) {
    return a.type().is_float() ? b < a || same_value(a, b) : a >= b;
}

Expr truth(Expr x) {
    return x.type().is_bool() ? x : x != Halide::Internal::make_zero(x.type());
}

Expr equal(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return !(x[0] ^ x[1]);
    return compare(x, false, false, [](const Expr& a, const Expr& b) { return same_value(a, b); });
}
Expr not_equal(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] ^ x[1];
    return compare(x, true, true, [](const Expr& a, const Expr& b) { return !same_value(a, b); });
}
Expr less(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return !x[0] && x[1];
    if (const Expr narrow = try_narrow_less(x[0], x[1]); narrow.defined()) return narrow;
    return compare(x, true, false, [](const Expr& a, const Expr& b) { return a < b; });
}
Expr less_equal(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return !x[0] || x[1];
    return compare(x, true, false, [](const Expr& a, const Expr& b) { return at_least(b, a); });
}
Expr greater(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] && !x[1];
    return compare(x, false, true, [](const Expr& a, const Expr& b) { return a > b; });
}
Expr greater_equal(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] || !x[1];
    return compare(x, false, true, [](const Expr& a, const Expr& b) { return at_least(a, b); });
}

Expr logical_and(const Exprs& x, const RuleContext&) {
    return truth(x[0]) && truth(x[1]);
}
Expr logical_or(const Exprs& x, const RuleContext&) {
    return truth(x[0]) || truth(x[1]);
}
Expr logical_xor(const Exprs& x, const RuleContext&) {
    return truth(x[0]) ^ truth(x[1]);
}
Expr logical_not(const Exprs& x, const RuleContext&) {
    return !truth(x[0]);
}

Expr isnan(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::is_nan(x[0]) : Halide::Internal::const_false();
}
Expr isinf(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::is_inf(x[0]) : Halide::Internal::const_false();
}
Expr isfinite(const Exprs& x, const RuleContext&) {
    return x[0].type().is_float() ? Halide::is_finite(x[0]) : Halide::Internal::const_true();
}
Expr signbit(const Exprs& x, const RuleContext&) {
    Type bits = Halide::Int(x[0].type().bits());
    return Halide::reinterpret(bits, x[0]) < Halide::Internal::make_zero(bits);
}

} // namespace tilewright::translator::ops
