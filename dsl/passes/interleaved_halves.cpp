// dsl/passes/interleaved_halves.cpp: makes one store of the stores to both halves of complex elements.
#include <map>
#include <string>
#include <vector>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;

namespace {

bool counts(const Halide::Expr& value) {
    return value.type() == Halide::Int(32) && is_pure(value);
}

/// Names replaced by their values, and the strides of an imaginary half by those of the real one.
Halide::Expr spelt_out(const Halide::Expr& index, const std::map<std::string, Halide::Expr>& values,
                       const std::string& real, const std::string& imag) {
    return mutate_with(index, [&](Mutator& self, const Variable* op) {
        const std::string stride = imag + ".stride.";
        if (op->name.starts_with(stride))
            return Variable::make(op->type, real + ".stride." + op->name.substr(stride.size()));
        const auto value = values.find(op->name);
        return value == values.end() ? Halide::Expr(op) : self.mutate(value->second);
    });
}

/// A statement without the names defined before it, each defined once in a kernel.
Stmt behind(Stmt statement, Lets& lets) {
    while (const auto* let = statement.as<LetStmt>()) {
        lets.emplace_back(let->name, let->value);
        statement = let->body;
    }
    return statement;
}

/// Of an index of every other element, or of one.
Halide::Expr base_of(const Halide::Expr& index) {
    if (index.type().is_scalar()) return index;
    const auto* ramp = index.as<Ramp>();
    const bool is_half = ramp != nullptr && is_const(ramp->stride, 2) && ramp->base.type().is_scalar();
    return is_half ? ramp->base : Halide::Expr();
}

/// One store of both; nothing where they are not to the same elements.
Stmt joined(const Store& real, const Store& imag, std::map<std::string, Halide::Expr> values, const Lets& lets) {
    if (!is_const_one(real.predicate) || !is_const_one(imag.predicate)) return {};
    if (real.value.type() != imag.value.type()) return {};
    const Halide::Expr first = base_of(real.index), second = base_of(imag.index);
    if (!first.defined() || !second.defined()) return {};
    for (const auto& [name, value] : lets)
        if (counts(value)) values[name] = value;
    const auto plain = [&](const Halide::Expr& index) { return spelt_out(index, values, real.name, imag.name); };
    if (!is_const_zero(simplify(plain(first) - plain(second)))) return {};
    const int lanes = real.value.type().lanes();
    return Store::make(real.name, Shuffle::make_interleave({real.value, imag.value}), Ramp::make(first, 1, 2 * lanes),
                       real.param, const_true(2 * lanes), real.alignment);
}

} // namespace

Stmt interleave_halves(const Stmt& statement, const std::vector<Halves>& halves) {
    std::map<std::string, std::string> imag_of;
    for (const Halves& each : halves)
        imag_of.emplace(each.real, each.imag);
    std::map<std::string, Halide::Expr> values; // of names of whole numbers around
    return mutate_with(
        statement,
        [&](Mutator& self, const LetStmt* op) {
            if (counts(op->value)) values[op->name] = op->value;
            return LetStmt::make(op->name, op->value, self.mutate(op->body));
        },
        [&](Mutator& self, const Block* op) {
            Lets lets;
            const auto* real = behind(op->first, lets).as<Store>();
            const auto found = real ? imag_of.find(real->name) : imag_of.end();
            if (found == imag_of.end()) return self.inside(op);
            Stmt second = behind(op->rest, lets), rest;
            if (const auto* block = second.as<Block>()) {
                rest = self.mutate(block->rest);
                second = behind(block->first, lets);
            }
            const auto* imag = second.as<Store>();
            Stmt store = imag != nullptr && imag->name == found->second ? joined(*real, *imag, values, lets) : Stmt();
            if (!store.defined()) return self.inside(op);
            if (rest.defined()) store = Block::make(store, rest);
            return within(lets, store);
        });
}

} // namespace tilewright::dsl
