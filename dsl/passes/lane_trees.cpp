// dsl/passes/lane_trees.cpp: the tree over the lanes of a sum, in vectors.
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

// Fewer may be what a formula adds of neighbours.
constexpr std::size_t kFewestLanes = 8;
constexpr std::size_t kMostLanes = 128;

const Call* operation(const Expr& value, const std::string& name) {
    const Call* call = value.as<Call>();
    return call != nullptr && call->name == name && call->args.size() == 2 ? call : nullptr;
}

/// Takes the loads that the tree over every `step`th lane from `first` on ends in.
bool take_lanes(const Expr& value, const Call& root, std::size_t first, std::size_t step,
                std::vector<const Load*>& lanes) {
    if (step < lanes.size()) {
        const Call* call = operation(value, root.name);
        return call != nullptr && take_lanes(call->args[0], root, first, 2 * step, lanes) &&
               take_lanes(call->args[1], root, first + step, 2 * step, lanes);
    }
    const Load* load = value.as<Load>();
    lanes[first] = load;
    return load != nullptr && load->type == root.type && load->name == lanes[0]->name && is_const_one(load->predicate);
}

/// The lanes of a tree, which lie side by side; none where it is no such tree.
std::vector<const Load*> lanes_of(const Call& root) {
    std::size_t count = 1;
    const Expr tree = &root;
    for (const Call* inner = &root; inner != nullptr && count <= kMostLanes; count *= 2)
        inner = operation(inner->args[0], root.name);
    std::vector<const Load*> lanes(count);
    if (count < kFewestLanes || count > kMostLanes || !take_lanes(tree, root, 0, 1, lanes)) return {};
    for (std::size_t k = 1; k < count; ++k) {
        const auto distance = as_const_int(simplify(lanes[k]->index - lanes[0]->index));
        if (!distance || *distance != static_cast<std::int64_t>(k)) return {};
    }
    return lanes;
}

} // namespace

Stmt add_lanes_in_vectors(const Stmt& statement) {
    return mutate_with(statement, [](Mutator& self, const Call* op) -> Expr {
        if (!(op->is_intrinsic(Call::strict_add) || op->is_intrinsic(Call::strict_mul)) || !op->type.is_scalar())
            return self.inside(op);
        const std::vector<const Load*> lanes = lanes_of(*op);
        if (lanes.empty()) return self.inside(op);
        const int count = static_cast<int>(lanes.size());
        const Load& first = *lanes[0];
        Expr sum = Load::make(op->type.with_lanes(count), first.name, Ramp::make(first.index, 1, count), first.image,
                              first.param, const_true(count), ModulusRemainder());
        // Each half is read twice: without names, code generation would write all that is below it twice, for each
        // level anew.
        std::vector<std::pair<std::string, Expr>> named;
        for (int half = count / 2; half >= 1; half /= 2) {
            const bool last = half == 1;
            const Expr both = Variable::make(sum.type(), unique_name("tw_lanes"));
            named.emplace_back(both.as<Variable>()->name, sum);
            const Expr low = last ? Shuffle::make_extract_element(both, 0) : Shuffle::make_slice(both, 0, 1, half);
            const Expr high = last ? Shuffle::make_extract_element(both, 1) : Shuffle::make_slice(both, half, 1, half);
            sum = Call::make(op->type.with_lanes(half), op->name, {low, high}, op->call_type);
        }
        for (auto name = named.rbegin(); name != named.rend(); ++name)
            sum = Let::make(name->first, name->second, sum);
        return sum;
    });
}

} // namespace tilewright::dsl
