// dsl/passes/half_floats.cpp: float16 in kernels: markers between its bits and float32, and what becomes of them.
#include <cmath>
#include <string>
#include <utility>

#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr const char* kWiden = "tw_half_to_float";
constexpr const char* kNarrow = "tw_float_to_half";

constexpr std::uint32_t kFloatInfinity = 0x7F80'0000;
constexpr std::uint32_t kQuiet = 0x0040'0000;        ///< of a NaN of float32
constexpr std::uint32_t kRebias = 112 << 23;         ///< float32 counts exponents from -127 on, float16 from -15 on
constexpr std::uint32_t kSmallestNormal = 113 << 23; ///< 2^-14
constexpr std::uint32_t kBeyond = 143 << 23;         ///< 2^16

Expr number(const Expr& like, std::uint32_t value) {
    return make_const(like.type(), value);
}

Expr as_float(const Expr& bits) {
    return reinterpret(Float(32, bits.type().lanes()), bits);
}

Expr as_bits(const Expr& x) {
    return reinterpret(UInt(32, x.type().lanes()), x);
}

/// `h`: the bits, in a UInt(32). Subnormal numbers are counted as integers, so that no mode of the CPU's in which it
/// takes subnormal numbers for zeros matters.
Expr widened(const Expr& h) {
    const Expr magnitude = h & number(h, 0x7FFF);
    const Expr shifted = magnitude << number(h, 13);
    const Type single = Float(32, h.type().lanes());
    const Expr counted = cast(single, cast(Int(32, h.type().lanes()), magnitude));
    const Expr subnormal = as_bits(counted * make_const(single, std::ldexp(1.0, -24)));
    const Expr quiet =
        select(magnitude > number(h, 0x7C00), number(h, kFloatInfinity | kQuiet), number(h, kFloatInfinity));
    const Expr bits = select(magnitude < number(h, 0x400), subnormal, magnitude >= number(h, 0x7C00), shifted | quiet,
                             shifted + number(h, kRebias));
    return as_float(bits | ((h & number(h, 0x8000)) << number(h, 16)));
}

/// `f`: the bits of a float32.
Expr narrowed(const Expr& f) {
    const Expr magnitude = f & number(f, 0x7FFF'FFFF);
    // Half of the last place, less one where the place is even already; a carry goes on into the exponent, and from the
    // largest number to infinity.
    const Expr odd = (magnitude >> number(f, 13)) & number(f, 1);
    const Expr normal = (magnitude - number(f, kRebias) + number(f, 0xFFF) + odd) >> number(f, 13);
    // The places of a float32 of 0.5 and more are the places of subnormal float16: the sum rounds to them.
    const Expr half = number(f, 0x3F00'0000);
    const Expr subnormal = as_bits(as_float(magnitude) + as_float(half)) - half;
    const Expr nan = ((magnitude >> number(f, 13)) & number(f, 0x3FF)) | number(f, 0x7E00);
    const Expr bits = select(magnitude > number(f, kFloatInfinity), nan, magnitude >= number(f, kBeyond),
                             number(f, 0x7C00), magnitude < number(f, kSmallestNormal), subnormal, normal);
    return cast(UInt(16, f.type().lanes()), bits | ((f >> number(f, 16)) & number(f, 0x8000)));
}

/// The operand stands several times in the formula.
template <class Formula> Expr once(const Expr& operand, const Formula& formula) {
    const std::string name = unique_name("tw_half");
    return Let::make(name, operand, common_subexpression_elimination(formula(Variable::make(operand.type(), name))));
}

} // namespace

Expr half_to_float(const Expr& bits) {
    return marked(kWiden, Float(32, bits.type().lanes()), {bits});
}

Expr float_to_half(const Expr& x) {
    // What was widened is the number that it was.
    if (const auto* call = x.as<Call>(); call != nullptr && is_marker(call, kWiden)) return call->args[0];
    return marked(kNarrow, UInt(16, x.type().lanes()), {x});
}

Expr rounded_to_half(const Expr& x) {
    if (const auto* call = x.as<Call>(); call != nullptr && is_marker(call, kWiden)) return x;
    return half_to_float(float_to_half(x));
}

Stmt lower_half_floats(const Stmt& statement, bool as_instructions) {
    return mutate_with(statement, [as_instructions](Mutator& self, const Call* op) {
        const bool widens = is_marker(op, kWiden);
        if (!widens && !is_marker(op, kNarrow)) return self.inside(op);
        const Expr operand = self.mutate(op->args[0]);
        const int lanes = op->type.lanes();
        if (as_instructions)
            return widens ? cast(op->type, reinterpret(Float(16, lanes), operand))
                          : reinterpret(op->type, cast(Float(16, lanes), operand));
        return widens ? once(cast(UInt(32, lanes), operand), widened) : once(as_bits(operand), narrowed);
    });
}

} // namespace tilewright::dsl
