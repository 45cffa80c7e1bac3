// dsl/passes/placed_outputs.h: outputs that are part of a buffer.
#pragma once

#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// Stores to these outputs go to their place in the buffer. Where the kernel reads the buffer as well, stores go
/// through the name that it is read by: the compiler takes memory of two names for two memories.
void add_placed_outputs_pass(Halide::Pipeline& pipeline, const std::vector<PlacedOutput>& outputs);

} // namespace tilewright::dsl
