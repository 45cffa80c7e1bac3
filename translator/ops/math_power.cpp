// translator/ops/math_power.cpp: power, cbrt, hypot.
//
// power: log2(x) as a sum of two numbers, times y as such a sum, then 2^ of it (the plan of fdlibm's e_pow.c). Every
// product that must be exact is one of two values with half a mantissa each.
#include <cmath>

#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

/// log2(x) for normal positive x; high has half a mantissa.
Tailed tailed_log2(const Split& x) {
    const Real& m = x.m;
    Real above = m - 1.0;
    Real below = m + 1.0;
    Real inverse = 1.0 / below;
    Real s = above * inverse;
    Real s_high = high_part(s);
    Real below_high = high_part(below);
    Real below_low = m - (below_high - 1.0);
    Real s_low = inverse * ((above - s_high * below_high) - s_high * below_low);
    // 1.5 / s * log(m) = 3 + s^2 + rest
    Real z = s * s;
    Real rest = z * z * polynomial_wide(m.is_double() ? coefficients::power64 : coefficients::power32, z);
    rest = rest + s_low * (s_high + s);
    Real square = s_high * s_high;
    Real t_high = high_part(3.0 + square + rest);
    Real t_low = rest - ((t_high - 3.0) - square);
    Real u = s_high * t_high;
    Real v = s_low * t_high + t_low * s;
    Real p_high = high_part(u + v);
    Real p_low = v - (p_high - u);
    // times 2 / (3 ln 2)
    Real c_high = m.pick(0.9617966860532761, 0.961669921875F);
    Real c_low = m.pick(7.872699542894897e-09, 0.00012677205086220056F);
    Real z_high = c_high * p_high;
    Real z_low = c_low * p_high + p_low * 0.9617966939259756;
    Real high = high_part((z_high + z_low) + x.k);
    return {high, z_low - ((high - x.k) - z_high)};
}

/// 2^(high + low) = p * 2^n.
struct PowerOfTwo {
    Real p;
    Expr n;
};

PowerOfTwo power_of_two_of(const Real& high, const Real& low) {
    Rounded k = round_to_integer(high + low);
    Real d = high - k.value;
    if (!high.is_double()) {
        // log2 is good to 0.3 ULP in float32: one rounding here may stand.
        Real t = (d + low) * 0.6931471805599453;
        return {1.0 + multiply_add(t * t, polynomial_wide(coefficients::exp32, t), t), k.low_bits};
    }
    Real r_high = high_part(d + low);
    Real r_low = low - (r_high - d);
    Real u = r_high * high.pick(0.6931471675634384, 0.693115234375F);
    Real v = r_low * 0.6931471805599453 + r_high * high.pick(1.2996506893889889e-08, 3.194618329871446e-05F);
    Real t = u + v;
    Tailed p = exponential_of_reduced(t, v - (t - u));
    return {p.high + p.low, k.low_bits};
}

/// Whether y is an integer, and an odd one.
struct Integrality {
    Expr integer;
    Expr odd;
};

Integrality integrality(const Real& y) {
    Real size = abs(y);
    const double top = y.is_double() ? 0x1p52 : 0x1p23;
    Real sum = size + top;
    Expr integer = top <= size || (sum - top) == size;
    Expr low_bits = Halide::select(size < top, sum.bits(), size.bits());
    return {integer, integer && size < 2.0 * top && (low_bits & y.word(1)) == y.word(1)};
}

} // namespace

