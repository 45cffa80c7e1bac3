// dsl/passes/forward_elements.cpp: stores of single elements, and the loads behind them.
#include "dsl/passes/forward_elements.h"

#include <utility>

#include "dsl/passes/walk.h"

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

/// Definitions of indices in place of their names: places are compared as expressions.
Stmt inlined(const Stmt& statement) {
    return mutate_with(statement, [](Mutator& self, const LetStmt* op) {
        return has_load(op->value) ? self.inside(op) : self.mutate(substitute(op->name, op->value, op->body));
    });
}

/// The store that a statement is, or null.
const Store* as_store(const Stmt& statement) {
    if (const auto* produce = statement.as<ProducerConsumer>()) return as_store(produce->body);
    const auto* store = statement.as<Store>();
    const bool plain = store != nullptr && is_const_one(store->predicate) && store->value.type().is_scalar();
    return plain ? store : nullptr;
}

/// Loads of the element that `store` writes become `value`; `unsure`: something may still read it.
Stmt with_value(const Stmt& statement, const Store& store, const Expr& value, bool& unsure) {
    return mutate_with(statement, [&](Mutator& self, const Load* op) {
        if (op->name != store.name) return self.inside(op);
        const bool plain = is_const_one(op->predicate) && op->type == value.type();
        const Place place = op->type.is_scalar() ? compare(op->index, store.index) : Place::unknown;
        if (plain && place == Place::same) return value;
        unsure = unsure || place != Place::other;
        return self.inside(op);
    });
}

Stmt sequence(std::vector<Stmt> rest, std::size_t first, const std::string& name) {
    const Stmt statement = rest[first];
    if (first + 1 == rest.size()) return statement;
    const Store* store = as_store(statement);
    if (store == nullptr) return Block::make(statement, sequence(std::move(rest), first + 1, name));
    const std::string variable = name + std::to_string(first);
    const Expr value = Variable::make(store->value.type(), variable);
    bool covered = false, unsure = false;
    for (std::size_t k = first + 1; k < rest.size(); ++k) {
        rest[k] = with_value(rest[k], *store, value, unsure);
        if (!contains(rest[k], [&](const Store* op) { return op->name == store->name; })) continue;
        const Store* next = as_store(rest[k]);
        const Place place = next != nullptr ? compare(next->index, store->index) : Place::unknown;
        covered = place == Place::same;
        if (place != Place::other) break;
    }
    Stmt code = sequence(std::move(rest), first + 1, name);
    if (!covered || unsure)
        code = Block::make(
            Store::make(store->name, value, store->index, store->param, store->predicate, store->alignment), code);
    return LetStmt::make(variable, store->value, code);
}

} // namespace

Stmt forward_elements(const std::vector<Stmt>& statements, const std::string& name) {
    std::vector<Stmt> plain;
    for (const Stmt& statement : statements)
        plain.push_back(inlined(statement));
    return sequence(std::move(plain), 0, name);
}

} // namespace tilewright::dsl
