// translator/ops/math_exponential.cpp: exp, exp2, expm1.
//
// x = k ln 2 + r with |r| <= ln(2) / 2; e^x = 2^k e^r. k * ln2_high is exact (ln2_high ends in zero bits), so r carries
// half an ULP. Results that are zero, and -inf, stay on the fast path: masked softmax rows hold them by the million.
#include <cmath>

#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

constexpr double kInverseLn2 = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

/// Where the result of an exponential leaves the normal numbers, in the argument's unit.
struct Range {
    double largest;   ///< finite up to here
    double normal;    ///< normal down to here
    double vanishing; ///< zero below
};

/// p * 2^n: the exponent field where that is enough, with care at both ends of the range.
Real assemble(const Real& x, const Real& p, const Expr& n, const Range& range) {
    const int lift = x.is_double() ? 128 : 64;
    Real subnormal = scale_exponent(p, n + x.word(std::uint64_t(lift))) * std::ldexp(1.0, -lift);
    Real slow = select(x <= range.largest, subnormal, x * kInfinity);
    Real fast = select(x < range.normal, x.constant(0), scale_exponent(p, n));
    Expr unusual = !(x <= range.largest) || (range.vanishing < x && x < range.normal);
    // A branch between every load and store of a thread that has several elements costs it more than four operations.
    if (x.contraction() == Contraction::device && !x.is_double()) return select(unusual, slow, fast);
    return rare(unusual, slow, fast);
}

} // namespace

Tailed exponential_of_reduced(const Real& t, const Real& tail) {
    Real q = polynomial_wide(t.is_double() ? coefficients::exp64 : coefficients::exp32, t);
    Real high = 1.0 + t;
    return {high, (t - (high - 1.0)) + multiply_add(t * t, q, tail)};
}

ReducedExponential reduce_exponential(const Real& x, bool exact_tail) {
    Rounded k = round_product(x, kInverseLn2);
    Real part = x - k.value * x.ln2_high();
    Real below = k.value * x.ln2_low();
    Real r = part - below;
    if (x.contraction() == Contraction::device && !exact_tail) {
        part = multiply_add(k.value, negate(x.ln2_high()), x);
        r = multiply_add(k.value, negate(x.ln2_low()), part);
    }
    if (exact_tail) {
        Tailed p = exponential_of_reduced(r, (part - r) - below);
        return {p.high, p.low, k.low_bits};
    }
    Real q = polynomial_wide(x.is_double() ? coefficients::exp64 : coefficients::exp32, r);
    return {x.constant(1.0), multiply_add(r * r, q, r), k.low_bits};
}

namespace {

Real device_function(const char* name, const std::vector<Real>& args) {
    std::vector<Expr> operands;
    for (const Real& arg : args)
        operands.push_back(arg.expr());
    return Real(outside_call(args.front().expr().type(), std::string("llvm.nvvm.") + name, operands),
                Contraction::device);
}

/// 2^n * 2^r with n from -126 to 126 and the device's own 2^r, of 2 ULP: n in the sum's low bits, as NVIDIA's expf has
/// it. Beyond that range 2^r vanishes or overflows, or the last product makes the subnormal number.
Real exp_on_device(const Real& x) {
    const Real share =
        device_function("saturate.f", {multiply_add(x, x.constant(1.4426950408889634 / 252), x.constant(0.5))});
    const Real sum = device_function("fma.rm.f", {share, x.constant(252), x.constant(12582913)});
    const Real n = sum - 12583039.0;
    const Real high = multiply_add(x, x.constant(1.4426950216293335), negate(n));
    const Real r = multiply_add(x, x.constant(1.9259629911266175e-8), high);
    return x.from_bits(sum.bits() << 23) * device_function("ex2.approx.ftz.f", {r});
}

} // namespace

Real exp(const Real& x) {
    if (x.contraction() == Contraction::device && !x.is_double()) return exp_on_device(x);
    const Range range =
        x.is_double() ? Range{709.782712893384, -708.0, -745.14} : Range{88.72283172607422, -87.0, -103.98};
    if (x.contraction() == Contraction::device) {
        // The fewest operations, one after the other: there are other threads to run meanwhile.
        Rounded k = round_product(x, kInverseLn2);
        Real r = multiply_add(k.value, x.constant(-0.6931471805599453), x);
        r = multiply_add(k.value, x.constant(-2.3190468138462996e-17), r);
        Real p = multiply_add(horner(coefficients::exp64, r), r, x.constant(1.0));
        return assemble(x, multiply_add(p, r, x.constant(1.0)), k.low_bits, range);
    }
    ReducedExponential e = reduce_exponential(x, false);
    return assemble(x, e.high + e.low, e.n, range);
}

Real exp2(const Real& x) {
    Rounded k = round_to_integer(x);
    Real t = (x - k.value) * kLn2;
    Real q = polynomial_wide(x.is_double() ? coefficients::exp64 : coefficients::exp32, t);
    Real p = 1.0 + multiply_add(t * t, q, t);
    const Range range = x.is_double() ? Range{std::nextafter(1024.0, 0.0), -1021.0, -1075.5}
                                      : Range{std::nextafter(128.0F, 0.0F), -125.0, -150.5};
    return assemble(x, p, k.low_bits, range);
}

Real expm1(const Real& x) {
    // 2^k e^r - 1 = ((2^k - 1) + 2^k r) + 2^k (e^r - 1 - r); the first sum's rounding error is added back.
    Rounded k = round_to_integer(x * kInverseLn2);
    Real part = x - k.value * x.ln2_high();
    Real below = k.value * x.ln2_low();
    Real r = part - below;
    Real tail = (part - r) - below;
    Real rest = r * r * polynomial_wide(x.is_double() ? coefficients::expm1_64 : coefficients::expm1_32, r);
    Real scale = power_of_two(x, k.low_bits);
    Real start = scale - 1.0;
    Real scaled = scale * r;
    Real sum = start + scaled;
    Real error = scaled - (sum - start);
    Real value = sum + (error + scale * (rest + tail));
    value = select(x == 0.0, x, value); // keeps -0.0
    value = select(x < (x.is_double() ? -40.0 : -20.0), x.constant(-1.0), value);
    const double normal = x.is_double() ? 709.0 : 88.0;
    const double largest = x.is_double() ? 709.782712893384 : 88.72283172607422;
    Real slow = select(x <= largest, scale_exponent(1.0 + (r + rest), k.low_bits), x * kInfinity);
    return rare(!(x <= normal), slow, value);
}

} // namespace tilewright::translator::math
