// translator/ops/math_hyperbolic.cpp: sinh, cosh, tanh.
#include "translator/ops/math_coefficients.h"
#include "translator/ops/math_families.h"

namespace tilewright::translator::math {

namespace {

/// sinh and cosh are finite up to here.
double largest(const Real& like) {
    return like.is_double() ? 710.4758600739439 : 89.415985107421875;
}

/// e^x / 2: the half keeps it finite as long as sinh and cosh are.
Real half_exponential(const Real& x) {
    ReducedExponential e = reduce_exponential(x, true);
    return scale_exponent(e.high + e.low, e.n - x.word(1));
}

} // namespace

Real sinh(const Real& x) {
    Real size = abs(x);
    Real z = x * x;
    Real small =
        multiply_add(x * z, polynomial_wide(x.is_double() ? coefficients::sinh64 : coefficients::sinh32, z), x);
    Real half = half_exponential(size);
    Real large = flip_sign(half - 0.25 / half, sign_bit(x));
    // Infinity and NaN pass through the multiplication.
    return rare(!(size <= largest(x)), x * kInfinity, select(size < 1.0, small, large));
}

Real cosh(const Real& x) {
    Real size = abs(x);
    Real half = half_exponential(size);
    return rare(!(size <= largest(x)), size * kInfinity, half + 0.25 / half);
}

Real tanh(const Real& x) {
    // Below 0.625 another, odd function, above 1 - 2 / (e^2x + 1). One division serves both in float64, where
    // the small branch is Cephes' rational function. No argument is rare: the size is cut off where tanh is 1.
    Real size = smaller_of(x.constant(x.is_double() ? 22.0 : 10.0), abs(x));
    Expr small = size < 0.625;
    ReducedExponential e = reduce_exponential(2.0 * size, false);
    Real square = (e.high + e.low) * power_of_two(x, e.n);
    Real z = size * size;
    if (!x.is_double()) {
        Real below = multiply_add(size * z, polynomial_wide(coefficients::tanh32, z), size);
        Real above = 1.0 - 2.0 / (square + 1.0);
        return flip_sign(select(small, below, above), sign_bit(x));
    }
    Real p = polynomial({-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1}, z);
    Real q = polynomial({4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0}, z);
    Real ratio = select(small, size * z * p, x.constant(-2.0)) / select(small, q, square + 1.0);
    return flip_sign(select(small, size, x.constant(1.0)) + ratio, sign_bit(x));
}

} // namespace tilewright::translator::math
