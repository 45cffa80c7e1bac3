// translator/ops/arithmetic.cpp: + - * /, signs, squares and powers as NumPy computes them.
#include "dsl/base/error.h"
#include "dsl/passes/markers.h"
#include "translator/ops/math.h"
#include "translator/ops/math_real.h"
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;
using Halide::Type;

namespace {

Type bits_type(Type type) {
    return Halide::UInt(type.bits());
}

/// Signed integers as unsigned ones of the same width and back: modular arithmetic.
template <class F> Expr modular(const Expr& a, const Expr& b, F&& f) {
    Type type = a.type();
    if (!type.is_int()) return f(a, b);
    return Halide::cast(type, f(Halide::cast(bits_type(type), a), Halide::cast(bits_type(type), b)));
}

/// b ** e by squaring, modulo 2^bits; `exponent` is unsigned.
Expr integer_power(const Expr& base, const Expr& exponent) {
    Type type = base.type();
    Expr factor = base;
    Expr out = integer_constant(type, 1);
    for (int bit = 0; bit < exponent.type().bits(); ++bit) {
        Expr set = ((exponent >> integer_constant(exponent.type(), static_cast<std::uint64_t>(bit))) &
                    integer_constant(exponent.type(), 1)) != integer_constant(exponent.type(), 0);
        out = Halide::select(set, wrapping_multiply(out, factor), out);
        factor = wrapping_multiply(factor, factor);
    }
    return out;
}

/// Up to here float32 is multiplied in float64, where a dozen roundings are nothing.
constexpr int kMostWideExponent = 16;

/// b ** n by squaring; n > 0.
template <class F> Expr product_of(const Expr& base, std::uint64_t n, F&& multiply) {
    Expr out, factor = base;
    for (std::uint64_t rest = n; rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) out = out.defined() ? multiply(out, factor) : factor;
        if (rest > 1) factor = multiply(factor, factor);
    }
    return out;
}

/// The n of b ** n that is computed as products: those that stay within 2 ULP; 0 for others. The cube has two
/// roundings: 0.5 + 1 ULP at most. The fourth power is the square of a square s whose mantissa is m: the error of s
/// counts twice, m ULP of a result below 2 (then m < 1.42), m/2 of one above; with its own rounding, 1.92. The fifth
/// would be 2.6. What overflows or vanishes on the way does so in the end, and signs, infinities and NaN are those of
/// the product.
int factors_of(const Exprs& x, Contraction contraction) {
    const auto* exponent = x[1].as<Halide::Internal::FloatImm>();
    if (exponent == nullptr || exponent->value != std::floor(exponent->value) || exponent->value < 2) return 0;
    // A device may have hardly any units for float64.
    const bool widens = x[0].type() == Halide::Float(32) && contraction != Contraction::device;
    return exponent->value <= (widens ? kMostWideExponent : 4) ? static_cast<int>(exponent->value) : 0;
}

Expr power_by_products(const Expr& base, int n) {
    if (n == 2) return base * base; // NumPy takes the exact square too
    // Once, however often it is read.
    const std::string name = Halide::Internal::unique_name("power_base");
    Expr x = Halide::Internal::Variable::make(base.type(), name);
    const auto power = [n](const Expr& b) {
        return product_of(b, static_cast<std::uint64_t>(n), [](const Expr& c, const Expr& d) { return c * d; });
    };
    Expr out = n <= 4 ? power(x) : Halide::cast(base.type(), power(Halide::cast<double>(x)));
    return Halide::Internal::Let::make(name, base, Halide::Internal::common_subexpression_elimination(out));
}

std::optional<std::uint64_t> constant_bits(const Expr& x) {
    if (std::optional<std::int64_t> value = Halide::Internal::as_const_int(x))
        return static_cast<std::uint64_t>(*value);
    if (std::optional<std::uint64_t> value = Halide::Internal::as_const_uint(x)) return *value;
    return std::nullopt;
}

} // namespace

