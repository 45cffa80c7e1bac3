// translator/ops/magnitude.cpp: hypot(a, b) compared with one number, without a square root for each pair.
//
// hypot() of ops/math_power.cpp is sqrt(s), s = a a + b b, while the larger of |a|, |b| is in [near, far). sqrt() is
// monotone, so sqrt(s) < h is s < t for t, the smallest float with sqrt(t) >= h. That is p = h h or the float below it:
// with u = ulp(h) and h in [1, 2), roots round to h in (h^2 - h u, h^2 + h u), p is within half a step of h^2, and a
// step is u where h < sqrt(2), else 2 u. So sqrt(p) is h, two steps below p it is less and two steps above it is more;
// for <= and > the border is the float above p or the next one. Beyond near and far, where squares may vanish or
// overflow, s and hypot() are on the same side of every h that has a few binades between itself and them; other h,
// zero, negative ones, infinities and NaN take hypot() itself, on a path that is not entered otherwise.
#include <cmath>
#include <limits>
#include <optional>

#include "dsl/passes/markers.h"
#include "translator/ops/math.h"
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

namespace {

/// The float `steps` above a positive one.
Expr neighbour(const Expr& x, int steps) {
    const Type bits = Halide::UInt(x.type().bits());
    Expr word = as_bits(x);
    Expr moved = steps < 0 ? word - integer_constant(bits, static_cast<std::uint64_t>(-steps))
                           : word + integer_constant(bits, static_cast<std::uint64_t>(steps));
    return Halide::reinterpret(x.type(), moved);
}

struct Border {
    Expr normal; ///< whether h is one for which the squares decide
    Expr at;     ///< the smallest float whose root is h or more; `above`: more than h
};

template <class T> T border_of_constant(T h, bool above) {
    const T square = h * h;
    const T infinity = std::numeric_limits<T>::infinity();
    if (above) {
        const T next = std::nextafter(square, infinity);
        return h < std::sqrt(next) ? next : std::nextafter(next, infinity);
    }
    const T last = std::nextafter(square, T{0});
    return std::sqrt(last) < h ? square : last;
}

Border border_of(const Expr& h, bool above) {
    const Type type = h.type();
    const bool is_double = type.bits() == 64;
    const Expr least = float_constant(type, is_double ? 0x1p-440 : 0x1p-45);
    const Expr most = float_constant(type, is_double ? 0x1p490 : 0x1p55);
    Border out;
    if (std::optional<double> value = Halide::Internal::as_const_float(h)) {
        // Known while translating: no path but one is left.
        const bool normal = is_double ? 0x1p-440 < *value && *value < 0x1p490 : 0x1p-45 < *value && *value < 0x1p55;
        out.normal = normal ? Halide::Internal::const_true() : Halide::Internal::const_false();
        if (normal) {
            out.at = float_constant(type, is_double ? border_of_constant<double>(*value, above)
                                                    : border_of_constant<float>(static_cast<float>(*value), above));
            return out;
        }
    }
    out.normal = least < h && h < most;
    // Any number in place of the others, so that nothing below over- or underflows.
    const Expr safe = Halide::select(out.normal, h, float_constant(type, 1.0));
    const Expr square = safe * safe;
    auto reaches = [&](const Expr& t) { return above ? safe < Halide::sqrt(t) : at_least(Halide::sqrt(t), safe); };
    const Expr near = neighbour(square, above ? 1 : -1);
    out.at = Halide::select(reaches(near), near, neighbour(square, above ? 2 : 0));
    return out;
}

/// hypot < h, or <= h where `or_equal`.
Expr inside(const Exprs& x, const RuleContext& context, bool or_equal) {
    const Border border = border_of(x[2], or_equal);
    const Expr fast = x[0] * x[0] + x[1] * x[1] < border.at;
    if (Halide::Internal::is_const_one(border.normal)) return fast;
    const Expr size = elementary(Op::hypot, {x[0], x[1]}, context.contraction);
    const Expr slow = or_equal ? at_least(x[2], size) : size < x[2];
    return dsl::rare(!border.normal, slow, fast);
}

/// hypot > h, or >= h where `or_equal`.
Expr outside(const Exprs& x, const RuleContext& context, bool or_equal) {
    const Border border = border_of(x[2], !or_equal);
    // Beside NaN an infinity is infinitely large, but the sum of squares is NaN.
    const Expr fast =
        neighbour(border.at, -1) < x[0] * x[0] + x[1] * x[1] || Halide::is_inf(x[0]) || Halide::is_inf(x[1]);
    if (Halide::Internal::is_const_one(border.normal)) return fast;
    const Expr size = elementary(Op::hypot, {x[0], x[1]}, context.contraction);
    const Expr slow = or_equal ? at_least(size, x[2]) : x[2] < size;
    return dsl::rare(!border.normal, slow, fast);
}

} // namespace

Expr magnitude_less(const Exprs& x, const RuleContext& context) {
    return inside(x, context, false);
}
Expr magnitude_less_equal(const Exprs& x, const RuleContext& context) {
    return inside(x, context, true);
}
Expr magnitude_greater(const Exprs& x, const RuleContext& context) {
    return outside(x, context, false);
}
Expr magnitude_greater_equal(const Exprs& x, const RuleContext& context) {
    return outside(x, context, true);
}

} // namespace tilewright::translator::ops
