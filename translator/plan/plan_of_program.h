// translator/plan/plan_of_program.h: what the plan of a translation (dsl/runtime/plan.h) has from its program, and the
// calls of its kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dsl/model/algorithm_impl.h"
#include "dsl/runtime/plan.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {

/// Arguments, guards, and the names of what is returned. Its one version requires `conditions`, and layouts as the
/// options have them; it has no steps.
runtime::Plan plan_of_program(const Program& program, const TranslateOptions& options,
                              const std::vector<std::string>& conditions, const std::vector<std::string>& returned);
/// The plan of a program without steps: its results, temporaries and calls too.
runtime::Plan plan_of_kernels(const Program& program, const TranslateOptions& options, const Analysis& analysis,
                              const std::vector<dsl::KernelImpl>& kernels);

/// Guards in front of the others for the equalities that the program says by its arguments' types: means.1 is X.1.
void guard_types(runtime::Plan& plan, const Program& program);

runtime::PlanBuffer plan_buffer(const std::string& name, const Type& type);
/// The step with which a new temporary of the version begins.
runtime::PlanStep add_temporary(runtime::PlanVersionBody& version, runtime::PlanBuffer buffer);
/// A kernel, or a group of them, by its C symbol.
runtime::PlanStep plan_call(const std::string& symbol, const std::vector<std::string>& arguments);
/// The library calls and kernels of one analysis, in the order in which they run.
std::vector<runtime::PlanStep> plan_calls(const Analysis& analysis, std::span<const dsl::KernelImpl> kernels);

} // namespace tilewright::translator
