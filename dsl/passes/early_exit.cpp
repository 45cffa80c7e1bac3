// dsl/passes/early_exit.cpp: the lowering pass that turns markers of living elements into tests around visits.
#include "dsl/passes/early_exit.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/alive_markers.h"
#include "dsl/passes/nested_iterations.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// Visits of one block: enough to make the test before it free, few enough to leave a long loop early.
constexpr int kVisitsOfBlock = 32;

/// Whether anything in the body is alive before it runs; undefined where that cannot be asked there.
Expr alive_before(const Stmt& body) {
    AliveMarkers collect;
    body.accept(&collect);
    if (collect.markers.empty() || collect.stored_before || collect.in_loop) return Expr();
    std::vector<Outside> all;
    for (const AliveMarkers::Marker& marker : collect.markers)
        all.push_back(outside(marker));
    std::vector<Expr> terms;
    for (const Outside& one : all) {
        // The condition reads the state alone, so any iteration's marker could be asked: those of later iterations of
        // the same visit say the same again.
        const bool later =
            one.iteration.type() == all[0].iteration.type() && can_prove(one.iteration > all[0].iteration);
        bool known = later;
        for (const Expr& term : terms)
            known = known || graph_equal(term, one.condition);
        if (!known) terms.push_back(one.condition);
    }
    Expr alive = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k)
        alive = alive || terms[k];
    const std::set<std::string> loaded = loaded_names(alive);
    for (const std::string& name : collect.allocations) {
        if (loaded.count(name) != 0) return Expr();
    }
    return common_subexpression_elimination(alive);
}

/// The innermost serial loop with markers, with its tests.
Stmt with_exits(const For* op, bool in_thread) {
    const Expr alive = alive_before(op->body);
    Stmt body = in_thread ? nested_iterations(op->body) : Stmt();
    const bool is_nested = body.defined();
    if (!is_nested) body = without_marker(op->body, kAliveMarker);
    auto loop = [&](const std::string& name, const Expr& min, const Expr& extent, const Stmt& inside) {
        return For::make(name, min, extent, op->for_type, op->partition_policy, op->device_api, inside);
    };
    if (!alive.defined()) return loop(op->name, op->min, op->extent, body);
    const Stmt tested = is_nested ? body : IfThenElse::make(alive, body);
    const auto count = as_const_int(op->extent);
    if ((count && *count <= kVisitsOfBlock) || expr_uses_var(alive, op->name))
        return loop(op->name, op->min, op->extent, tested);
    // for s in blocks of 32 * 32 visits { for b in blocks of 32 { for t in visits } }. The first block of each is
    // entered unasked: the test before its first visit comes right away.
    Expr begin = op->min;
    Expr left = op->extent;
    std::vector<std::pair<std::string, Expr>> levels;
    for (const int visits : {kVisitsOfBlock * kVisitsOfBlock, kVisitsOfBlock}) {
        const std::string name = op->name + ".block" + std::to_string(visits);
        const Expr number = Variable::make(Int(32), name);
        levels.emplace_back(name, (left - 1) / visits + 1);
        begin = begin + number * visits;
        left = min(Expr(visits), left - number * visits);
    }
    Stmt inside = loop(op->name, begin, left, tested);
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
        const Expr first = Variable::make(Int(32), level->first) == 0;
        const Expr enter = Call::make(Bool(), Call::if_then_else, {first, const_true(), alive}, Call::PureIntrinsic);
        inside = loop(level->first, 0, level->second, IfThenElse::make(enter, inside));
    }
    return inside;
}

} // namespace

Expr mark_alive(const Expr& condition, const Expr& iteration) {
    return marked(kAliveMarker, condition.type(), {condition, iteration});
}

Stmt exit_early(const Stmt& statement) {
    bool in_thread = false;
    return mutate_with(
        statement,
        [&](Mutator& self, const For* op) {
            const ScopedValue<bool> thread(in_thread, in_thread || is_over_threads(op));
            const bool is_innermost = op->for_type == ForType::Serial && has_alive_marker(op->body) &&
                                      !contains(op->body, [](const For* inner) {
                                          return inner->for_type == ForType::Serial && has_alive_marker(inner->body);
                                      });
            if (!is_innermost) return self.inside(op);
            const Expr choice = in_thread ? unchanging_choice(op) : Expr();
            if (!choice.defined()) return with_exits(op, in_thread);
            return IfThenElse::make(choice, self.mutate(chosen(op, choice, true)),
                                    self.mutate(chosen(op, choice, false)));
        },
        [](Mutator& self, const Call* op) {
            return is_marker(op, kAliveMarker) ? self.mutate(op->args[0]) : self.inside(op);
        });
}

} // namespace tilewright::dsl
