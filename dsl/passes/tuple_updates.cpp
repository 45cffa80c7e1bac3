// dsl/passes/tuple_updates.cpp: makes the needs of Tuple elements visible to Halide.
#include <map>
#include <set>
#include <string>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

constexpr const char* kNever = "tw_never";

/// The elements of `name` that an expression reads: with calls looked into, or as Halide's own check does it.
std::map<int, Expr> reads(const Expr& value, const std::string& name, bool inside_calls) {
    std::map<int, Expr> found;
    visit_with(value, [&](Visitor& self, const Call* op) {
        if (op->call_type == Call::Halide && op->name == name) found.emplace(op->value_index, op);
        if (inside_calls) self.inside(op);
    });
    return found;
}

void protect(Definition definition, const std::string& name) {
    auto& values = definition.values();
    if (values.size() > 1) {
        for (Expr& value : values) {
            // The check runs after comparisons have become calls, so all that is inside one counts as hidden:
            // strictness is put on first.
            // What stands in lets, which hold what is there twice, is not looked into.
            const bool has_lets = contains(value, [](const Let*) { return true; });
            const auto visible = has_lets ? std::map<int, Expr>() : reads(strict_float(value), name, false);
            for (const auto& [element, call] : reads(value, name, true)) {
                if (visible.count(element)) continue;
                const Expr never = marked(kNever, Halide::Bool(), {});
                // Elements of 64-bit and smaller numbers and truth values all convert; what they convert to does not
                // matter.
                value = Select::make(never, Halide::cast(value.type(), call), value);
            }
        }
    }
    for (const Specialization& specialization : definition.specializations())
        protect(specialization.definition, name);
}

/// Removes the selects again. Loop-invariant code motion has put `never` into lets far outside by now, some of them on
/// the other side of a parallel loop, where LLVM could not follow it: so lets are followed here.
Stmt without_never(const Stmt& statement) {
    std::set<std::string> never;
    const auto follow = [&](Mutator& self, const auto* op) {
        Expr value = self.mutate(op->value);
        const bool is_never = op->value.type().is_bool() && is_const_zero(value);
        // Names are unique along a path here; a let of the same name further in would have the same value.
        if (is_never) never.insert(op->name);
        auto body = self.mutate(op->body);
        if (!is_never) return std::remove_pointer_t<decltype(op)>::make(op->name, std::move(value), std::move(body));
        never.erase(op->name);
        return body;
    };
    return mutate_with(
        statement,
        [](Mutator& self, const Call* op) { return is_marker(op, kNever) ? make_zero(op->type) : self.inside(op); },
        [&](Mutator&, const Variable* op) { return never.count(op->name) ? make_zero(op->type) : Expr(op); },
        [](Mutator& self, const Select* op) {
            Expr condition = self.mutate(op->condition);
            if (is_const_zero(condition)) return self.mutate(op->false_value);
            return Select::make(std::move(condition), self.mutate(op->true_value), self.mutate(op->false_value));
        },
        [&](Mutator& self, const Let* op) { return follow(self, op); },
        [&](Mutator& self, const LetStmt* op) { return follow(self, op); });
}

} // namespace

void protect_tuple_updates(Halide::Pipeline& pipeline) {
    for (const Halide::Func& output : pipeline.outputs()) {
        for (auto& [name, function] : find_transitive_calls(output.function())) {
            for (std::size_t k = 0; k < function.updates().size(); ++k) {
                protect(function.update(static_cast<int>(k)), name);
            }
        }
    }
    add_statement_pass(pipeline, without_never);
}

} // namespace tilewright::dsl
