// dsl/check/check.h: whether a schedule is legal for an algorithm, without compiling and without Halide.
#pragma once

#include <map>
#include <vector>

#include "dsl/check/preconditions.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

/// Every violation, in textual order; empty when legal. What it accepts Halide accepts; what only
/// lowering can find is left to emit().
std::vector<Violation> check(const AlgorithmInfo& algorithm, const Schedule& schedule);

/// The conditions under which a legal schedule's kernels stay inside their arrays, by the kernel's number.
std::map<int, Preconditions> preconditions(const AlgorithmInfo& algorithm, const Schedule& schedule);

} // namespace tilewright::dsl
