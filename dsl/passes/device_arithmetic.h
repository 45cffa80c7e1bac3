// dsl/passes/device_arithmetic.h: floating point on a CUDA device as on the CPU.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide tells code generation for devices to contract a product and a sum into one operation, strict_float or not,
/// and takes some functions from a library that flushes subnormal numbers. This makes a statement turn, in loops over
/// blocks,
///   a * b, a / b   ->   mul.rn(a, b), div.rn(a, b), which are no product that a sum could be contracted with
///   abs, is_inf, is_finite, fmod   ->   the same in terms of bits, or of float64, exact for subnormal numbers, -0.0,
///   NaN
/// Sums, square roots, comparisons, min, max and conversions are exact as they are.
Halide::Internal::Stmt exact_device_arithmetic(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
