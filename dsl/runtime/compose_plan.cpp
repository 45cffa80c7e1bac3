// dsl/runtime/compose_plan.cpp: names of objects, and requirements that stand once.
#include "dsl/runtime/compose_plan.h"

#include <algorithm>
#include <utility>

namespace tilewright::runtime {

PlanVersionBody under_terms(PlanVersionBody version, const std::string& label, const std::string& object_suffix,
                            const std::vector<PlanRequirement>& requirements) {
    const std::vector<PlanRequirement> own = std::exchange(version.requirements, {});
    for (const auto* asked : {&requirements, &own})
        for (const PlanRequirement& each : *asked)
            if (std::ranges::find(version.requirements, each) == version.requirements.end())
                version.requirements.push_back(each);
    version.label = label;
    for_each_step(version.steps, [&](PlanStep& step) {
        if (step.kind == StepKind::call && !object_suffix.empty()) step.object += "." + object_suffix;
    });
    return version;
}

} // namespace tilewright::runtime
