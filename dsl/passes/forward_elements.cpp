// dsl/passes/forward_elements.cpp: stores of single elements, and the loads behind them.
#include "dsl/passes/forward_elements.h"

#include <utility>

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

enum class Place { same, other, unknown };

Place compare(const Expr& a, const Expr& b) {
    const Expr apart = simplify(a - b);
    if (is_const_zero(apart)) return Place::same;
    return is_const(apart) ? Place::other : Place::unknown;
}

class Loads : public IRVisitor {
  public:
    bool found = false;

  private:
    using IRVisitor::visit;
    void visit(const Load*) override { found = true; }
};

/// Definitions of indices in place of their names: places are compared as expressions.
class Inline : public IRMutator {
    using IRMutator::visit;
    Stmt visit(const LetStmt* op) override {
        Loads loads;
        op->value.accept(&loads);
        if (loads.found) return IRMutator::visit(op);
        return mutate(substitute(op->name, op->value, op->body));
    }
};

/// The store that a statement is, or null.
const Store* as_store(const Stmt& statement) {
    if (const auto* produce = statement.as<ProducerConsumer>()) return as_store(produce->body);
    const auto* store = statement.as<Store>();
    const bool plain = store != nullptr && is_const_one(store->predicate) && store->value.type().is_scalar();
    return plain ? store : nullptr;
}

class ReplaceLoads : public IRMutator {
  public:
    ReplaceLoads(const Store& store, Expr value) : store_(store), value_(std::move(value)) {}
    bool unsure = false; ///< something may still read the element

  private:
    using IRMutator::visit;
    const Store& store_;
    const Expr value_;

    Expr visit(const Load* op) override {
        if (op->name != store_.name) return IRMutator::visit(op);
        const bool plain = is_const_one(op->predicate) && op->type == value_.type();
        const Place place = op->type.is_scalar() ? compare(op->index, store_.index) : Place::unknown;
        if (plain && place == Place::same) return value_;
        unsure = unsure || place != Place::other;
        return IRMutator::visit(op);
    }
};

class Stores : public IRVisitor {
  public:
    explicit Stores(const std::string& memory) : memory_(memory) {}
    bool found = false;

  private:
    using IRVisitor::visit;
    const std::string& memory_;
    void visit(const Store* op) override {
        found = found || op->name == memory_;
        IRVisitor::visit(op);
    }
};

bool stores(const Stmt& statement, const std::string& memory) {
    Stores stores(memory);
    statement.accept(&stores);
    return stores.found;
}

Stmt sequence(std::vector<Stmt> rest, std::size_t first, const std::string& name) {
    const Stmt statement = rest[first];
    if (first + 1 == rest.size()) return statement;
    const Store* store = as_store(statement);
    if (store == nullptr) return Block::make(statement, sequence(std::move(rest), first + 1, name));
    const std::string variable = name + std::to_string(first);
    const Expr value = Variable::make(store->value.type(), variable);
    ReplaceLoads replace(*store, value);
    bool covered = false;
    for (std::size_t k = first + 1; k < rest.size(); ++k) {
        rest[k] = replace.mutate(rest[k]);
        if (!stores(rest[k], store->name)) continue;
        const Store* next = as_store(rest[k]);
        const Place place = next != nullptr ? compare(next->index, store->index) : Place::unknown;
        covered = place == Place::same;
        if (place != Place::other) break;
    }
    Stmt code = sequence(std::move(rest), first + 1, name);
    if (!covered || replace.unsure)
        code = Block::make(
            Store::make(store->name, value, store->index, store->param, store->predicate, store->alignment), code);
    return LetStmt::make(variable, store->value, code);
}

} // namespace

Stmt forward_elements(const std::vector<Stmt>& statements, const std::string& name) {
    std::vector<Stmt> plain;
    for (const Stmt& statement : statements)
        plain.push_back(Inline().mutate(statement));
    return sequence(std::move(plain), 0, name);
}

} // namespace tilewright::dsl
