// dsl/passes/device_extremes.h: maxima and minima in which NaN wins, as one instruction of a CUDA device.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// The larger, or the smaller, of two float32: NaN where either is, 0.0 above -0.0, so that the order of many does not
/// matter. A marker, which a pass below has to lower.
Halide::Expr device_extreme(bool largest, const Halide::Expr& a, const Halide::Expr& b);

/// Makes a pipeline take max.NaN.f32 and min.NaN.f32: for devices of compute capability 8.0 and later, before
/// add_passes() of passes/passes.h.
void add_device_extremes_pass(Halide::Pipeline& pipeline);

/// The same values by comparisons and bits, on any target: what is left of the markers in add_passes().
void add_spelled_out_extremes_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
