// dsl/passes/kernel_groups.h: the statements of several kernels, and loops of the program around them, as one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// The kernels of a group by their numbers, in the order in which they stand in the steps.
std::vector<int> kernels_of(const std::vector<runtime::PlanStep>& steps, const std::vector<KernelImpl>& kernels);

/// One statement out of the lowered statements of a group's kernels. Memory goes by one name throughout: the compiler
/// takes two names for two memories. What no iteration of a loop changes is outside of it.
Halide::Internal::Stmt compose_group(const KernelGroup& group, const AlgorithmImpl& impl,
                                     const std::map<int, Halide::Internal::Stmt>& statements);

} // namespace tilewright::dsl
