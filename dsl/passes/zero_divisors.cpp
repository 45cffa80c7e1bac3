// dsl/passes/zero_divisors.cpp: the lowering pass that hides zeros from Halide's code generation.
#include "dsl/passes/zero_divisors.h"

#include "dsl/passes/statement_pass.h"

#include <cmath>
#include <cstdint>

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Type;

bool is_zero_divisor(const Expr& divisor) {
    return divisor.type().is_float() && is_const_zero(divisor);
}

Expr hidden(const Expr& zero) {
    const Type type = zero.type();
    const Expr one = type.is_vector() ? zero.as<Broadcast>()->value : zero;
    const FloatImm* value = one.as<FloatImm>();
    const std::uint64_t bits = value && std::signbit(value->value) ? std::uint64_t{1} << (type.bits() - 1) : 0;
    Expr pattern = UIntImm::make(Halide::UInt(type.bits()), bits);
    if (type.is_vector()) pattern = Broadcast::make(pattern, type.lanes());
    return Reinterpret::make(type, pattern);
}

class ZeroDivisors : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Div* op) override {
        if (!is_zero_divisor(op->b)) return IRMutator::visit(op);
        return Div::make(mutate(op->a), hidden(op->b));
    }

    Expr visit(const Call* op) override {
        if (!op->is_intrinsic(Call::strict_div) || !is_zero_divisor(op->args[1])) return IRMutator::visit(op);
        return Call::make(op->type, op->name, {mutate(op->args[0]), hidden(op->args[1])}, op->call_type);
    }
};

} // namespace

void add_zero_divisors_pass(Halide::Pipeline& pipeline) {
    add_statement_pass(pipeline, [](const Stmt& statement) { return ZeroDivisors().mutate(statement); });
}

} // namespace tilewright::dsl
