// translator/passes/complex_formulas.h: what NumPy computes for complex numbers, in floats.
#pragma once

#include "translator/passes/complex_builder.h"

namespace tilewright::translator {

/// The formula of what gives complex numbers, for the operands of the ufunc; null where it has none here.
using ComplexFormula = Complex (*)(const std::vector<Complex>& operands);
ComplexFormula complex_formula(Op op);

/// The same for what gives truth: comparisons (by the real halves first, NaN as in NumPy), logic, isnan, ...
using ComplexTest = Value (*)(const std::vector<Complex>& operands);
ComplexTest complex_test(Op op);

/// z ** n for a whole exponent of less than 100, as npy_cpow does it.
Complex integer_power(const Complex& z, int n);
/// re != 0 or im != 0; NaN is true.
Value truth(const Complex& z);

} // namespace tilewright::translator
