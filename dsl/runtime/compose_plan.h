// dsl/runtime/compose_plan.h: puts the parts of a plan's text together.
#pragma once

#include <string>
#include <vector>

namespace tilewright::runtime {

/// One version of a plan: which kernels, under which conditions.
struct PlanVersion {
    std::string label;                  ///< for people: "x86-64-v4, tuned"
    std::string object_suffix;          ///< `in "K"` becomes `in "K.SUFFIX"`
    std::vector<std::string> requires_; ///< "isa x86-64-v4", "layout X C", "X.0 >= 65536"
    std::string body;                   ///< Emitted::plan_body
};

/// The whole text: header, then each version in order (the first that may run is taken).
std::string compose_plan(const std::string& header, const std::vector<PlanVersion>& versions);

} // namespace tilewright::runtime
