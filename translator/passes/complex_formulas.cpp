// translator/passes/complex_formulas.cpp: NumPy's formulas, in its order of operations and without contraction.
#include "translator/passes/complex_formulas.h"

#include <cstdlib>
#include <map>

namespace tilewright::translator {
namespace {

Value zero(const Value& like) {
    return constant(like, "0.0");
}
Value one(const Value& like) {
    return constant(like, "1.0");
}
Value absolute(const Value& x) {
    return call(Op::absolute, x);
}
Value is_nan(const Value& x) {
    return call(Op::isnan, x);
}
Value is_inf(const Value& x) {
    return call(Op::isinf, x);
}
Value is_zero(const Complex& z) {
    return (z.real == zero(z.real)) & (z.imag == zero(z.imag));
}
Complex nan(const Value& like) {
    return {constant(like, "nan"), constant(like, "nan")};
}

Complex add(const Complex& a, const Complex& b) {
    return {a.real + b.real, a.imag + b.imag};
}

Complex conjugate(const Complex& z) {
    return {z.real, -z.imag};
}

Complex subtract(const Complex& a, const Complex& b) {
    return {a.real - b.real, a.imag - b.imag};
}

Complex multiply(const Complex& a, const Complex& b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

/// Smith: divides by the larger half of b first. NumPy's two branches are one formula after an exchange, but for the
/// order of the last difference, which decides the sign of a zero.
Complex divide(const Complex& a, const Complex& b) {
    Value size_real = absolute(b.real);
    Value size_imag = absolute(b.imag);
    Value by_real = size_real >= size_imag;
    Value large = where(by_real, b.real, b.imag);
    Value small = where(by_real, b.imag, b.real);
    Value ratio = small / large;
    Value scale = one(large) / (large + small * ratio);
    Value first = where(by_real, a.real, a.imag);
    Value second = where(by_real, a.imag, a.real);
    Value turned = first * ratio;
    Complex quotient{(first + second * ratio) * scale, where(by_real, second - turned, turned - second) * scale};
    Complex by_zero{a.real / size_real, a.imag / size_imag};
    return where(is_zero(b), by_zero, quotient);
}

Complex reciprocal(const Complex& z) {
    Value by_real = absolute(z.imag) <= absolute(z.real);
    Value large = where(by_real, z.real, z.imag);
    Value small = where(by_real, z.imag, z.real);
    Value ratio = small / large;
    Value divisor = large + small * ratio;
    return {where(by_real, one(large), ratio) / divisor, where(by_real, -ratio, constant(large, "-1.0")) / divisor};
}

/// e^x (cos y + i sin y). Where e^x alone overflows, x is shortened by k = 709 (88) once or twice and the factors
/// follow; an infinite x beside a finite y has special answers, as in C99.
Complex exponential(const Complex& z) {
    const bool is_double = z.real.builder->type(z.real.name).dtype == "float64";
    Value shift = constant(z.real, is_double ? "709.0" : "88.0");
    Value factor = constant(z.real, is_double ? "8.218407461554972e+307" : "1.6516363e+38");
    Value x = z.real;
    Value cosine = call(Op::cos, z.imag);
    Value sine = call(Op::sin, z.imag);
    for (int step = 0; step < 2; ++step) {
        Value steep = x > shift;
        Value by = where(steep, factor, one(x));
        cosine = cosine * by;
        sine = sine * by;
        x = where(steep, x - shift, x);
    }
    Value size = call(Op::exp, x);
    Value flat = z.imag == zero(z.imag);
    Complex regular{size * cosine, where(flat, z.imag, size * sine)};
    Value special = is_inf(z.real) & !call(Op::isfinite, z.imag);
    Value upwards = z.real > zero(z.real);
    Complex at_infinity{
        where(upwards, z.real, zero(z.real)),
        where(upwards, constant(z.imag, "nan"), z.real.builder->apply(Op::copysign, {zero(z.imag), z.imag}))};
    return where(special, at_infinity, regular);
}

/// Algorithm 312 of the CACM, scaled where halves are so large that their sum overflows or so small that squares
/// vanish.
Complex square_root(const Complex& z) {
    const bool is_double = z.real.builder->type(z.real.name).dtype == "float64";
    Value large = constant(z.real, is_double ? "4e+307" : "8e+37");
    Value small = constant(z.real, is_double ? "8.9e-308" : "4.7e-38");
    Value size_real = absolute(z.real);
    Value size_imag = absolute(z.imag);
    Value is_large = (size_real >= large) | (size_imag >= large);
    Value is_small = (size_real < small) & (size_imag < small);
    // Powers of four, so that the root is scaled by powers of two.
    Value up = constant(z.real, is_double ? "1.8014398509481984e+16" : "16777216.0");         // 2^54, 2^24
    Value root_up = constant(z.real, is_double ? "7.450580596923828e-09" : "0.000244140625"); // 2^-27, 2^-12
    Value by = where(is_large, constant(z.real, "0.25"), where(is_small, up, one(z.real)));
    Value back = where(is_large, constant(z.real, "2.0"), where(is_small, root_up, one(z.real)));
    Value a = size_real * by;
    Value b = size_imag * by;
    Value main = call(Op::sqrt, (a + hypot(a, b)) * constant(a, "0.5"));
    Value side = b / (main + main);
    main = main * back;
    side = side * back;
    Value right = z.real >= zero(z.real);
    auto signed_as = [](const Value& x, const Value& sign) { return x.builder->apply(Op::copysign, {x, sign}); };
    Complex regular{where(right, main, side), signed_as(where(right, side, main), z.imag)};
    // z.imag NaN or 0 beside an infinite z.real, and the other way round, as C99 has them.
    Value nothing = z.imag - z.imag; // 0, or NaN
    Value infinity = constant(z.real, "inf");
    Complex of_right{z.real, signed_as(nothing, z.imag)};
    Complex of_left{absolute(nothing), signed_as(infinity, z.imag)};
    Complex out = where(is_inf(z.real), where(z.real > zero(z.real), of_right, of_left), regular);
    out = where(is_nan(z.real), Complex{constant(z.real, "nan"), constant(z.real, "nan")}, out);
    out = where(is_inf(z.imag), Complex{infinity, z.imag}, out);
    return where(is_zero(z), Complex{zero(z.real), z.imag}, out);
}

Complex sign(const Complex& z) {
    Value size = hypot(z.real, z.imag);
    Value none = zero(size);
    auto unit = [&](const Value& x) { return where(x > none, one(x), constant(x, "-1.0")); };
    Value real_infinite = is_inf(z.real);
    Value imag_infinite = is_inf(z.imag);
    Complex regular{z.real / size, z.imag / size};
    Complex at_infinity = where(real_infinite, Complex{unit(z.real), none}, Complex{none, unit(z.imag)});
    at_infinity = where(real_infinite & imag_infinite, nan(size), at_infinity);
    Complex out = where(is_inf(size), at_infinity, regular);
    out = where(size == none, Complex{none, none}, out);
    return where(is_nan(size), nan(size), out);
}

/// NumPy's CLT, CLE, CGT, CGE: the real halves decide, unless an imaginary half is NaN; equal ones leave it to the
/// imaginary halves.
Value ordered(Op strict, Op last, const Complex& a, const Complex& b) {
    ComplexBuilder& builder = *a.real.builder;
    Value by_real = builder.apply(strict, {a.real, b.real}) & !is_nan(a.imag) & !is_nan(b.imag);
    return by_real | ((a.real == b.real) & builder.apply(last, {a.imag, b.imag}));
}
Value less_equal(const Complex& a, const Complex& b) {
    return ordered(Op::less, Op::less_equal, a, b);
}
Value greater_equal(const Complex& a, const Complex& b) {
    return ordered(Op::greater, Op::greater_equal, a, b);
}
Value has_nan(const Complex& z) {
    return is_nan(z.real) | is_nan(z.imag);
}

using Operands = std::vector<Complex>;

} // namespace

ComplexFormula complex_formula(Op op) {
    static const std::map<Op, ComplexFormula> formulas = {
        {Op::add, [](const Operands& x) { return add(x[0], x[1]); }},
        {Op::subtract, [](const Operands& x) { return subtract(x[0], x[1]); }},
        {Op::multiply, [](const Operands& x) { return multiply(x[0], x[1]); }},
        {Op::divide, [](const Operands& x) { return divide(x[0], x[1]); }},
        {Op::square, [](const Operands& x) { return multiply(x[0], x[0]); }},
        {Op::reciprocal, [](const Operands& x) { return reciprocal(x[0]); }},
        {Op::conjugate, [](const Operands& x) { return conjugate(x[0]); }},
        {Op::exp, [](const Operands& x) { return exponential(x[0]); }},
        {Op::sqrt, [](const Operands& x) { return square_root(x[0]); }},
        {Op::sign, [](const Operands& x) { return sign(x[0]); }},
        {Op::maximum, [](const Operands& x) { return where(has_nan(x[0]) | greater_equal(x[0], x[1]), x[0], x[1]); }},
        {Op::minimum, [](const Operands& x) { return where(has_nan(x[0]) | less_equal(x[0], x[1]), x[0], x[1]); }},
        {Op::fmax, [](const Operands& x) { return where(has_nan(x[1]) | greater_equal(x[0], x[1]), x[0], x[1]); }},
        {Op::fmin, [](const Operands& x) { return where(has_nan(x[1]) | less_equal(x[0], x[1]), x[0], x[1]); }},
    };
    const auto found = formulas.find(op);
    return found == formulas.end() ? nullptr : found->second;
}

ComplexTest complex_test(Op op) {
    static const std::map<Op, ComplexTest> tests = {
        {Op::equal, [](const Operands& x) { return (x[0].real == x[1].real) & (x[0].imag == x[1].imag); }},
        {Op::not_equal, [](const Operands& x) { return (x[0].real != x[1].real) | (x[0].imag != x[1].imag); }},
        {Op::less, [](const Operands& x) { return ordered(Op::less, Op::less, x[0], x[1]); }},
        {Op::less_equal, [](const Operands& x) { return less_equal(x[0], x[1]); }},
        {Op::greater, [](const Operands& x) { return ordered(Op::greater, Op::greater, x[0], x[1]); }},
        {Op::greater_equal, [](const Operands& x) { return greater_equal(x[0], x[1]); }},
        {Op::logical_and, [](const Operands& x) { return truth(x[0]) & truth(x[1]); }},
        {Op::logical_or, [](const Operands& x) { return truth(x[0]) | truth(x[1]); }},
        {Op::logical_xor, [](const Operands& x) { return truth(x[0]) ^ truth(x[1]); }},
        {Op::logical_not, [](const Operands& x) { return !truth(x[0]); }},
        {Op::isnan, [](const Operands& x) { return has_nan(x[0]); }},
        {Op::isinf, [](const Operands& x) { return is_inf(x[0].real) | is_inf(x[0].imag); }},
        {Op::isfinite, [](const Operands& x) { return call(Op::isfinite, x[0].real) & call(Op::isfinite, x[0].imag); }},
    };
    const auto found = tests.find(op);
    return found == tests.end() ? nullptr : found->second;
}

Value truth(const Complex& z) {
    return (z.real != zero(z.real)) | (z.imag != zero(z.imag));
}

Complex integer_power(const Complex& z, int n) {
    ComplexBuilder& builder = *z.real.builder;
    const Complex unit{one(z.real), zero(z.real)};
    if (n == 0) {
        // Of z's shape.
        Value none = builder.make(Op::broadcast_to, {zero(z.real).name}, builder.type(z.real.name));
        return {builder.make(Op::broadcast_to, {unit.real.name}, builder.type(z.real.name)), none};
    }
    const Complex of_zero = n > 0 ? Complex{zero(z.real), zero(z.real)} : nan(z.real);
    Complex out;
    if (n == 1) {
        out = z;
    } else if (n == 2) {
        out = multiply(z, z);
    } else if (n == 3) {
        out = multiply(z, multiply(z, z));
    } else {
        out = unit;
        Complex power = z;
        for (int bits = std::abs(n); bits != 0; bits >>= 1) {
            if ((bits & 1) != 0) out = multiply(out, power);
            if (bits > 1) power = multiply(power, power);
        }
        if (n < 0) out = divide(unit, out);
    }
    return where(is_zero(z), of_zero, out);
}

} // namespace tilewright::translator
