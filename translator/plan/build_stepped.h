// translator/plan/build_stepped.h: programs with loops, branches or writes as kernels and the plan around them.
#pragma once

#include <vector>

#include "dsl/model/algorithm.h"
#include "translator/passes/passes.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Requires Prepared.in_steps. Throws TranslateError for what has no translation.
dsl::Algorithm build_stepped(const Prepared& prepared, const TranslateOptions& options);
/// The structural choices of all its segments.
std::vector<VariantInfo> stepped_variants(const Prepared& prepared, const TranslateOptions& options);

} // namespace tilewright::translator
