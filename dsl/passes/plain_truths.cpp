// dsl/passes/plain_truths.cpp: the pass that takes bools of stages that were inlined for what they are.
#include "dsl/passes/passes.h"

#include <string>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr char kTruth[] = ".truth";

class PlainTruths : public IRMutator {
  public:
    using IRMutator::visit;

    Expr visit(const EQ* op) override {
        const Expr truth = compared(op->a, op->b);
        return truth.defined() ? Not::make(mutate(truth)) : IRMutator::visit(op);
    }
    Expr visit(const NE* op) override {
        const Expr truth = compared(op->a, op->b);
        return truth.defined() ? mutate(truth) : IRMutator::visit(op);
    }
    Expr visit(const Not* op) override {
        const Expr inner = mutate(op->a);
        const Not* twice = inner.as<Not>();
        return twice != nullptr ? twice->a : Not::make(inner);
    }
    /// A comparison that a select asks for as it stands is one instruction with it: a minimum, say.
    Expr visit(const Select* op) override {
        const Expr condition = mutate(op->condition), yes = mutate(op->true_value), no = mutate(op->false_value);
        const Not* negated = condition.as<Not>();
        return negated != nullptr ? Select::make(negated->a, no, yes) : Select::make(condition, yes, no);
    }
    Expr visit(const Let* op) override { return let<Let, Expr>(op); }
    Stmt visit(const LetStmt* op) override { return let<LetStmt, Stmt>(op); }

  private:
    Scope<bool> is_byte_; ///< whether a name stands for the byte of a bool, in the let around

    /// The bool of which `e` is the byte; undefined for any other expression.
    Expr truth_of(const Expr& e) const {
        if (const Cast* cast = e.as<Cast>())
            return e.type().is_uint() && e.type().bits() == 8 && cast->value.type().is_bool() ? cast->value : Expr();
        const Variable* variable = e.as<Variable>();
        if (variable == nullptr || !is_byte_.contains(variable->name) || !is_byte_.get(variable->name)) return {};
        return Variable::make(Halide::Bool(e.type().lanes()), variable->name + kTruth);
    }
    Expr compared(const Expr& value, const Expr& zero) const { return is_const_zero(zero) ? truth_of(value) : Expr(); }

    template <class Node, class Code> Code let(const Node* op) {
        const Expr truth = truth_of(op->value);
        const Expr value = mutate(truth.defined() ? truth : op->value);
        const ScopedBinding<bool> bound(is_byte_, op->name, truth.defined());
        const Code body = mutate(op->body);
        if (!truth.defined()) return Node::make(op->name, value, body);
        const std::string name = op->name + kTruth;
        const Expr byte = Cast::make(op->value.type(), Variable::make(value.type(), name));
        return Node::make(name, value, Node::make(op->name, byte, body));
    }
};

} // namespace

Stmt plain_truths(const Stmt& statement) {
    return PlainTruths().mutate(statement);
}

} // namespace tilewright::dsl
