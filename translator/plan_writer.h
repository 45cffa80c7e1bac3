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
std::string plan_body(const Program& program, const TranslateOptions& options, const Analysis& analysis,
                      const std::vector<dsl::KernelImpl>& kernels);

/// The lines of the library calls and kernels of one analysis alone.
std::vector<std::string> plan_calls(const Analysis& analysis, const std::vector<dsl::KernelImpl>& kernels);
/// The line that calls a kernel, or a group of them, by its C symbol.
std::string plan_call(const std::string& symbol, const std::vector<std::string>& arguments);
/// "t0 float64 [X.0]" and the end of the line.
std::string typed_name(const std::string& name, const Type& type);
/// The first lines of a plan: arguments and guards.
std::string plan_opening(const Program& program);
std::string return_line(const Program& program, const std::vector<std::string>& returned);
/// How the arguments have to lie.
std::string layout_requirements(const Program& program, const TranslateOptions& options);

} // namespace tilewright::translator
