// dsl/passes/unaligned_outputs.h: no assumption about where the caller's arrays and single elements begin.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide knows that outputs may begin anywhere when it stores to them, but takes loads from an output (an update, or a
/// stage that reads it) for loads from its own, aligned memory. On arrays of NumPy, aligned to 16 bytes, that faults.
/// An allocation of one element is a plain variable on the stack, but vectors of which only that element is used still
/// load and store it as aligned memory, which faults too.
/// This makes a pipeline forget what it knows about the alignment of both.
void add_unaligned_outputs_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
