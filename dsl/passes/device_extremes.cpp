// dsl/passes/device_extremes.cpp: by name where the device has them, else by comparisons and bits.
#include "dsl/passes/device_extremes.h"

#include <limits>
#include <string>

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr const char* kLargest = "llvm.nvvm.fmax.nan.f";
constexpr const char* kSmallest = "llvm.nvvm.fmin.nan.f";

Expr spelled_out(bool largest, const Expr& a, const Expr& b) {
    const Type bits = UInt(32, a.type().lanes());
    const Expr x = reinterpret(bits, a), y = reinterpret(bits, b);
    // Equal numbers have equal bits, but for zeros: the sign stays where both have it, or where one does.
    const Expr equal = reinterpret(a.type(), largest ? x & y : x | y);
    const Expr nan = reinterpret(a.type(), make_const(bits, 0x7FFFFFFF));
    return select(is_nan(a) || is_nan(b), nan, a == b, equal, largest ? a > b : a < b, a, b);
}

class SpellOut : public IRMutator {
    using IRMutator::visit;
    Expr visit(const Call* op) override {
        const bool largest = op->name == kLargest;
        if (!largest && op->name != kSmallest) return IRMutator::visit(op);
        // Each operand stands several times.
        const Expr a = mutate(op->args[0]), b = mutate(op->args[1]);
        const std::string first = unique_name("tw_a"), second = unique_name("tw_b");
        const Expr value = spelled_out(largest, Variable::make(a.type(), first), Variable::make(b.type(), second));
        return Let::make(first, a, Let::make(second, b, value));
    }
};

} // namespace

Expr device_extreme(bool largest, const Expr& a, const Expr& b) {
    return Call::make(a.type(), largest ? kLargest : kSmallest, {a, b}, Call::PureExtern);
}

Stmt spell_out_device_extremes(const Stmt& statement) {
    return SpellOut().mutate(statement);
}

} // namespace tilewright::dsl
