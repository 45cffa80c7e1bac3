// dsl/passes/zero_divisors.cpp: the pass that hides zeros from Halide's code generation.
#include "dsl/passes/passes.h"

#include <cmath>
#include <cstdint>

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Type;

namespace {

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

} // namespace

Stmt hide_zero_divisors(const Stmt& statement) {
    return mutate_with(
        statement,
        [](Mutator& self, const Div* op) {
            return is_zero_divisor(op->b) ? Div::make(self.mutate(op->a), hidden(op->b)) : self.inside(op);
        },
        [](Mutator& self, const Call* op) {
            if (!op->is_intrinsic(Call::strict_div) || !is_zero_divisor(op->args[1])) return self.inside(op);
            return Call::make(op->type, op->name, {self.mutate(op->args[0]), hidden(op->args[1])}, op->call_type);
        });
}

} // namespace tilewright::dsl
