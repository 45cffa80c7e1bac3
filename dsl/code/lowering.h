// dsl/code/lowering.h: scheduled Funcs to the statement that code generation gets: Halide's lowering, then our passes.
// For emit (and tests/replay) alone.
#pragma once

#include <string>

#include "Halide.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// A target by our name. Kernels have no runtime, no asserts and no bounds queries: the plan's runtime checks arguments
/// and preconditions.
Halide::Target halide_target(const std::string& isa, bool strict);

/// A kernel with all that has to be done to it before it is compiled. Throws ScheduleError for a claim of the schedule
/// that only lowering can refuse.
Halide::Pipeline prepared(const KernelImpl& kernel, const Schedule& schedule, const Halide::Target& target);

struct LoweredStatement {
    Halide::Internal::Stmt statement;
    bool strict = false; ///< some of its arithmetic has to be strict
};

/// Behind our passes, before Halide takes parallel loops and device code apart.
LoweredStatement lower_kernel(const KernelImpl& kernel, const Schedule& schedule, const Halide::Target& target);

/// Each kernel of the group is lowered on its own. Throws ScheduleError for a CUDA target.
LoweredStatement lower_group(const KernelGroup& group, const AlgorithmImpl& impl, const Schedule& schedule,
                             const Halide::Target& target);

} // namespace tilewright::dsl
