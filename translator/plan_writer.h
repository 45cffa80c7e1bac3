// translator/plan_writer.h: the plan's text (dsl/runtime/plan_text.md) of a translation.
#pragma once

#include <string>
#include <vector>

#include "dsl/algorithm_impl.h"
#include "translator/analysis.h"

namespace tilewright::translator {

/// Arguments, guards, results and what is returned.
std::string plan_header(const Program& program, const Analysis& analysis);
/// Requirements of the translation, temporaries, library calls and kernels in the order they run.
std::string plan_body(const Program& program, const Analysis& analysis, const std::vector<dsl::KernelImpl>& kernels);

} // namespace tilewright::translator
