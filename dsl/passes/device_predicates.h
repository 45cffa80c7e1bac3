// dsl/passes/device_predicates.h: masked vectors on a CUDA device.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Devices have no masked vector loads and stores, and masked ones of memory that a block shares end in an assertion of
/// LLVM's. This turns, in loops over blocks,
///   x[ramp] if (mask), x[ramp] = v if (mask)   ->   for each element: if (mask) load or store
Halide::Internal::Stmt branch_device_predicates(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