Expr wrapping_add(Expr a, Expr b) {
    return modular(a, b, [](const Expr& x, const Expr& y) { return x + y; });
}

Expr wrapping_multiply(Expr a, Expr b) {
    return modular(a, b, [](const Expr& x, const Expr& y) { return x * y; });
}

Expr add(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] || x[1];
    return wrapping_add(x[0], x[1]);
}

Expr subtract(const Exprs& x, const RuleContext&) {
    return modular(x[0], x[1], [](const Expr& a, const Expr& b) { return a - b; });
}

Expr multiply(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] && x[1];
    return wrapping_multiply(x[0], x[1]);
}

Expr quotient(const Expr& a, const Expr& b) {
    // Halide refuses a constant 0.0 as a divisor; hidden in its bits it is an infinity or NaN as for everyone.
    if (Halide::Internal::is_const_zero(b))
        return a / Halide::reinterpret(b.type(), Halide::Internal::make_zero(bits_type(b.type())));
    return a / b;
}

namespace {

/// a / b in float32, bit by bit, by one reciprocal for many a: the product in float64 lies within 2^-52 of the
/// quotient, and no quotient of two 24-bit numbers lies within 2^-49 of the middle between two float32 numbers, so that
/// rounding once more gives what rounding the quotient gives. Subnormal quotients may lie in a middle: those are
/// divided.
Expr divide_by_row_constant(const Expr& a, const Expr& b) {
    const Type wide = Halide::Float(64);
    const Expr reciprocal = Halide::Internal::make_one(wide) / Halide::cast(wide, b);
    const Expr quotient = Halide::cast(a.type(), Halide::cast(wide, a) * reciprocal);
    const Expr smallest_normal = float_constant(a.type(), 0x1p-126);
    const Expr subnormal = Halide::abs(quotient) < smallest_normal && a != Halide::Internal::make_zero(a.type());
    return dsl::rare(subnormal, a / b, quotient);
}

/// The same where a device has fused multiply-adds and converts to float64 slowly (Markstein, "Computation of
/// elementary functions on the IBM RISC System/6000 processor", 1990): y = 1/b rounded, q = a * y, r = a - q * b, q + r
/// * y. Without underflow only quotients within 4.5/2b of the middle between two float32 numbers could round to the
/// wrong one; the 46 million of them that there are have been tried. Others are divided.
Expr divide_by_row_constant_fused(const Expr& a, const Expr& b) {
    using math::Real;
    const auto real = [](const Expr& e) { return Real(e, Contraction::device); };
    const auto constant = [&](double value) { return float_constant(a.type(), value); };
    const Real dividend = real(a), divisor = real(b);
    const Real reciprocal = real(Halide::Internal::make_one(a.type())) / divisor;
    const Real first = dividend * reciprocal;
    const Real rest = math::multiply_add(negate(first), divisor, dividend);
    const Expr quotient = math::multiply_add(rest, reciprocal, first).expr();
    // Neither the reciprocal, nor the rest, nor the quotient is subnormal or overflows. Rows that are masked are full
    // of zeros: 0.0 is right as well, of -0.0 the sign would be lost.
    const Expr size = Halide::abs(b), least = constant(0x1p-100), most = constant(0x1p100);
    const Expr usual = size >= least && size <= most;
    const Expr from = Halide::select(usual, Halide::max(least, size * constant(0x1p-125)), most);
    const Expr below =
        Halide::select(usual, Halide::min(most, size * constant(0x1p125)), Halide::Internal::make_zero(a.type()));
    const Expr is_small = !(Halide::abs(a) > from) && as_bits(a) != Halide::Internal::make_zero(bits_type(a.type()));
    const Expr unusual = is_small || !(Halide::abs(a) < below);
    return dsl::rare(unusual, a / b, quotient);
}

} // namespace

