// translator/ops/math_trigonometric.cpp: sin, cos, tan.
//
// x = q pi/2 + r with |r| <= pi/4, by subtracting q times the leading parts of pi/2, each so short that its product
// with q is exact, and the rest with what the last exact part lost. Sine and cosine of one argument share all of it.
#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

struct Reduced {
    Expr unusual; ///< huge, NaN, or so near a multiple of pi/2 that the parts of pi/2 are too few
    Real r;
    Real tail;     ///< what rounding r lost
    Real z;        ///< r * r
    Expr quadrant; ///< in the low two bits
};

/// The parts give q pi/2 to q * 2^-121 (2^-58): enough while r > q * 2^-66 (2^-31), which z > q * this implies.
Expr is_unusual(const Real& x, const Real& q, const Real& z) {
    const double limit = x.is_double() ? 1.6e6 : 12800.0;
    const double nearness = x.is_double() ? 0x1p-111 : 0x1p-49;
    return !(x <= limit) || z < q * nearness;
}

/// float32 where products are not rounded: q times 24 bits of pi/2 leaves x exactly.
Reduced reduce_with_fused(const Real& x, const Rounded& q) {
    const Real middle = x.constant(-7.549789415861596e-08);
    const Real low = x.constant(-5.390302953474238e-15);
    Real part = multiply_add(q.value, x.constant(-1.5707962512969971), x);
    Real rough = multiply_add(q.value, middle, part);
    Real lost = multiply_add(q.value, middle, part - rough);
    Real r = multiply_add(q.value, low, rough);
    Real z = r * r;
    return {is_unusual(x, q.value, z), r, multiply_add(q.value, low, rough - r) + lost, z, q.low_bits};
}

/// Requires x >= 0 or NaN: signs are the callers', so that -0.0 needs no care.
Reduced reduce_angle(const Real& x) {
    Rounded q = round_product(x, 0.6366197723675814);
    if (x.contraction() == Contraction::device && !x.is_double()) return reduce_with_fused(x, q);
    Real part = x;
    if (x.is_double()) {
        part = part - q.value * 1.5707963267341256; // 33 bits: exact for |q| < 2^20
    } else {
        part = part - q.value * 1.5703125; // 11 bits: exact for |q| < 2^13
        part = part - q.value * 0.0004837512969970703;
    }
    Real next = q.value * x.pick(6.077100506303966e-11, 7.549533620476723e-08F);
    Real rough = part - next;
    Real lost = (part - rough) - next;
    Real rest = q.value * x.pick(2.0222662487959506e-21, 2.5633440682570896e-12F) - lost;
    Real r = rough - rest;
    Real z = r * r;
    return {is_unusual(x, q.value, z), r, (rough - r) - rest, z, q.low_bits};
}

/// sin(r + quadrant * pi/2), negated where the top bit of `flip` is set.
Real sine_of(const Reduced& a, const Expr& quadrant, const Expr& flip) {
    const Real& r = a.r;
    const Real& z = a.z;
    const auto& sines = r.is_double() ? coefficients::sin64 : coefficients::sin32;
    const auto& cosines = r.is_double() ? coefficients::cos64 : coefficients::cos32;
    // One polynomial whose coefficients are chosen by lane costs less than two polynomials and one choice.
    Expr odd = (quadrant & r.word(1)) != r.word(0);
    std::vector<Real> chosen;
    for (std::size_t i = 0; i < sines.size(); ++i) {
        chosen.push_back(select(odd, r.constant(cosines[i]), r.constant(sines[i])));
    }
    Real p = polynomial(chosen, z);
    Real start = select(odd, multiply_add(z, z.constant(-0.5), z.constant(1.0)), r);
    Real factor = select(odd, z, r) * z;
    Expr sign = ((quadrant << r.word(r.is_double() ? 62 : 30)) ^ flip) & r.top_bit();
    return flip_sign(multiply_add(factor, p, start), sign);
}

/// libm's function in float64, for the arguments that the reduction above cannot serve.
Real library(const Real& x, Expr (*function)(Expr)) {
    if (x.is_double()) return Real(function(x.expr()), x.contraction());
    return Real(Halide::cast<float>(function(Halide::cast<double>(x.expr()))), x.contraction());
}

