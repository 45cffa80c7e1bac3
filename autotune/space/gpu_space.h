// autotune/space/gpu_space.h: the default space of a CUDA target.
#pragma once

#include "autotune/machine.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// As default_space(), for a machine with a device. Every stage that is stored runs in blocks and threads; threads that
/// are neighbours touch neighbours in memory. All tails are guarded, so that one schedule serves all sizes.
dsl::Schedule gpu_space(const dsl::AlgorithmInfo& info, const Machine& machine);

} // namespace tilewright::autotune