Expr divide(const Exprs& x, const RuleContext& context) {
    const bool constant = Halide::Internal::is_const(x[1]);
    if (context.row_constant && !constant && x[0].type() == Halide::Float(32))
        return context.contraction == Contraction::device ? divide_by_row_constant_fused(x[0], x[1])
                                                          : divide_by_row_constant(x[0], x[1]);
    return quotient(x[0], x[1]);
}

Expr negative(const Exprs& x, const RuleContext&) {
    Type type = x[0].type();
    // 0.0 - x would turn 0.0 into 0.0, not -0.0.
    if (type.is_float()) return Halide::reinterpret(type, as_bits(x[0]) ^ sign_mask(type));
    return modular(integer_constant(type, 0), x[0], [](const Expr& a, const Expr& b) { return a - b; });
}

Expr positive(const Exprs& x, const RuleContext&) {
    return x[0];
}

Expr absolute(const Exprs& x, const RuleContext& context) {
    Type type = x[0].type();
    if (type.is_float()) return Halide::reinterpret(type, as_bits(x[0]) & ~sign_mask(type));
    if (!type.is_int()) return x[0];
    return Halide::select(x[0] < integer_constant(type, 0), negative(x, context), x[0]);
}

Expr sign(const Exprs& x, const RuleContext&) {
    Type type = x[0].type();
    Expr zero = Halide::Internal::make_zero(type);
    Expr one = Halide::Internal::make_one(type);
    if (type.is_uint()) return Halide::select(x[0] > zero, one, zero);
    if (type.is_int())
        return Halide::select(x[0] > zero, one, x[0] < zero, integer_constant(type, ~std::uint64_t{0}), zero);
    return Halide::select(x[0] > zero, one, x[0] < zero, float_constant(type, -1), x[0] == zero, zero, x[0]);
}

Expr square(const Exprs& x, const RuleContext&) {
    return wrapping_multiply(x[0], x[0]);
}

Expr reciprocal(const Exprs& x, const RuleContext& context) {
    Type type = x[0].type();
    if (type.is_float()) return quotient(Halide::Internal::make_one(type), x[0]);
    // NumPy divides in float64 and truncates: only 0, 1 and -1 give anything else than 0.
    static const DTypeInfo& float64 = *find_dtype("float64");
    Expr infinity = float_constant(Halide::Float(64), std::numeric_limits<double>::infinity());
    Expr one = integer_constant(type, 1);
    Expr out = Halide::select(x[0] == one, one, Halide::Internal::make_zero(type));
    if (type.is_int()) {
        Expr minus_one = integer_constant(type, ~std::uint64_t{0});
        out = Halide::select(x[0] == minus_one, minus_one, out);
    }
    return Halide::select(x[0] == Halide::Internal::make_zero(type), convert(infinity, float64, *context.to), out);
}

Expr sqrt(const Exprs& x, const RuleContext&) {
    return Halide::sqrt(x[0]);
}

bool is_cheap_power(const Exprs& x, const RuleContext& context) {
    return x[0].type().is_float() && factors_of(x, context.contraction) > 0;
}

Expr power(const Exprs& x, const RuleContext& context) {
    Type type = x[0].type();
    if (type.is_float()) {
        const int factors = factors_of(x, context.contraction);
        if (factors > 0) return power_by_products(x[0], factors);
        return elementary(Op::power, x, context.contraction);
    }
    if (std::optional<std::uint64_t> exponent = constant_bits(x[1])) {
        if (type.is_int() && static_cast<std::int64_t>(*exponent) < 0)
            throw TranslateError("integers to negative integer powers are a ValueError in NumPy");
        return *exponent == 0 ? integer_constant(type, 1) : product_of(x[0], *exponent, wrapping_multiply);
    }
    if (type.is_int())
        throw TranslateError(
            "a signed exponent that is no constant may be negative, which NumPy answers with ValueError");
    return integer_power(x[0], x[1]);
}

} // namespace tilewright::translator::ops
