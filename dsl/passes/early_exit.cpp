// dsl/passes/early_exit.cpp: the lowering pass that turns markers of living elements into tests around visits.
#include "dsl/passes/early_exit.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/alive_markers.h"
#include "dsl/passes/loaded_names.h"
#include "dsl/passes/nested_iterations.h"
#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

/// Visits of one block: enough to make the test before it free, few enough to leave a long loop early.
constexpr int kVisitsOfBlock = 32;

/// Whether a serial loop with markers stands inside: then that one is the innermost.
class FindSerialLoop : public IRVisitor {
  public:
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const For* op) override {
        found = found || (op->for_type == ForType::Serial && has_alive_marker(op->body));
        IRVisitor::visit(op);
    }
};

class Unmark : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override { return is_alive_marker(op) ? mutate(op->args[0]) : IRMutator::visit(op); }
};

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

class EarlyExit : public IRMutator {
    using IRMutator::visit;
    bool in_thread_ = false;

    Stmt visit(const For* op) override {
        const bool is_thread = op->for_type == ForType::GPUThread || op->for_type == ForType::GPULane;
        const ScopedValue<bool> thread(in_thread_, in_thread_ || is_thread);
        if (op->for_type != ForType::Serial || !has_alive_marker(op->body)) return IRMutator::visit(op);
        FindSerialLoop inner;
        op->body.accept(&inner);
        if (inner.found) return IRMutator::visit(op);
        if (in_thread_) {
            const Expr choice = unchanging_choice(op);
            if (choice.defined())
                return IfThenElse::make(choice, mutate(chosen(op, choice, true)), mutate(chosen(op, choice, false)));
        }
        const Expr alive = alive_before(op->body);
        Stmt body = in_thread_ ? nested_iterations(op->body) : Stmt();
        const bool is_nested = body.defined();
        if (!is_nested) body = Unmark().mutate(op->body);
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
            const Expr enter =
                Call::make(Bool(), Call::if_then_else, {first, const_true(), alive}, Call::PureIntrinsic);
            inside = loop(level->first, 0, level->second, IfThenElse::make(enter, inside));
        }
        return inside;
    }

    Expr visit(const Call* op) override { return is_alive_marker(op) ? mutate(op->args[0]) : IRMutator::visit(op); }
};

} // namespace

Expr mark_alive(const Expr& condition, const Expr& iteration) {
    // Pure and unknown: simplification and the elimination of common expressions leave it alone, vectorization widens
    // it.
    return Call::make(condition.type(), kAliveMarker, {condition, iteration}, Call::PureIntrinsic);
}

void add_early_exit_pass(Halide::Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return EarlyExit().mutate(statement); });
}

} // namespace tilewright::dsl
