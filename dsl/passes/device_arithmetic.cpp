// dsl/passes/device_arithmetic.cpp: puts operations with one meaning in the place of those that code generation for
// devices may transform.
#include "dsl/passes/device_arithmetic.h"

#include <string>

#include "dsl/base/error.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;
using namespace Halide::Internal;

Type bits_of(const Type& type) {
    return UInt(type.bits(), type.lanes());
}

Expr constant(const Type& type, std::uint64_t value) {
    const Expr scalar = Halide::Internal::make_const(UInt(type.bits()), value);
    return type.is_scalar() ? scalar : Broadcast::make(scalar, type.lanes());
}

std::uint64_t sign_bit(const Type& type) {
    return std::uint64_t{1} << (type.bits() - 1);
}

/// The exponent of infinities and NaNs.
std::uint64_t exponent_bits(const Type& type) {
    return type.bits() == 64 ? 0x7FF0'0000'0000'0000U : 0x7F80'0000U;
}

Expr magnitude_bits(const Expr& x) {
    const Type type = bits_of(x.type());
    return reinterpret(type, x) &
           constant(type, ~sign_bit(type) & (type.bits() == 64 ? ~std::uint64_t{0} : 0xFFFF'FFFFU));
}

/// What code generation cannot work out, since it does not know these functions: it would take the root of a constant.
Expr folded(const std::string& operation, const Type& type, double a, double b) {
    if (type.bits() == 32) {
        const auto x = static_cast<float>(a), y = static_cast<float>(b);
        return FloatImm::make(type, static_cast<double>(operation == "mul" ? x * y : x / y));
    }
    return FloatImm::make(type, operation == "mul" ? a * b : a / b);
}

/// Of vectors code generation takes these element by element.
Expr rounded(const std::string& operation, const Expr& a, const Expr& b) {
    const auto* x = a.as<FloatImm>();
    const auto* y = b.as<FloatImm>();
    if (x != nullptr && y != nullptr) return folded(operation, a.type(), x->value, y->value);
    return Call::make(a.type(), "llvm.nvvm." + operation + (a.type().bits() == 64 ? ".rn.d" : ".rn.f"), {a, b},
                      Call::PureExtern);
}

/// float32 through float64: the remainder of two float32 is one, and the library's float32 function flushes.
Expr remainder(const Expr& a, const Expr& b) {
    const Type wide = Float(64, a.type().lanes());
    return cast(a.type(), Call::make(wide, "__nv_fmod", {cast(wide, a), cast(wide, b)}, Call::PureExtern));
}

class ExactArithmetic : public IRMutator {
    using IRMutator::visit;
    bool on_device_ = false;

    Stmt visit(const For* op) override {
        const ScopedValue<bool> inside(on_device_, on_device_ || op->for_type == ForType::GPUBlock);
        return IRMutator::visit(op);
    }

    bool exact(const Type& type) const { return on_device_ && type.is_float() && type.bits() >= 32; }

    Expr multiply(const Expr& a, const Expr& b) { return rounded("mul", mutate(a), mutate(b)); }
    Expr divide(const Expr& a, const Expr& b) { return rounded("div", mutate(a), mutate(b)); }

    Expr visit(const Mul* op) override { return exact(op->type) ? multiply(op->a, op->b) : IRMutator::visit(op); }
    Expr visit(const Div* op) override { return exact(op->type) ? divide(op->a, op->b) : IRMutator::visit(op); }

    Expr visit(const Call* op) override {
        if (!on_device_ || op->args.empty() || !exact(op->args[0].type())) return IRMutator::visit(op);
        const Expr& x = op->args[0];
        if (op->is_intrinsic(Call::strict_mul)) return multiply(x, op->args[1]);
        if (op->is_intrinsic(Call::strict_div)) return divide(x, op->args[1]);
        if (op->is_intrinsic(Call::abs) || op->name == "abs_f32" || op->name == "abs_f64")
            return reinterpret(op->type, magnitude_bits(mutate(x)));
        if (op->name == "is_inf_f32" || op->name == "is_inf_f64") {
            const Expr magnitude = magnitude_bits(mutate(x));
            return magnitude == constant(magnitude.type(), exponent_bits(x.type()));
        }
        if (op->name == "is_finite_f32" || op->name == "is_finite_f64") {
            const Expr magnitude = magnitude_bits(mutate(x));
            return magnitude < constant(magnitude.type(), exponent_bits(x.type()));
        }
        if (op->name == "fmod" || op->name == "fmodf") return remainder(mutate(x), mutate(op->args[1]));
        return IRMutator::visit(op);
    }
};

} // namespace

Stmt exact_device_arithmetic(const Stmt& statement) {
    return ExactArithmetic().mutate(statement);
}

} // namespace tilewright::dsl
