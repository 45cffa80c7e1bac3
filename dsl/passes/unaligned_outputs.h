// dsl/passes/unaligned_outputs.h: no assumption about where the caller's arrays begin.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide knows that outputs may begin anywhere when it stores to them, but takes loads from an output (an update, or a
/// stage that reads it) for loads from its own, aligned memory. On arrays of NumPy, aligned to 16 bytes, that faults.
/// This makes a pipeline forget what it knows about the alignment of such loads.
void add_unaligned_outputs_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
