// dsl/passes/device_extremes.cpp: the markers of device_extreme(), and what becomes of them on a device and on a CPU.
#include <string>

#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

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

} // namespace

Expr device_extreme(bool largest, const Expr& a, const Expr& b) {
    return marked(largest ? kLargest : kSmallest, a.type(), {a, b});
}

Stmt lower_device_extremes(const Stmt& statement, bool as_instructions) {
    return mutate_with(statement, [as_instructions](Mutator& self, const Call* op) {
        const bool largest = is_marker(op, kLargest);
        if (!largest && !is_marker(op, kSmallest)) return self.inside(op);
        const Expr a = self.mutate(op->args[0]), b = self.mutate(op->args[1]);
        if (as_instructions) return instruction(largest, a, b);
        // Each operand stands several times.
        const std::string first = unique_name("tw_a"), second = unique_name("tw_b");
        const Expr value = spelled_out(largest, Variable::make(a.type(), first), Variable::make(b.type(), second));
        return Let::make(first, a, Let::make(second, b, value));
    });
}

} // namespace tilewright::dsl
