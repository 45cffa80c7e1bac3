// translator/ops/math_logarithm.cpp: log, log2, log10, log1p.
//
// x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f), log(m) = 2s + 2/3 s^3 + ...
// (the reduction of fdlibm's e_log.c, with branches taken out). The divider works beside the multipliers, so s is
// cheaper than the longer polynomial in f.
#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

/// log(1 + f) = f - (half_square - product).
struct Mantissa {
    Real f;
    Real half_square;
    Real product;
};

Mantissa log_of_mantissa(const Real& f) {
    Real s = f / (2.0 + f);
    Real z = s * s;
    Real rest = z * polynomial_wide(f.is_double() ? coefficients::log64 : coefficients::log32, z);
    Real half_square = 0.5 * f * f;
    return {f, half_square, s * (half_square + rest)};
}

/// The parts of log(x) for every x > 0, and the condition under which x needs more than that.
struct Reduced {
    Expr unusual;
    Real k;
    Mantissa mantissa;
};

Expr is_unusual(const Real& x) {
    return !(x.smallest_normal() <= x) || !(x < kInfinity);
}

Reduced reduce_logarithm(const Real& x) {
    const Expr unusual = is_unusual(x);
    const Split split = split_any_exponent(x, x, unusual);
    return {unusual, split.k, log_of_mantissa(split.m - 1.0)};
}

/// NaN of negative numbers, -inf of zero, +inf and NaN as they are; of other unusual numbers `slow`.
Real finish(const Real& x, const Expr& unusual, Real slow, const Real& value) {
    slow = select(x < kInfinity, slow, x);
    slow = select(x == 0.0, x.constant(-kInfinity), slow);
    slow = select(x < 0.0, x.quiet_nan(), slow);
    return rare(unusual, slow, value);
}

/// k log(2) + log(m); `low`: k times the low part of log(2), and what else is small.
Real sum_of(const Real& k, const Mantissa& m, const Real& low) {
    return k * k.ln2_high() - ((m.half_square - (m.product + low)) - m.f);
}

/// log(x) * factor = k * step + log(m) * factor, each constant as a high and a low part (FreeBSD's e_log10.c).
Real scaled_logarithm(const Real& x, const Real& step_high, const Real& step_low, const Real& factor_high,
                      const Real& factor_low) {
    Reduced r = reduce_logarithm(x);
    const Mantissa& m = r.mantissa;
    Real high = high_part(m.f - m.half_square);
    Real low = (m.f - high) - m.half_square + m.product;
    Real value_high = high * factor_high;
    Real value_low = r.k * step_low + (low + high) * factor_low + low * factor_high;
    Real steps = r.k * step_high;
    Real sum = steps + value_high;
    value_low = value_low + ((steps - sum) + value_high);
    sum = sum + value_low;
    return finish(x, r.unusual, sum, sum);
}

/// log(x) + lift log(2) of normal float32 x > 0 in multiply-adds alone, by log(1 + f) with f within a third of 0 (the
/// reduction and the polynomial of N. Juffa's logf): a division takes a device as many operations as all of this.
Real log_of_normal_on_device(const Real& x, double lift) {
    const Expr two_thirds = x.word(0x3f2aaaab);
    const Expr k = Halide::reinterpret<std::int32_t>(x.bits() - two_thirds) >> 23;
    const Real f = x.from_bits(x.bits() - (Halide::reinterpret<std::uint32_t>(k) << x.word(23))) - 1.0;
    const Real exponent = Real(Halide::cast<float>(k), x.contraction()) + lift;
    const Real square = f * f;
    const auto step = [&](const Real& sum, const Real& by, double next) {
        return multiply_add(sum, by, x.constant(next));
    };
    Real odd = step(step(x.constant(0.140869141), square, 0.139814854), square, 0.200120345);
    Real even = step(step(x.constant(-0.130310059), square, -0.121483512), square, -0.166846126);
    even = step(even, square, -0.249996200);
    const Real rest = step(step(multiply_add(odd, f, even), f, 0.333331972), f, -0.5);
    return multiply_add(exponent, x.constant(0.693147182), multiply_add(rest, square, f));
}

} // namespace

Real log(const Real& x) {
    if (x.contraction() == Contraction::device && !x.is_double()) {
        const Real lifted = log_of_normal_on_device(x * std::ldexp(1.0, 25), -25);
        return finish(x, is_unusual(x), lifted, log_of_normal_on_device(x, 0));
    }
    const Reduced r = reduce_logarithm(x);
    const Real value = sum_of(r.k, r.mantissa, r.k * x.ln2_low());
    return finish(x, r.unusual, value, value);
}

Real log2(const Real& x) {
    return scaled_logarithm(x, x.constant(1.0), x.constant(0.0), x.pick(1.4426950216293335, 1.4423828125F),
                            x.pick(1.9259629911266175e-08, 0.00031222839606925845F));
}

Real log10(const Real& x) {
    return scaled_logarithm(
        x, x.pick(0.30102999566395283, 0.301025390625F), x.pick(2.8363394551044964e-14, 4.605039066518657e-06F),
        x.pick(0.4342944771051407, 0.4342041015625F), x.pick(4.798111141615973e-09, 9.038033749675378e-05F));
}

Real log1p(const Real& x) {
    // log(u) + c / u with u = 1 + x rounded and c what the rounding lost; for k = 0 x itself is the mantissa.
    Expr unusual = !(-1.0 < x) || !(x < kInfinity);
    Real u = 1.0 + x;
    Split split = split_exponent(u);
    Expr near_zero = split.k == 0.0;
    // Of the two exact ways to find it, one is exact below 1 and the other above.
    Real lost = select(x < 1.0, x - (u - 1.0), 1.0 - (u - x)) / u;
    Real correction = select(near_zero, x.constant(0.0), lost);
    Mantissa m = log_of_mantissa(select(near_zero, x, split.m - 1.0));
    Real value = sum_of(split.k, m, split.k * x.ln2_low() + correction);
    value = select(x == 0.0, x, value); // keeps -0.0
    Real slow = select(x == -1.0, x.constant(-kInfinity), select(x < -1.0, x.quiet_nan(), x));
    return rare(unusual, slow, value);
}

} // namespace tilewright::translator::math
