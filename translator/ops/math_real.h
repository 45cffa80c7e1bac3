// translator/ops/math_real.h: strict floating point arithmetic on Halide expressions, for the elementary functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "Halide.h"

#include "translator/ops/math.h"

namespace tilewright::translator::math {

using Halide::Expr;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A float32 or float64 expression whose operators are IEEE operations that neither Halide's simplifier nor LLVM may
/// reassociate or contract. Compensated steps (a - (a + b)) mean what they say, whatever the target's mode.
class Real {
  public:
    explicit Real(Expr e, Contraction contraction = Contraction::none) : e_(std::move(e)), contraction_(contraction) {}
    const Expr& expr() const { return e_; }
    /// What polynomials of this value may do; a value computed from others may do what the freest of them may.
    Contraction contraction() const { return contraction_; }
    bool is_double() const { return e_.type().bits() == 64; }
    /// `value` rounded to this type.
    Real constant(double value) const { return Real(Halide::Internal::make_const(e_.type(), value), contraction_); }
    /// The constant of this expression's type.
    Real pick(double value64, float value32) const { return constant(is_double() ? value64 : double(value32)); }
    /// The type's bits as an unsigned integer of the same width.
    Expr bits() const { return Halide::reinterpret(Halide::UInt(e_.type().bits()), e_); }
    /// The value with these bits; `bits` has this type's width.
    Real from_bits(const Expr& bits) const { return Real(Halide::reinterpret(e_.type(), bits), contraction_); }
    /// An unsigned constant of this type's width.
    Expr word(std::uint64_t value) const {
        return Halide::Internal::UIntImm::make(Halide::UInt(e_.type().bits()), value);
    }
    /// The sign's bit.
    Expr top_bit() const { return word(is_double() ? 1ull << 63 : 1ull << 31); }
    Real quiet_nan() const { return from_bits(word(is_double() ? 0x7ff8000000000000u : 0x7fc00000u)); }
    double smallest_normal() const {
        return is_double() ? std::numeric_limits<double>::min() : double(std::numeric_limits<float>::min());
    }
    /// log(2) as a sum of two: a product of the first with an exponent is exact.
    Real ln2_high() const { return pick(0.6931471805598903, 0.693145751953125F); }
    Real ln2_low() const { return pick(5.497923018708371e-14, 1.428606765330187e-06F); }
    int mantissa_bits() const { return is_double() ? 52 : 23; }
    int bias() const { return is_double() ? 1023 : 127; }

    friend Real operator+(const Real& a, const Real& b) { return strict(Call::strict_add, a, b); }
    friend Real operator-(const Real& a, const Real& b) { return strict(Call::strict_sub, a, b); }
    friend Real operator*(const Real& a, const Real& b) { return strict(Call::strict_mul, a, b); }
    friend Real operator/(const Real& a, const Real& b) { return strict(Call::strict_div, a, b); }
    friend Real operator+(const Real& a, double b) { return a + a.constant(b); }
    friend Real operator-(const Real& a, double b) { return a - a.constant(b); }
    friend Real operator*(const Real& a, double b) { return a * a.constant(b); }
    friend Real operator+(double a, const Real& b) { return b.constant(a) + b; }
    friend Real operator-(double a, const Real& b) { return b.constant(a) - b; }
    friend Real operator*(double a, const Real& b) { return b.constant(a) * b; }
    friend Real operator/(double a, const Real& b) { return b.constant(a) / b; }
    /// IEEE comparisons: false when a side is NaN. Halide's x86 back end compiles a <= b as !(a > b), which is true of
    /// NaN: only < and == are trusted.
    friend Expr operator<(const Real& a, const Real& b) { return strict_test(Call::strict_lt, a, b); }
    friend Expr operator==(const Real& a, const Real& b) { return strict_test(Call::strict_eq, a, b); }
    friend Expr operator<(const Real& a, double b) { return a < a.constant(b); }
    friend Expr operator<(double a, const Real& b) { return b.constant(a) < b; }
    friend Expr operator==(const Real& a, double b) { return a == a.constant(b); }
    friend Expr operator<=(const Real& a, double b) { return a < a.next(b, kInfinity); }
    friend Expr operator<=(double a, const Real& b) { return b.next(a, -kInfinity) < b; }
    friend Expr is_nan(const Real& x) { return !(x == x); }
    friend Real sqrt(const Real& x) { return Real(Halide::sqrt(x.e_), x.contraction_); }
    /// The sign bit of x alone, as bits.
    friend Expr sign_bit(const Real& x) { return x.bits() & x.top_bit(); }
    /// x with its sign flipped where `sign` (bits, only the top one may be set) is.
    friend Real flip_sign(const Real& x, const Expr& sign) { return x.from_bits(x.bits() ^ sign); }
    friend Real negate(const Real& x) { return flip_sign(x, x.top_bit()); }
    /// a where a < b, else b: a NaN in b survives.
    friend Real smaller_of(const Real& a, const Real& b) { return strict(Call::strict_min, a, b); }
    friend Real larger_of(const Real& a, const Real& b) { return strict(Call::strict_max, a, b); }

  private:
    using Call = Halide::Internal::Call;
    static Real strict(Call::IntrinsicOp op, const Real& a, const Real& b);
    static Expr strict_test(Call::IntrinsicOp op, const Real& a, const Real& b);
    /// Of this type, the number beside `value` on the way to `end`.
    double next(double value, double end) const {
        return is_double() ? std::nextafter(value, end) : double(std::nextafter(float(value), float(end)));
    }

    Expr e_;
    Contraction contraction_;
};

Real select(const Expr& condition, const Real& yes, const Real& no);
Real rare(const Expr& condition, const Real& slow, const Real& fast);
Real abs(const Real& x);
/// x with the low half of its mantissa cleared: the product of two such values is exact.
Real high_part(const Real& x);
/// a * b + c, in one rounding where the values and the target allow it.
Real multiply_add(const Real& a, const Real& b, const Real& c);
/// Horner's rule for the even and for the odd powers, side by side; coefficients with the constant term first.
Real polynomial(const std::vector<double>& coefficients, const Real& x);
Real polynomial(const std::vector<Real>& coefficients, const Real& x);
/// Horner's rule alone: the fewest operations, one after the other.
Real horner(const std::vector<double>& coefficients, const Real& x);
/// Estrin's rule with powers of x: shorter dependence chains for about two multiplications more.
Real polynomial_wide(const std::vector<double>& coefficients, const Real& x);
/// Rounded to the nearest integer, as a value and in the low bits of an integer word (two's complement).
/// Requires |x| < 2^51 (float64), 2^22 (float32).
struct Rounded {
    Real value;
    Expr low_bits;
};
Rounded round_to_integer(const Real& x);
/// x * factor, rounded to the nearest integer (of a product near the middle of two, to either).
Rounded round_product(const Real& x, double factor);
/// x * 2^n by adding n to the exponent field; n as low bits. Requires a normal x and a normal result.
Real scale_exponent(const Real& x, const Expr& n);
/// 2^n for -bias < n <= bias, n as low bits.
Real power_of_two(const Real& like, const Expr& n);
/// x = 2^k * m with m in [sqrt(1/2), sqrt(2)), for normal positive x.
struct Split {
    Real m;
    Real k;
};
Split split_exponent(const Real& x);
/// The same for `size` > 0 of any size; `usual` is what it is where it is not `unusual`.
Split split_any_exponent(const Real& size, const Real& usual, const Expr& unusual);

} // namespace tilewright::translator::math
