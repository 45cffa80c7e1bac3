// dsl/passes/alive_markers.cpp: finds markers, and says their conditions in terms of what is known in front of them.
#include "dsl/passes/alive_markers.h"

#include <map>
#include <string>
#include <utility>

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Puts the values of lets in their places. What is shared stays shared.
class PutLetsIn : public IRGraphMutator {
  public:
    explicit PutLetsIn(std::map<std::string, Expr> values) : values_(std::move(values)) {}

  private:
    using IRGraphMutator::visit;
    const std::map<std::string, Expr> values_;
    Expr visit(const Variable* op) override {
        const auto found = values_.find(op->name);
        return found == values_.end() ? Expr(op) : found->second;
    }
    Expr visit(const Call* op) override {
        return is_marker(op, kAliveMarker) ? mutate(op->args[0]) : IRGraphMutator::visit(op);
    }
};

} // namespace

Expr any_lane(const Expr& condition) {
    return condition.type().is_scalar() ? condition : VectorReduce::make(VectorReduce::Or, condition, 1);
}

Outside outside(const AliveMarkers::Marker& marker) {
    std::vector<Expr> branches;
    Expr condition = marker.condition;
    Expr iteration = marker.iteration;
    std::map<std::string, Expr> values;
    for (const auto& [name, value] : marker.around) {
        // A mutator remembers what it has seen, so each new binding needs a fresh one.
        const Expr here = PutLetsIn(values).mutate(value);
        if (name.empty())
            branches.push_back(here);
        else
            values[name] = here;
    }
    PutLetsIn put(std::move(values));
    condition = any_lane(put.mutate(condition));
    // What a branch keeps from running may not be read either: a real branch again.
    for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch)
        condition =
            Call::make(Bool(), Call::if_then_else, {any_lane(*branch), condition, const_false()}, Call::PureIntrinsic);
    iteration = put.mutate(iteration);
    if (const Broadcast* wide = iteration.as<Broadcast>()) iteration = wide->value;
    return {condition, simplify(iteration)};
}

} // namespace tilewright::dsl
