// dsl/passes/kernel_loops.h: serial loops of a program around a kernel's whole statement.
#pragma once

#include <vector>

#include "Halide.h"
#include "dsl/algorithm_impl.h"

namespace tilewright::dsl {

/// Runs the kernel once for each trip of the loops, outermost first, instead of once for each call: a call from the
/// plan costs more than a short kernel.
void add_kernel_loops_pass(Halide::Pipeline& pipeline, const std::vector<KernelLoop>& loops);

} // namespace tilewright::dsl
