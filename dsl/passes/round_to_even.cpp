// dsl/passes/round_to_even.cpp: rounding to integers on CPUs without an instruction for it.
#include <cmath>
#include <string>

#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Type;

namespace {

Expr rounded(const Expr& x) {
    const Type type = x.type(), bits = type.with_code(halide_type_uint);
    const Expr sign = make_const(bits, std::uint64_t{1} << (type.bits() - 1));
    const Expr unsigned_bits = Halide::reinterpret(bits, x) & ~sign,
               magnitude = Halide::reinterpret(type, unsigned_bits);
    // From here on all numbers are integers; the sum with it has no place behind the point.
    const Expr integers = make_const(type, std::ldexp(1.0, type.bits() == 64 ? 52 : 23));
    const Expr sum = Call::make(type, Call::strict_add, {magnitude, integers}, Call::PureIntrinsic);
    const Expr whole = Call::make(type, Call::strict_sub, {sum, integers}, Call::PureIntrinsic);
    const Expr signed_whole =
        Halide::reinterpret(type, Halide::reinterpret(bits, whole) | (Halide::reinterpret(bits, x) & sign));
    // By their bits: of comparisons with NaN nothing is promised under contract fast.
    return Halide::select(unsigned_bits < Halide::reinterpret(bits, integers), signed_whole, x);
}

} // namespace

Stmt round_to_even(const Stmt& statement) {
    return mutate_with(statement, [](Mutator& self, const Call* op) {
        if (!op->is_intrinsic(Call::round)) return self.inside(op);
        const std::string name = unique_name("tw_rounded"); // it stands several times
        const Expr x = self.mutate(op->args[0]);
        return Let::make(name, x, rounded(Variable::make(x.type(), name)));
    });
}

} // namespace tilewright::dsl