Real power(const Real& x, const Real& y) {
    Expr unusual_base = !(x.smallest_normal() <= x) || !(x < kInfinity);
    Real size = abs(x);
    Tailed l = tailed_log2(split_any_exponent(size, x, unusual_base));
    Real y_high = high_part(y);
    Real low = (y - y_high) * l.high + y * l.low;
    Real high = y_high * l.high;
    Real z = high + low;
    PowerOfTwo result = power_of_two_of(high, low);
    Real fast = scale_exponent(result.p, result.n);

    // Everything else: results that are not normal, bases that are not positive and finite, NaN.
    const double normal = x.is_double() ? 1021.0 : 125.0;
    Expr unusual = !(abs(z) <= normal) || unusual_base;
    const int step = x.is_double() ? 128 : 64;
    Real up = scale_exponent(result.p, result.n - x.word(std::uint64_t(step))) * std::ldexp(1.0, step);
    Real down = scale_exponent(result.p, result.n + x.word(std::uint64_t(step))) * std::ldexp(1.0, -step);
    const double overflow = x.is_double() ? 1030.0 : 134.0;
    const double vanish = x.is_double() ? -1080.0 : -155.0;
    Real magnitude = select(0.0 < z, up, down);
    magnitude = select(overflow < z, x.constant(kInfinity), magnitude);
    magnitude = select(z < vanish, x.constant(0.0), magnitude);
    // So steep an exponent (they are all even) vanishes or overflows beside any base but 1; log2 above may be NaN.
    const double steep = x.is_double() ? 0x1p70 : 0x1p40;
    Expr outward = (1.0 < size) == (0.0 < y);
    Real extreme = select(size == 1.0, x.constant(1.0), select(outward, x.constant(kInfinity), x.constant(0.0)));
    magnitude = select(steep < abs(y), extreme, magnitude);
    Expr grows = Halide::select(0.0 < y, size == kInfinity, size == 0.0);
    magnitude =
        select(size == 0.0 || size == kInfinity, select(grows, x.constant(kInfinity), x.constant(0.0)), magnitude);
    Integrality whole = integrality(y);
    Expr negative = x.bits() >= x.top_bit();
    Expr sign = Halide::select(negative && whole.odd, sign_bit(x), x.word(0));
    Real slow = flip_sign(magnitude, sign);
    slow = select(x < 0.0 && -kInfinity < x && !whole.integer, x.quiet_nan(), slow);
    slow = select(is_nan(x) || is_nan(y), x + y, slow);
    slow = select(x == 1.0 || y == 0.0, x.constant(1.0), slow);
    return rare(unusual, slow, fast);
}

namespace {

/// The cube root of a normal float64 to 5 bits, by its exponent.
Real rough_cube_root(const Real& size) {
    const Expr third = ((size.bits() >> size.word(32)) * size.word(0x55555556)) >> size.word(32);
    return size.from_bits((third + size.word(715094163)) << size.word(32));
}

} // namespace

Real cbrt(const Real& x) {
    if (!x.is_double()) {
        // In float64 every float32 is normal, and two steps from 5 bits are more than enough.
        Real wide(Halide::cast<double>(x.expr()), x.contraction());
        Real size = abs(wide);
        Real t = rough_cube_root(size);
        for (int step = 0; step < 2; ++step) {
            Real cube = t * t * t;
            t = t * (size + size + cube) / (cube + cube + size);
        }
        Real value(Halide::cast<float>(flip_sign(t, sign_bit(wide)).expr()));
        return select(x == 0.0 || !(abs(x) < kInfinity), x + x, value);
    }
    // FreeBSD's s_cbrt.c: an estimate from the exponent, a polynomial step to 23 bits, one exact Newton step.
    Real size = abs(x);
    Expr unusual = !(x.smallest_normal() <= size) || !(size < kInfinity);
    Expr small = size < x.smallest_normal();
    size = rare(unusual, select(small, size * 0x1p54, size), size);
    Real t = rough_cube_root(size);
    Real r = (t * t) * (t / size);
    t = t * (polynomial({1.87595182427177009643, -1.88497979543377169875, 1.621429720105354466140}, r) +
             ((r * r) * r) * (-0.758397934778766047437 + r * 0.145996192886612446982));
    t = x.from_bits((t.bits() + x.word(0x80000000u)) & x.word(0xffffffffc0000000u));
    Real quotient = size / (t * t);
    t = t + t * ((quotient - t) / ((t + t) + quotient));
    Real value = flip_sign(t, sign_bit(x));
    Real slow = select(small, value * 0x1p-18, value);
    slow = select(x == 0.0 || !(abs(x) < kInfinity), x + x, slow);
    return rare(unusual, slow, value);
}

Real hypot(const Real& x, const Real& y) {
    Real a = abs(x);
    Real b = abs(y);
    Real larger = larger_of(a, b);
    const double far = x.is_double() ? 0x1p500 : 0x1p60;
    const double near = x.is_double() ? 0x1p-450 : 0x1p-50;
    const double shift = x.is_double() ? 0x1p600 : 0x1p80;
    Expr unusual = !(larger < far) || (larger < near && 0.0 < larger) || is_nan(x) || is_nan(y);
    Expr big = far <= larger;
    auto root = [](const Real& p, const Real& q) { return sqrt(p * p + q * q); };
    Real down = root(a * (1.0 / shift), b * (1.0 / shift)) * shift;
    Real up = root(a * shift, b * shift) * (1.0 / shift);
    Real slow = select(a == kInfinity || b == kInfinity, x.constant(kInfinity), select(big, down, up));
    return rare(unusual, slow, root(a, b));
}

} // namespace tilewright::translator::math