/// sin(x + quarters * pi/2) on a device, of any sign: each difference is rounded once, the first one is exact, and what
/// the three parts of pi/2 leave out is 2^-75 (2^-155) of the quotient: too little to be seen beside any float32
/// (float64) below the limit. Both polynomials are computed: there a multiply-add costs what choosing a float32
/// constant does, and half of what choosing a float64 one does. -0.0 stays: parts are subtracted, and 0 + z p is +0.0.
Real sine_on_device(const Real& x, int quarters, Expr (*function)(Expr)) {
    const Rounded q = round_product(x, 0.6366197723675814);
    Real r = multiply_add(q.value, x.pick(-1.5707963267948966, -1.5707962512969971F), x);
    r = multiply_add(q.value, x.pick(-6.123233995736757e-17, -7.549789415861596e-08F), r);
    r = multiply_add(q.value, x.pick(-8.478427660368898e-32, -5.390302953474238e-15F), r);
    const Real z = r * r;
    const Real rise = horner(x.is_double() ? coefficients::sin64 : coefficients::sin32, z);
    const Real fall = horner(x.is_double() ? coefficients::cos64 : coefficients::cos32, z);
    const Real sine = multiply_add(multiply_add(z, rise, x.constant(0.0)), r, r);
    const Real cosine = multiply_add(z, multiply_add(z, fall, x.constant(-0.5)), x.constant(1.0));
    const Expr quadrant = quarters == 0 ? q.low_bits : q.low_bits + x.word(std::uint64_t(quarters));
    const Expr odd = (quadrant & x.word(1)) != x.word(0);
    const Expr sign = (quadrant << x.word(x.is_double() ? 62 : 30)) & x.top_bit();
    const Real value = flip_sign(select(odd, cosine, sine), sign);
    const Real size(Halide::abs(x.expr()), x.contraction());
    return rare(!(size <= (x.is_double() ? 0x1p31 : 0x1p17)), library(x, function), value);
}

Expr library_sine(Expr x) {
    return Halide::sin(std::move(x));
}

Expr library_cosine(Expr x) {
    return Halide::cos(std::move(x));
}

} // namespace

Real sin(const Real& x) {
    if (x.contraction() == Contraction::device) return sine_on_device(x, 0, library_sine);
    Reduced a = reduce_angle(abs(x));
    Real value = sine_of(a, a.quadrant, x.bits());
    return rare(a.unusual, library(x, library_sine), value);
}

Real cos(const Real& x) {
    if (x.contraction() == Contraction::device) return sine_on_device(x, 1, library_cosine);
    Reduced a = reduce_angle(abs(x));
    Real value = sine_of(a, a.quadrant + x.word(1), x.word(0));
    return rare(a.unusual, library(x, library_cosine), value);
}

Real tan(const Real& x) {
    // A quotient doubles errors, so sine and cosine are sums of two numbers here, and a second division corrects the
    // first.
    Reduced a = reduce_angle(abs(x));
    const Real& r = a.r;
    const Real& z = a.z;
    Real rise = r * z * polynomial(r.is_double() ? coefficients::sin64 : coefficients::sin32, z);
    rise = rise + a.tail * (1.0 - 0.5 * z);
    Real sine = r + rise;
    Real sine_tail = (r - sine) + rise;
    Real start = 1.0 - 0.5 * z;
    Real fall = z * z * polynomial(r.is_double() ? coefficients::cos64 : coefficients::cos32, z);
    fall = ((1.0 - start) - 0.5 * z) + (fall - r * a.tail);
    Real cosine = start + fall;
    Real cosine_tail = (start - cosine) + fall;
    Expr odd = (a.quadrant & r.word(1)) != r.word(0);
    Real above = select(odd, negate(cosine), sine);
    Real above_tail = select(odd, negate(cosine_tail), sine_tail);
    Real below = select(odd, sine, cosine);
    Real below_tail = select(odd, sine_tail, cosine_tail);
    Real ratio = above / below;
    // ratio * below in two parts: what it differs from `above` by is then exact enough.
    Real ratio_high = high_part(ratio);
    Real below_high = high_part(below);
    Real left = above - ratio_high * below_high;
    left = left - ratio_high * (below - below_high);
    left = left - (ratio - ratio_high) * below;
    Real value = ratio + (left + (above_tail - ratio * below_tail)) / below;
    value = flip_sign(value, sign_bit(x));
    return rare(a.unusual, library(x, [](Expr e) { return Halide::tan(std::move(e)); }), value);
}

} // namespace tilewright::translator::math
