// translator/loops/plan_nodes.h: the steps of a program with their kernels, as groups of kernels and the plan's text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/algorithm_impl.h"
#include "translator/loops/steps.h"

namespace tilewright::translator {

struct PlanNode {
    const Step* step = nullptr;
    std::vector<std::string> lines; ///< of a segment: its calls
    std::vector<int> kernels;       ///< of a segment
    bool plan_only = false;         ///< a segment that no kernel can stand for
    std::vector<PlanNode> body, other;
};

/// What grouping needs to know of the translation around it, and what it changes.
struct GroupContext {
    const std::string& function;
    const Stepped& stepped;
    const std::vector<dsl::KernelImpl>& kernels;
    std::vector<dsl::KernelGroup>& groups;
    std::vector<dsl::StageInfo>& stages;
    const TranslateOptions& options;                       ///< with a guess for the symbols of loops
    std::function<Halide::Expr(const Size&)> size;         ///< an expression of the program's sizes
    std::function<std::string(const std::string&)> unique; ///< a name that nothing else has
    std::function<std::string(const std::string&)> symbol; ///< the Param of a loop's index or of a size that is read
};

/// The plan's text of the nodes. Loops around nothing but kernels, copies and sizes that are read become a group.
class PlanText {
  public:
    explicit PlanText(const GroupContext& context) : context_(context) {}

    std::string text(const std::vector<PlanNode>& nodes, const std::string& indent);

  private:
    GroupContext context_;
    std::int64_t trips_in_block_ = 1;

    std::string text(const PlanNode& node, const std::string& indent);
    std::string call_group(const PlanNode& node, const std::string& indent);
    std::string in_blocks(const PlanNode& node, dsl::KernelLoop& loop);
    bool has_group_form(const PlanNode& node) const;
    bool is_flat_copy(const Step& step) const;
    const BufferPlan* buffer(const std::string& name) const;
    std::vector<dsl::KernelStep> group_steps(const std::vector<PlanNode>& nodes);
    dsl::KernelStep group_step(const PlanNode& node);
    dsl::KernelStep loop_step(const PlanNode& node);
    void order_as_wavefront(const PlanNode& node, dsl::KernelStep& rows);
    double operations(const PlanNode& node) const;
    void describe_stages(const PlanNode& node, const dsl::KernelLoop& loop, double trips);
};

} // namespace tilewright::translator
