// dsl/passes/device_extremes.h: maxima and minima in which NaN wins, as one instruction of a CUDA device.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// The larger, or the smaller, of two float32: NaN where either is, 0.0 above -0.0, so that the order of many does not
/// matter. A marker, which a pass below has to lower.
Halide::Expr device_extreme(bool largest, const Halide::Expr& a, const Halide::Expr& b);

/// What becomes of the markers: max.NaN.f32 and min.NaN.f32 of devices of compute capability 8.0 and later, or the same
/// values by comparisons and bits, on any target.
Halide::Internal::Stmt lower_device_extremes(const Halide::Internal::Stmt& statement, bool as_instructions);

} // namespace tilewright::dsl
