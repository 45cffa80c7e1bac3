// dsl/passes/opaque.h: values whose bounds Halide does not infer.
#pragma once

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

inline constexpr const char* kOpaqueMarker = "tw_opaque";

/// `x`, as any number of its type to whoever asks for its bounds. Halide makes the bounds of integer arithmetic as
/// expressions, those of a product as the extremes of four: a chain of products that each read the last one twice, as
/// in random generators, grows beyond all memory, though nobody needs its bounds. A lowering pass leaves x alone.
inline Halide::Expr opaque(const Halide::Expr& x) {
    return marked(kOpaqueMarker, x.type(), {x});
}

/// Finds float arithmetic in an expression, and in the stages that it reads and that may be inlined. Each node is seen
/// once: the values of a random generator share so many that a walk along every path would not end.
class FindsRounding : public Halide::Internal::IRGraphVisitor {
  public:
    bool found = false;

  private:
    using IRGraphVisitor::visit;
    template <class Node> void see(const Node* op, bool is_arithmetic = true) {
        found = found || (is_arithmetic && op->type.is_float());
        if (!found) IRGraphVisitor::visit(op);
    }
    void visit(const Halide::Internal::Add* op) override { see(op); }
    void visit(const Halide::Internal::Sub* op) override { see(op); }
    void visit(const Halide::Internal::Mul* op) override { see(op); }
    void visit(const Halide::Internal::Div* op) override { see(op); }
    void visit(const Halide::Internal::Call* op) override {
        using Halide::Internal::Call;
        see(op, op->call_type != Call::Halide && op->call_type != Call::Image);
        if (found || op->call_type != Call::Halide || !op->func.defined()) return;
        const Halide::Internal::Function stage(op->func);
        if (!stage.has_update_definition() && stage.has_pure_definition())
            for (const Halide::Expr& value : stage.values())
                include(value);
    }
};

/// What an update makes of `x`: opaque where it has float arithmetic. Halide leaves iterations out whose update it
/// proves to store what is there already, and proves that by the laws of real numbers, under strict_float too: to it
/// t + 1 == t is false and s - y + y is s, for every float (dsl/DECISIONS.md, trap 8).
inline Halide::Expr opaque_if_it_rounds(const Halide::Expr& x) {
    FindsRounding rounding;
    x.accept(&rounding);
    return rounding.found ? opaque(x) : x;
}

} // namespace tilewright::dsl
