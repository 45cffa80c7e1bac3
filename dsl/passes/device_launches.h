// dsl/passes/device_launches.h: the host's part of a kernel for a CUDA device.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// All arrays of such a kernel lie on the device. This takes Halide's copies to it out, makes a kernel return the error
/// of an allocation that failed, and leaves nothing of device memory to be looked at by the host.
/// Throws ScheduleError where a stage runs on the host, where a block has more threads than CUDA allows, or a number of
/// them that is not constant, and where it needs more memory of its own than there is.
Halide::Internal::Stmt device_launches(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
