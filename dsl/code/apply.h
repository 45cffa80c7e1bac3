// dsl/code/apply.h: what a schedule asks of the sizes that its code is called with.
#pragma once

#include <map>

#include "dsl/check/preconditions.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

/// The conditions under which a legal schedule's kernels stay inside their arrays, by the kernel's number.
std::map<int, Preconditions> preconditions(const AlgorithmInfo& algorithm, const Schedule& schedule);

} // namespace tilewright::dsl
