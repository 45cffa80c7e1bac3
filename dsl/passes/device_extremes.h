// dsl/passes/device_extremes.h: maxima and minima in which NaN wins, as one instruction of a CUDA device.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// The larger, or the smaller, of two float32: NaN where either is, 0.0 above -0.0, so that the order of many does not
/// matter. For code on CUDA devices alone: max.NaN.f32 and min.NaN.f32 from compute capability 8.0 on.
Halide::Expr device_extreme(bool largest, const Halide::Expr& a, const Halide::Expr& b);

/// The same values for devices below 8.0, which lack the instructions.
Halide::Internal::Stmt spell_out_device_extremes(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
