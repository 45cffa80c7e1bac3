// translator/plan/groups.h: which loops and branches of a plan become one function with their kernels.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dsl/model/algorithm_impl.h"
#include "translator/ir/fresh_names.h"
#include "translator/plan/steps.h"

namespace tilewright::translator {

/// What grouping needs to know of the translation around it, and what it changes.
struct GroupContext {
    const Stepped& stepped;
    const std::vector<dsl::KernelImpl>& kernels;
    std::vector<dsl::KernelGroup>& groups;
    std::vector<dsl::StageInfo>& stages;
    const TranslateOptions& options;   ///< with a guess for the symbols of loops
    FreshNames& names;                 ///< of stages, buffers and sizes
    const std::set<std::string>& kept; ///< memory of stages between kernels of one segment, the same in each iteration
    std::function<std::string(const std::string&)> symbol; ///< the Param of a loop's index or of a size
};

class Groups {
  public:
    explicit Groups(GroupContext context) : context_(std::move(context)) {}

    /// Whether one function may do what `planned` says, the plan of `step`, which is no call; what its blocks hold may.
    /// Such a loop, branch or copy learns how (PlanStep::in_group).
    bool admit(const Step& step, runtime::PlanStep& planned);
    /// Calls in place of the outermost loops that are admitted and hold kernels, and of branches with what is around
    /// them, where all of that takes no time.
    void form(std::vector<runtime::PlanStep>& steps);

  private:
    GroupContext context_;

    runtime::PlanStep call_group(std::vector<runtime::PlanStep> steps);
    std::size_t brief_run(std::span<const runtime::PlanStep> steps) const;
    bool is_brief(const runtime::PlanStep& step) const;
    std::string cut_into_blocks(runtime::PlanStep& loop, std::int64_t& iterations_in_block);
    bool is_flat_copy(const Step& step) const;
    std::int64_t iterations_here(const runtime::PlanStep& loop) const;
    std::vector<std::string> own_numbers(const Step& loop) const;
    runtime::InGroup order_of_unbounded(const Step& step, const runtime::PlanStep& loop) const;
    runtime::InGroup order_of(const Step& step, runtime::PlanStep& loop);
    void order_as_wavefront(const Wavefront& wavefront, runtime::InGroup& order, runtime::PlanStep& rows);
    bool keeps_stages(const runtime::PlanStep& loop) const;
    double operations(const runtime::PlanStep& step) const;
    void describe_stages(const Step& step, const runtime::PlanStep& loop, const runtime::InGroup& order);
};

} // namespace tilewright::translator
