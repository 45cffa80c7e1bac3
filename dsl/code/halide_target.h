// dsl/code/halide_target.h: our target names as Halide's.
#pragma once

#include <string>

#include "Halide.h"

namespace tilewright::dsl {

/// Kernels have no runtime, no asserts and no bounds queries: the plan's runtime checks arguments and preconditions.
Halide::Target halide_target(const std::string& isa, bool strict);

} // namespace tilewright::dsl
