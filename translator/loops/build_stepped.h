// translator/loops/build_stepped.h: programs with loops, branches or writes as kernels and the plan around them.
#pragma once

#include <vector>

#include "dsl/algorithm.h"
#include "translator/loops/column_copies.h"
#include "translator/loops/steps.h"
#include "translator/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// A program as it is cut: after the rewrites that only what stays in steps gets. The steps point into it.
struct PreparedSteps {
    PreparedSteps(const Program& program, const TranslateOptions& options);
    PreparedSteps(const PreparedSteps&) = delete;
    PreparedSteps& operator=(const PreparedSteps&) = delete;
    const ColumnCopies columns;
    const Stepped stepped;
};

/// Requires a verified program for which needs_steps() holds. Throws TranslateError for what has no translation.
dsl::Algorithm build_stepped(const Program& program, const TranslateOptions& options);
/// The structural choices of all its segments.
std::vector<VariantInfo> stepped_variants(const Program& program, const TranslateOptions& options);

} // namespace tilewright::translator
