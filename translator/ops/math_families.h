// translator/ops/math_families.h: the elementary functions of operations.def, by family.
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

/// Real name(const Real&) or Real name(const Real&, const Real&), in the files of their families.
template <int operands> struct Signature;
template <> struct Signature<1> { using type = Real(const Real& x); };
template <> struct Signature<2> { using type = Real(const Real& x, const Real& y); };
#define ELEMENTARY(name, operands, ...) Signature<operands>::type name;
#include "translator/ir/operations.def"
Real power(const Real& x, const Real& y);

} // namespace tilewright::translator::math
