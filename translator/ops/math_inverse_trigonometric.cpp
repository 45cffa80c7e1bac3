// translator/ops/math_inverse_trigonometric.cpp: arcsin, arccos, arctan, arctan2.
#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

// Between these x - 1 is exact, and (x - 1) / (x + 1) is at most 1/3.
constexpr double kMedium = 0.5;
constexpr double kLarge = 2.0;

/// A constant as a rounded value and what the rounding lost.
struct Constant {
    Real high;
    Real low;
};

Constant pi(const Real& like) {
    return {like.pick(3.141592653589793, 3.1415927410125732F),
            like.pick(1.2246467991473532e-16, -8.742277657347586e-08F)};
}

Constant half_pi(const Real& like) {
    return {like.pick(1.5707963267948966, 1.5707963705062866F),
            like.pick(6.123233995736766e-17, -4.371138828673793e-08F)};
}

Constant three_quarters_pi(const Real& like) {
    return {like.pick(2.356194490192345, 2.356194496154785F),
            like.pick(9.184850993605148e-17, -5.962440319251527e-09F)};
}

Constant quarter_pi(const Real& like) {
    return {like.pick(0.7853981633974483, 0.7853981852531433F),
            like.pick(3.061616997868383e-17, -2.1855694143368964e-08F)};
}

Constant nothing(const Real& like) {
    return {like.constant(0.0), like.constant(0.0)};
}

Constant choose(const Expr& condition, const Constant& yes, const Constant& no) {
    return {select(condition, yes.high, no.high), select(condition, yes.low, no.low)};
}

/// base + arctan(t) for |t| <= 1/2.
Real around(const Constant& base, const Real& t) {
    Real z = t * t;
    Real rest = t * z * polynomial_wide(t.is_double() ? coefficients::arctan64 : coefficients::arctan32, z);
    return base.high + (t + (rest + base.low));
}

/// (arcsin(s) - s) / s for |s| <= 1/2, of z = s * s.
Real arcsin_rest(const Real& z) {
    return z * polynomial_wide(z.is_double() ? coefficients::arcsin64 : coefficients::arcsin32, z);
}

/// What arcsin and arccos share. Above 1/2 they go by arcsin(sqrt((1 - |x|) / 2)); outside [-1, 1] the root is NaN.
struct Sine {
    Expr small; ///< |x| < 1/2
    Real root;  ///< of what the polynomial is in
    Real rest;
    Tailed s; ///< the root as a high part with a short mantissa and the rest, to twice the precision; 0 for 0
};

Sine reduce_sine(const Real& x) {
    const Real size = abs(x);
    const Expr small = size < 0.5;
    const Real z = select(small, x * x, 0.5 * (1.0 - size));
    const Real root = sqrt(z);
    const Real high = high_part(root);
    const Real low = (z - high * high) / (root + high);
    return {small, root, arcsin_rest(z), {high, select(z == 0.0, z.constant(0.0), low)}};
}

} // namespace

Real arcsin(const Real& x) {
    const auto [small, root, rest, s] = reduce_sine(x);
    Constant quarter = quarter_pi(x);
    Real twice_low = 2.0 * root * rest - (half_pi(x).low - 2.0 * s.low);
    Real large = quarter.high - (twice_low - (quarter.high - 2.0 * s.high));
    return select(small, x + x * rest, flip_sign(large, sign_bit(x)));
}

Real arccos(const Real& x) {
    const auto [small, root, rest, s] = reduce_sine(x);
    Constant half = half_pi(x);
    Real middle = half.high - (x - (half.low - x * rest));
    Real positive = 2.0 * (s.high + (rest * root + s.low));
    Real negative = pi(x).high - 2.0 * (root + (rest * root - half.low));
    return select(small, middle, select(x < 0.0, negative, positive));
}

Real arctan(const Real& x) {
    Real size = abs(x);
    Expr large = kLarge < size;
    Expr medium = kMedium < size;
    Real above = select(large, x.constant(-1.0), select(medium, size - 1.0, size));
    Real below = select(large, size, select(medium, size + 1.0, x.constant(1.0)));
    Constant base = choose(large, half_pi(x), choose(medium, quarter_pi(x), nothing(x)));
    return flip_sign(around(base, above / below), sign_bit(x));
}

Real arctan2(const Real& y, const Real& x) {
    Real rise = abs(y);
    Real run = abs(x);
    Real larger = larger_of(rise, run);
    // Scaled by a power of two where products or quotients would overflow or lose bits; infinities count as 1
    // beside 0, and two zeros as an angle of 0.
    const double far = x.is_double() ? 0x1p1000 : 0x1p120;
    const double near = x.is_double() ? 0x1p-900 : 0x1p-80;
    const double shift = x.is_double() ? 0x1p200 : 0x1p40;
    Expr unusual = !(larger < far) || !(near < larger) || is_nan(x) || is_nan(y);
    Expr infinite = rise == kInfinity || run == kInfinity;
    Expr zero = larger == 0.0;
    auto scaled = [&](const Real& v) {
        Real by = select(near < larger, v * (1.0 / shift), v * shift);
        return select(infinite, select(v == kInfinity, v.constant(1.0), v.constant(0.0)), by);
    };
    rise = rare(unusual, scaled(rise), rise);
    run = rare(unusual, select(zero, run.constant(1.0), scaled(run)), run);

    Expr large = kLarge * run < rise;
    Expr medium = kMedium * run < rise;
    Expr back = x.bits() >= x.top_bit();
    Real above = select(large, negate(run), select(medium, rise - run, rise));
    Real below = select(large, rise, select(medium, rise + run, run));
    Constant base =
        choose(large, half_pi(x),
               choose(medium, choose(back, three_quarters_pi(x), quarter_pi(x)), choose(back, pi(x), nothing(x))));
    Real value = flip_sign(around(base, flip_sign(above / below, sign_bit(x))), sign_bit(y));
    return rare(unusual, select(is_nan(x) || is_nan(y), x + y, value), value);
}

} // namespace tilewright::translator::math
