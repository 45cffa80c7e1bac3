// autotune/space/default_space.h: the search's whole choice for an algorithm, and the schedule that runs without a
// search.
#pragma once

#include "autotune/machine.h"
#include "autotune/space/root_rule.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// Every schedule worth trying for the stages of one variant, as a space whose text a person can read, narrow and hand
/// back. The first option of each decision is the default. Rules, in the order in which they run: default_space.cpp.
dsl::Schedule default_space(const dsl::AlgorithmInfo& info, const Machine& machine, Widths widths = Widths::of_call);

/// The first point of default_space(): what a call without tuning runs.
dsl::Schedule default_schedule(const dsl::AlgorithmInfo& info, const Machine& machine, Widths widths = Widths::of_call);

} // namespace tilewright::autotune
