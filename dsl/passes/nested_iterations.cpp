// dsl/passes/nested_iterations.cpp: from iterations side by side to iterations inside of each other.
#include "dsl/passes/nested_iterations.h"

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "dsl/passes/alive_markers.h"
#include "dsl/passes/loaded_names.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

/// A value whose marker is known to hold.
class Alive : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override { return is_alive_marker(op) ? const_true() : IRMutator::visit(op); }
    Expr visit(const Select* op) override {
        const Expr condition = mutate(op->condition);
        if (is_const_one(condition)) return mutate(op->true_value);
        return Select::make(condition, mutate(op->true_value), mutate(op->false_value));
    }
};

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
                return LetStmt::make(let->name, Alive().mutate(let->value), nest(let->body, rest));
            });
        }
        if (const auto* store = statement.as<Store>()) {
            return guarded(store->value, [this, store, &rest] {
                const Stmt now = Store::make(store->name, Alive().mutate(store->value), store->index, store->param,
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
        const Expr condition = outside(found.markers.front()).condition;
        for (const AliveMarkers::Marker& marker : found.markers) {
            if (!marker.condition.type().is_scalar() || !graph_equal(outside(marker).condition, condition)) {
                failed = true;
                return Stmt();
            }
        }
        if (alive_.defined() && graph_equal(alive_, condition)) return inside();
        const Expr test = common_subexpression_elimination(condition);
        alive_ = condition;
        return IfThenElse::make(test, inside());
    }
};

/// Names that a loop or its body binds.
class BoundNames : public IRVisitor {
  public:
    std::set<std::string> names;

  private:
    using IRVisitor::visit;
    void visit(const LetStmt* op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let* op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const For* op) override {
        names.insert(op->name);
        IRVisitor::visit(op);
    }
};

class FindChoice : public IRVisitor {
  public:
    explicit FindChoice(const For* loop) { loop->accept(&bound_); }
    Expr choice;

  private:
    using IRVisitor::visit;
    BoundNames bound_;
    void visit(const IfThenElse* op) override {
        const bool changes =
            !loaded_names(op->condition).empty() || expr_uses_vars(op->condition, scope_of(bound_.names));
        if (!choice.defined() && !changes && has_alive_marker(Stmt(op))) choice = op->condition;
        if (!choice.defined()) IRVisitor::visit(op);
    }
    static Scope<> scope_of(const std::set<std::string>& names) {
        Scope<> scope;
        for (const std::string& name : names)
            scope.push(name);
        return scope;
    }
};

class Choose : public IRMutator {
  public:
    Choose(Expr choice, bool holds) : choice_(std::move(choice)), holds_(holds) {}

  private:
    using IRMutator::visit;
    Expr choice_;
    bool holds_;
    Stmt visit(const IfThenElse* op) override {
        if (!graph_equal(op->condition, choice_)) return IRMutator::visit(op);
        if (holds_) return mutate(op->then_case);
        return op->else_case.defined() ? mutate(op->else_case) : Evaluate::make(0);
    }
};

} // namespace

Stmt nested_iterations(const Stmt& visit) {
    AliveMarkers found;
    visit.accept(&found);
    if (found.markers.empty() || found.in_loop) return Stmt();
    // A condition reads its element's state alone: where one differs, there are several elements, and the death of one
    // says nothing about the others.
    const Expr first = outside(found.markers.front()).condition;
    for (const AliveMarkers::Marker& marker : found.markers)
        if (!marker.condition.type().is_scalar() || !graph_equal(outside(marker).condition, first)) return Stmt();
    Nest nest;
    const Stmt result = nest.nest(visit, [] { return Stmt(); });
    return nest.failed ? Stmt() : result;
}

Expr unchanging_choice(const For* loop) {
    FindChoice find(loop);
    loop->body.accept(&find);
    return find.choice;
}

Stmt chosen(const For* loop, const Expr& choice, bool holds) {
    return Choose(choice, holds).mutate(Stmt(loop));
}

} // namespace tilewright::dsl
