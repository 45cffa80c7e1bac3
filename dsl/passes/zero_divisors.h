// dsl/passes/zero_divisors.h: float division by a zero that lowering worked out.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide refuses to generate code for a float divided by a constant zero, also where the constant is what its own
/// simplification made of an expression (x - x of integers). Here that is an infinity or NaN as for everyone: this
/// makes a pipeline turn
///   a / 0.0   ->   a / reinterpret(float, bits of 0.0)
void add_zero_divisors_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
