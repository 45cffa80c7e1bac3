// translator/ops/rules.h: what elementwise operations mean in Halide: a formula for each row of operations.def.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/dtypes.h"
#include "translator/ir/op.h"
#include "translator/ops/math.h"

namespace tilewright::translator {

/// What a rule may need beside its operands.
struct RuleContext {
    const DTypeInfo* from = nullptr; ///< the last operand's dtype
    const DTypeInfo* to = nullptr;   ///< the result's dtype
    Contraction contraction = Contraction::none;
    bool device = false;       ///< for a CUDA device
    bool row_constant = false; ///< the last operand is the same all along the contiguous axis
    bool keeps_apart = false;  ///< wider values from the narrower ones that they are made of (dsl::apart)
};

using Exprs = std::vector<Halide::Expr>;

/// The result's element of the operands' elements.
using Formula = Halide::Expr (*)(const Exprs& operands, const RuleContext& context);

/// Of an elementwise operation that is no elementary function; throws InternalError for others.
Formula formula_of(Op op);

namespace ops {

// The formulas, in the files of their families.
#define ELEMENTWISE(name, ...) Halide::Expr name(const Exprs& operands, const RuleContext& context);
#include "translator/ir/operations.def"

// arithmetic.cpp
/// Whether a power is a few products.
bool is_cheap_power(const Exprs&, const RuleContext&);
/// a / b of floats, for a constant zero too.
Halide::Expr quotient(const Halide::Expr& a, const Halide::Expr& b);
/// a + b and a * b modulo 2^bits: signed overflow is undefined in Halide, unsigned is not.
Halide::Expr wrapping_add(Halide::Expr a, Halide::Expr b);
Halide::Expr wrapping_multiply(Halide::Expr a, Halide::Expr b);

// rounding.cpp
/// The bits of a number, and the one of its sign.
Halide::Expr as_bits(const Halide::Expr& x);
Halide::Expr sign_mask(Halide::Type type);

// comparison.cpp
/// a >= b, false where either side is NaN. Halide 21 lowers <= and >= of strict floats to the negation of <, which is
/// true for NaN: floats are never compared by them here.
Halide::Expr at_least(const Halide::Expr& a, const Halide::Expr& b);
/// x != 0; NaN is true.
Halide::Expr truth(Halide::Expr x);

// pcg64.cpp
/// Steps are counted modulo 2^kPcg64OffsetBits: the trace guards that no call draws more.
inline constexpr int kPcg64OffsetBits = 40;

// casts.cpp
/// astype: `x` of dtype `from` as `to`.
Halide::Expr convert(Halide::Expr x, const DTypeInfo& from, const DTypeInfo& to);

} // namespace ops
} // namespace tilewright::translator
