// translator/ops/math_real.cpp: strict floating point arithmetic on Halide expressions.
#include "translator/ops/math_real.h"

#include <algorithm>
#include <cmath>

#include "dsl/passes/markers.h"

namespace tilewright::translator::math {

namespace {

using Halide::Internal::Call;

Contraction freer(const Real& a, const Real& b) {
    return std::max(a.contraction(), b.contraction());
}

} // namespace

Real Real::strict(Call::IntrinsicOp op, const Real& a, const Real& b) {
    return Real(Call::make(a.expr().type(), op, {a.expr(), b.expr()}, Call::PureIntrinsic), freer(a, b));
}

Expr Real::strict_test(Call::IntrinsicOp op, const Real& a, const Real& b) {
    return Call::make(Halide::Bool(a.expr().type().lanes()), op, {a.expr(), b.expr()}, Call::PureIntrinsic);
}

Real select(const Expr& condition, const Real& yes, const Real& no) {
    return Real(Halide::select(condition, yes.expr(), no.expr()), freer(yes, no));
}

Real rare(const Expr& condition, const Real& slow, const Real& fast) {
    return Real(dsl::rare(condition, slow.expr(), fast.expr()), fast.contraction());
}

Real abs(const Real& x) {
    // Halide's abs leaves -0.0 alone.
    return x.from_bits(x.bits() & x.word(x.is_double() ? 0x7fffffffffffffffu : 0x7fffffffu));
}

Real high_part(const Real& x) {
    // 26 and 12 significant bits: squares have 52 and 24.
    return x.from_bits(x.bits() & x.word(x.is_double() ? 0xfffffffff8000000u : 0xfffff000u));
}

Real multiply_add(const Real& a, const Real& b, const Real& c) {
    const Contraction freest = std::max(freer(a, b), c.contraction());
    if (freest == Contraction::none) return a * b + c;
    if (freest == Contraction::any) return Real(a.expr() * b.expr() + c.expr(), freest);
    return Real(outside_call(a.expr().type(), a.is_double() ? "llvm.nvvm.fma.rn.d" : "llvm.nvvm.fma.rn.f",
                             {a.expr(), b.expr(), c.expr()}),
                freest);
}

namespace {

std::vector<Real> constants(const std::vector<double>& values, const Real& like) {
    std::vector<Real> out;
    for (double value : values)
        out.push_back(like.constant(value));
    return out;
}

Real horner(const std::vector<Real>& coefficients, const Real& x) {
    Real value = coefficients.back();
    for (std::size_t i = coefficients.size() - 1; i-- > 0;)
        value = multiply_add(value, x, coefficients[i]);
    return value;
}

} // namespace

Real polynomial(const std::vector<double>& coefficients, const Real& x) {
    return polynomial(constants(coefficients, x), x);
}

Real polynomial(const std::vector<Real>& coefficients, const Real& x) {
    if (coefficients.size() < 4) return horner(coefficients, x);
    std::vector<Real> even;
    std::vector<Real> odd;
    for (std::size_t i = 0; i < coefficients.size(); ++i)
        (i % 2 == 0 ? even : odd).push_back(coefficients[i]);
    const Real square = x * x;
    return multiply_add(horner(odd, square), x, horner(even, square));
}

Real horner(const std::vector<double>& coefficients, const Real& x) {
    return horner(constants(coefficients, x), x);
}

Real polynomial_wide(const std::vector<double>& coefficients, const Real& x) {
    std::vector<Real> terms = constants(coefficients, x);
    Real power = x;
    while (terms.size() > 1) {
        std::vector<Real> next;
        for (std::size_t i = 0; i + 1 < terms.size(); i += 2)
            next.push_back(multiply_add(terms[i + 1], power, terms[i]));
        if (terms.size() % 2 == 1) next.push_back(terms.back());
        terms = std::move(next);
        if (terms.size() > 1) power = power * power;
    }
    return terms[0];
}

namespace {

/// Adding 1.5 * 2^52 leaves the integer in the low bits of the sum: one addition on every instruction set, where a
/// conversion to int64 needs AVX-512.
double rounding_magic(const Real& x) {
    return x.is_double() ? 6755399441055744.0 : 12582912.0;
}

} // namespace

Rounded round_to_integer(const Real& x) {
    const double magic = rounding_magic(x);
    Real sum = x + magic;
    return {sum - magic, sum.bits()};
}

Rounded round_product(const Real& x, double factor) {
    if (x.contraction() != Contraction::device) return round_to_integer(x * factor);
    const double magic = rounding_magic(x);
    Real sum = multiply_add(x, x.constant(factor), x.constant(magic));
    return {sum - magic, sum.bits()};
}

Real scale_exponent(const Real& x, const Expr& n) {
    return x.from_bits(x.bits() + (n << x.word(std::uint64_t(x.mantissa_bits()))));
}

Real power_of_two(const Real& like, const Expr& n) {
    return like.from_bits((n + like.word(std::uint64_t(like.bias())))
                          << like.word(std::uint64_t(like.mantissa_bits())));
}

Split split_exponent(const Real& x) {
    // Moving the bits by 1 - sqrt(1/2) makes the exponent field change at sqrt(1/2) in place of 1.
    const std::uint64_t root_half = x.is_double() ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u;
    const std::uint64_t one = x.is_double() ? 0x3ff0000000000000u : 0x3f800000u;
    const std::uint64_t mantissa_mask = (std::uint64_t(1) << x.mantissa_bits()) - 1;
    Expr moved = x.bits() + x.word(one - root_half);
    Expr field = moved >> x.word(std::uint64_t(x.mantissa_bits()));
    Real m = x.from_bits((moved & x.word(mantissa_mask)) + x.word(root_half));
    // The integer becomes a float by way of the bits of 2^52 + integer (2^23 in float32).
    const std::uint64_t magic_bits = x.is_double() ? 0x4330000000000000u : 0x4b000000u;
    const double magic = x.is_double() ? 4503599627370496.0 : 8388608.0;
    Real k = x.from_bits(field | x.word(magic_bits)) - (magic + x.bias());
    return {m, k};
}

Split split_any_exponent(const Real& size, const Real& usual, const Expr& unusual) {
    const Expr small = size < size.smallest_normal();
    const int lift = size.is_double() ? 54 : 25;
    Split split = split_exponent(rare(unusual, select(small, size * std::ldexp(1.0, lift), size), usual));
    split.k = rare(unusual, select(small, split.k - double(lift), split.k), split.k);
    return split;
}

} // namespace tilewright::translator::math
