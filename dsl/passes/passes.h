// dsl/passes/passes.h: all that has to be done to a pipeline before it is lowered.
#pragma once

#include "Halide.h"
#include "dsl/passes/device_extremes.h"
#include "dsl/passes/early_exit.h"
#include "dsl/passes/opaque.h"
#include "dsl/passes/rare_path.h"
#include "dsl/passes/scalar_predicates.h"
#include "dsl/passes/unaligned_outputs.h"
#include "dsl/passes/zero_divisors.h"

namespace tilewright::dsl {

/// For emit() and for code that runs stages through Halide's JIT: call it once, after all directives were applied.
inline void add_passes(Halide::Pipeline& pipeline) {
    add_spelled_out_extremes_pass(pipeline);
    add_opaque_pass(pipeline);
    add_scalar_predicates_pass(pipeline);
    add_rare_path_pass(pipeline); // and protect_tuple_updates
    add_early_exit_pass(pipeline);
    add_unaligned_outputs_pass(pipeline);
    add_zero_divisors_pass(pipeline);
}

} // namespace tilewright::dsl
