// translator/ops/math_families.h: the elementary functions by family; math.cpp lists them under NumPy's names.
#pragma once

#include "translator/ops/math_real.h"

namespace tilewright::translator::math {

/// e^t = p * 2^n for the reduced argument; p = high + low is in [0.7, 1.42], n sits in the low bits of a word.
struct ReducedExponential {
    Real high;
    Real low;
    Expr n;
};
/// Requires |x| < 2^20. With `exact_tail` high + low has half an ULP less error than high alone.
ReducedExponential reduce_exponential(const Real& x, bool exact_tail);
/// e^(t + tail) = high + low for |t| <= ln(2) / 2.
struct Tailed {
    Real high;
    Real low;
};
Tailed exponential_of_reduced(const Real& t, const Real& tail);

// math_exponential.cpp
Real exp(const Real& x);
Real exp2(const Real& x);
Real expm1(const Real& x);
// math_logarithm.cpp
Real log(const Real& x);
Real log2(const Real& x);
Real log10(const Real& x);
Real log1p(const Real& x);
// math_trigonometric.cpp
Real sin(const Real& x);
Real cos(const Real& x);
Real tan(const Real& x);
// math_inverse_trigonometric.cpp
Real arcsin(const Real& x);
Real arccos(const Real& x);
Real arctan(const Real& x);
Real arctan2(const Real& y, const Real& x);
// math_hyperbolic.cpp
Real sinh(const Real& x);
Real cosh(const Real& x);
Real tanh(const Real& x);
// math_power.cpp
Real power(const Real& x, const Real& y);
Real cbrt(const Real& x);
Real hypot(const Real& x, const Real& y);

} // namespace tilewright::translator::math
