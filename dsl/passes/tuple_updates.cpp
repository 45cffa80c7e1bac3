// dsl/passes/tuple_updates.cpp: makes the needs of Tuple elements visible to Halide.
#include "dsl/passes/tuple_updates.h"

#include "dsl/passes/statement_pass.h"

#include <map>
#include <set>
#include <string>

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

constexpr const char* kNever = "tw_never";

/// The elements of `name` that an expression reads: with calls looked into, or as Halide's own check does it.
class Reads : public IRVisitor {
  public:
    Reads(std::string name, bool inside_calls) : name_(std::move(name)), inside_calls_(inside_calls) {}
    std::map<int, Expr> found;

  private:
    using IRVisitor::visit;
    std::string name_;
    bool inside_calls_;
    void visit(const Call* op) override {
        if (op->call_type == Call::Halide && op->name == name_) found.emplace(op->value_index, op);
        if (inside_calls_) IRVisitor::visit(op);
    }
};

std::map<int, Expr> reads(const Expr& value, const std::string& name, bool inside_calls) {
    Reads visitor(name, inside_calls);
    value.accept(&visitor);
    return std::move(visitor.found);
}

void protect(Definition definition, const std::string& name) {
    auto& values = definition.values();
    if (values.size() > 1) {
        for (Expr& value : values) {
            // The check runs after comparisons have become calls, so all that is inside one counts as hidden:
            // strictness is put on first.
            const auto visible = reads(strict_float(value), name, false);
            for (const auto& [element, call] : reads(value, name, true)) {
                if (visible.count(element)) continue;
                const Expr never = Call::make(Halide::Bool(), kNever, {}, Call::PureIntrinsic);
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
class NeverIsFalse : public IRMutator {
    using IRMutator::visit;
    std::set<std::string> never_;

    Expr visit(const Call* op) override {
        return op->name == kNever && op->call_type == Call::PureIntrinsic ? make_zero(op->type) : IRMutator::visit(op);
    }
    Expr visit(const Variable* op) override { return never_.count(op->name) ? make_zero(op->type) : Expr(op); }
    Expr visit(const Select* op) override {
        Expr condition = mutate(op->condition);
        if (is_const_zero(condition)) return mutate(op->false_value);
        return Select::make(std::move(condition), mutate(op->true_value), mutate(op->false_value));
    }
    template <class LetOrLetStmt, class Body> Body follow(const LetOrLetStmt* op) {
        Expr value = mutate(op->value);
        if (!op->value.type().is_bool() || !is_const_zero(value)) {
            return LetOrLetStmt::make(op->name, std::move(value), mutate(op->body));
        }
        // Names are unique along a path here; a let of the same name further in would have the same value.
        never_.insert(op->name);
        Body body = mutate(op->body);
        never_.erase(op->name);
        return body;
    }
    Expr visit(const Let* op) override { return follow<Let, Expr>(op); }
    Stmt visit(const LetStmt* op) override { return follow<LetStmt, Stmt>(op); }
};

} // namespace

void protect_tuple_updates(Halide::Pipeline& pipeline) {
    for (const Halide::Func& output : pipeline.outputs()) {
        for (auto& [name, function] : find_transitive_calls(output.function())) {
            for (std::size_t k = 0; k < function.updates().size(); ++k) {
                protect(function.update(static_cast<int>(k)), name);
            }
        }
    }
    add_statement_pass(pipeline, [](const Stmt& statement) { return NeverIsFalse().mutate(statement); });
}

} // namespace tilewright::dsl
