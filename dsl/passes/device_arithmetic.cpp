// dsl/passes/device_arithmetic.cpp: puts operations with one meaning in the place of those that code generation for
// devices may transform.
#include <string>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

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

bool is_exact(const Type& type) {
    return type.is_float() && type.bits() >= 32;
}

Expr exact(Mutator& self, const Call* op) {
    if (op->args.empty() || !is_exact(op->args[0].type())) return self.inside(op);
    const auto is = [op](const std::string& name) { return op->name == name + "_f32" || op->name == name + "_f64"; };
    const auto argument = [&](std::size_t k) { return self.mutate(op->args[k]); };
    if (op->is_intrinsic(Call::strict_mul)) return rounded("mul", argument(0), argument(1));
    if (op->is_intrinsic(Call::strict_div)) return rounded("div", argument(0), argument(1));
    if (op->is_intrinsic(Call::abs) || is("abs")) return reinterpret(op->type, magnitude_bits(argument(0)));
    if (is("is_inf") || is("is_finite")) {
        const Expr magnitude = magnitude_bits(argument(0));
        const Expr infinity = constant(magnitude.type(), exponent_bits(op->args[0].type()));
        return is("is_inf") ? magnitude == infinity : magnitude < infinity;
    }
    if (op->name == "fmod" || op->name == "fmodf") return remainder(argument(0), argument(1));
    return self.inside(op);
}

template <class MulOrDiv> Expr exact(Mutator& self, const MulOrDiv* op, const std::string& operation) {
    return is_exact(op->type) ? rounded(operation, self.mutate(op->a), self.mutate(op->b)) : self.inside(op);
}

} // namespace

Stmt exact_device_arithmetic(const Stmt& statement) {
    return in_blocks(statement, [](const Stmt& block) {
        return mutate_with(
            block, [](Mutator& self, const Call* op) { return exact(self, op); },
            [](Mutator& self, const Mul* op) { return exact(self, op, "mul"); },
            [](Mutator& self, const Div* op) { return exact(self, op, "div"); });
    });
}

} // namespace tilewright::dsl
