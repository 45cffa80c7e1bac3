// translator/passes/split_complex.h: complex numbers as pairs of floats.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// Every complex value becomes two floats of half its width: Z -> Z_real, Z_imag.
///   C: complex128[n] = multiply(A, B)   ->   C_real: float64[n] = subtract(%1, %2)   C_imag: float64[n] = add(%3, %4)
/// What stays complex: arguments, which `real` and `imag` read as views of every other element; results and written
/// values, which `complex(C_real, C_imag)` at the end of the program puts together. Formulas are NumPy's own without
/// contraction; `absolute(z) < h` for a single h becomes `magnitude_less(z_real, z_imag, h)`, which takes no root.
/// A program without complex numbers comes back as it is. Requires a verified program, and gives one.
/// Throws TranslateError for operations that have no formula here, with their source line.
Program split_complex(const Program& program);

} // namespace tilewright::translator
