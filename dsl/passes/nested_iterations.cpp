// dsl/passes/nested_iterations.cpp: from iterations side by side to iterations inside of each other.
#include "dsl/passes/nested_iterations.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "dsl/passes/alive_markers.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/// A value whose marker is known to hold.
Expr alive(const Expr& value) {
    return mutate_with(
        value,
        [](Mutator& self, const Call* op) { return is_marker(op, kAliveMarker) ? const_true() : self.inside(op); },
        [](Mutator& self, const Select* op) {
            const Expr condition = self.mutate(op->condition);
            if (is_const_one(condition)) return self.mutate(op->true_value);
            return Select::make(condition, self.mutate(op->true_value), self.mutate(op->false_value));
        });
}

/// What all markers ask, each of one element; undefined where they differ.
Expr common_condition(const AliveMarkers& found) {
    const Expr condition = outside(found.markers.front()).condition;
    const bool same = std::ranges::all_of(found.markers, [&](const AliveMarkers::Marker& marker) {
        return marker.condition.type().is_scalar() && graph_equal(outside(marker).condition, condition);
    });
    return same ? condition : Expr();
}

class Nest {
  public:
    bool failed = false;

    using Rest = std::function<Stmt()>;
    Stmt nest(const Stmt& statement, const Rest& rest) {
        if (failed) return statement;
        if (const auto* block = statement.as<Block>())
            return nest(block->first, [this, block, &rest] { return nest(block->rest, rest); });
        if (const auto* let = statement.as<LetStmt>()) {
            return guarded(let->value, [this, let, &rest] {
                return LetStmt::make(let->name, alive(let->value), nest(let->body, rest));
            });
        }
        if (const auto* store = statement.as<Store>()) {
            return guarded(store->value, [this, store, &rest] {
                const Stmt now = Store::make(store->name, alive(store->value), store->index, store->param,
                                             store->predicate, store->alignment);
                alive_ = Expr(); // it may have died of this
                return sequence(now, rest());
            });
        }
        failed = failed || has_alive_marker(statement);
        if (!failed) alive_ = Expr();
        return failed ? statement : sequence(statement, rest());
    }

  private:
    Expr alive_; ///< a condition that holds here

    static Stmt sequence(const Stmt& first, const Stmt& second) {
        return second.defined() ? Block::make(first, second) : first;
    }

    /// What `inside` makes, under the condition of the value's markers.
    Stmt guarded(const Expr& value, const Rest& inside) {
        AliveMarkers found;
        value.accept(&found);
        if (found.markers.empty()) return inside();
        const Expr condition = common_condition(found);
        failed = failed || !condition.defined();
        if (failed) return Stmt();
        if (alive_.defined() && graph_equal(alive_, condition)) return inside();
        const Expr test = common_subexpression_elimination(condition);
        alive_ = condition;
        return IfThenElse::make(test, inside());
    }
};

} // namespace

Stmt nested_iterations(const Stmt& visit) {
    AliveMarkers found;
    visit.accept(&found);
    if (found.markers.empty() || found.in_loop) return Stmt();
    // A condition reads its element's state alone: where one differs, there are several elements, and the death of one
    // says nothing about the others.
    if (!common_condition(found).defined()) return Stmt();
    Nest nest;
    const Stmt result = nest.nest(visit, [] { return Stmt(); });
    return nest.failed ? Stmt() : result;
}

Expr unchanging_choice(const For* loop) {
    Scope<> bound;
    const auto bind = [&](const auto* op) { bound.push(op->name); };
    for_each_node(
        Stmt(loop), [&](const LetStmt* op) { bind(op); }, [&](const Let* op) { bind(op); },
        [&](const For* op) { bind(op); });
    Expr choice;
    visit_with(loop->body, [&](Visitor& self, const IfThenElse* op) {
        const bool changes = has_load(op->condition) || expr_uses_vars(op->condition, bound);
        if (!choice.defined() && !changes && has_alive_marker(Stmt(op))) choice = op->condition;
        if (!choice.defined()) self.inside(op);
    });
    return choice;
}

Stmt chosen(const For* loop, const Expr& choice, bool holds) {
    return mutate_with(Stmt(loop), [&](Mutator& self, const IfThenElse* op) {
        if (!graph_equal(op->condition, choice)) return self.inside(op);
        if (holds) return self.mutate(op->then_case);
        return op->else_case.defined() ? self.mutate(op->else_case) : Evaluate::make(0);
    });
}

} // namespace tilewright::dsl
