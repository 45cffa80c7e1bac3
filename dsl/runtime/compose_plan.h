// dsl/runtime/compose_plan.h: versions that were compiled one by one, as one plan.
#pragma once

#include <string>
#include <vector>

#include "dsl/runtime/plan.h"

namespace tilewright::runtime {

/// A version as one of several: `label` is for people ("x86-64-v4, tuned"), `in "K"` becomes `in "K.SUFFIX"`, and
/// `requirements` come before its own; each stands once.
PlanVersionBody under_terms(PlanVersionBody version, const std::string& label, const std::string& object_suffix,
                            const std::vector<PlanRequirement>& requirements);

} // namespace tilewright::runtime
