// translator/passes/complex_formulas.h: what NumPy computes for complex numbers, in floats.
#pragma once

#include "translator/passes/complex_builder.h"

namespace tilewright::translator {

/// Whether it has a formula here, for complex operands of the same kind that give complex numbers.
bool has_complex_formula(Op op);
/// Requires has_complex_formula(op) and the operands of the ufunc.
Complex complex_formula(Op op, const std::vector<Complex>& operands);

/// The same for what gives truth: comparisons (by the real halves first, NaN as in NumPy), logic, isnan, ...
bool has_complex_test(Op op);
Value complex_test(Op op, const std::vector<Complex>& operands);

/// z ** n for a whole exponent of less than 100, as npy_cpow does it.
Complex integer_power(const Complex& z, int n);
/// re != 0 or im != 0; NaN is true.
Value truth(const Complex& z);

} // namespace tilewright::translator
