// dsl/apply.h: what a schedule asks of the sizes that its code is called with.
#pragma once

#include <map>

#include "dsl/algorithm.h"
#include "dsl/preconditions.h"
#include "dsl/schedule.h"

namespace tilewright::dsl {

/// The conditions under which a legal schedule's kernels stay inside their arrays, by the kernel's number.
std::map<int, Preconditions> preconditions(const AlgorithmInfo& algorithm, const Schedule& schedule);

} // namespace tilewright::dsl
