// dsl/passes/device_extremes.cpp: markers, and what becomes of them.
#include "dsl/passes/device_extremes.h"

#include <string>

#include "dsl/passes/statement_pass.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr const char* kLargest = "tw_largest";
constexpr const char* kSmallest = "tw_smallest";

Expr instruction(bool largest, const Expr& a, const Expr& b) {
    return Call::make(a.type(), largest ? "llvm.nvvm.fmax.nan.f" : "llvm.nvvm.fmin.nan.f", {a, b}, Call::PureExtern);
}

Expr spelled_out(bool largest, const Expr& a, const Expr& b) {
    const Type bits = UInt(32, a.type().lanes());
    const Expr x = reinterpret(bits, a), y = reinterpret(bits, b);
    // Equal numbers have equal bits, but for zeros: 0.0 is the larger one.
    const Expr equal = reinterpret(a.type(), largest ? x & y : x | y);
    const Expr nan = reinterpret(a.type(), make_const(bits, 0x7FC00000));
    return select(is_nan(a) || is_nan(b), nan, a == b, equal, largest ? a > b : a < b, a, b);
}

class Lower : public IRMutator {
  public:
    explicit Lower(bool as_instructions) : as_instructions_(as_instructions) {}

  private:
    using IRMutator::visit;
    bool as_instructions_;
    Expr visit(const Call* op) override {
        const bool largest = op->name == kLargest;
        if (!largest && op->name != kSmallest) return IRMutator::visit(op);
        const Expr a = mutate(op->args[0]), b = mutate(op->args[1]);
        if (as_instructions_) return instruction(largest, a, b);
        // Each operand stands several times.
        const std::string first = unique_name("tw_a"), second = unique_name("tw_b");
        const Expr value = spelled_out(largest, Variable::make(a.type(), first), Variable::make(b.type(), second));
        return Let::make(first, a, Let::make(second, b, value));
    }
};

} // namespace

Expr device_extreme(bool largest, const Expr& a, const Expr& b) {
    // PureIntrinsic: it survives simplification, and vectorization widens it.
    return Call::make(a.type(), largest ? kLargest : kSmallest, {a, b}, Call::PureIntrinsic);
}

void add_device_extremes_pass(Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return Lower(true).mutate(statement); });
}

void add_spelled_out_extremes_pass(Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return Lower(false).mutate(statement); });
}

} // namespace tilewright::dsl
