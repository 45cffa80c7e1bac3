// dsl/passes/device_choices.cpp: choices that Halide must not ask for outside of a device's kernels.
#include <set>
#include <string>

#include "dsl/passes/markers.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using Halide::Expr;
using namespace Halide::Internal;

namespace {

void add_stages(const Expr& code, std::set<std::string>& names) {
    for_each_node<GraphVisitor>(code, [&](const Call* call) {
        if (call->call_type == Call::Halide) names.insert(call->name);
    });
}

/// Whether memory says it, the same for all elements.
bool is_one_read(const Expr& condition, const std::set<std::string>& fixed) {
    bool reads = false, moves = false;
    for_each_node<GraphVisitor>(
        condition,
        [&](const Call* call) { reads |= call->call_type == Call::Halide || call->call_type == Call::Image; },
        [&](const Variable* variable) { moves |= !variable->param.defined() && fixed.count(variable->name) == 0; });
    return reads && !moves;
}

/// Whether a stage is read on one side alone.
bool may_skip_a_stage(const Select* choice) {
    std::set<std::string> names;
    add_stages(choice->condition, names);
    const std::size_t always = names.size();
    add_stages(choice->true_value, names);
    add_stages(choice->false_value, names);
    return names.size() > always;
}

} // namespace

Expr chosen_in_kernel(const Expr& value, const std::set<std::string>& fixed) {
    return mutate_with<GraphMutator>(value, [&](GraphMutator& self, const Select* op) {
        if (!is_one_read(op->condition, fixed) || !may_skip_a_stage(op)) return self.inside(op);
        const Expr asked_inside = Call::make(op->condition.type(), kInKernelMarker, {op->condition}, Call::Intrinsic);
        return Select::make(asked_inside, self.mutate(op->true_value), self.mutate(op->false_value));
    });
}

} // namespace tilewright::dsl
