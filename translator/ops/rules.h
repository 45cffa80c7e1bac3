// translator/ops/rules.h: the one list of elementwise operations: name, types, meaning in Halide.
#pragma once

#include <string>
#include <vector>

#include "translator/dtypes.h"
#include "translator/ops/math.h"

namespace tilewright::translator {

/// Which dtypes an operation takes and gives.
enum class Signature {
    same,       ///< T, T -> T
    floats,     ///< T, T -> T, floats only
    numbers,    ///< T, T -> T, no bool
    bits,       ///< T, T -> T, integers and bool
    integers,   ///< T, T -> T, integers only
    compare,    ///< T, T -> bool (also int64 with uint64)
    test,       ///< T -> bool
    float_test, ///< T -> bool, floats only
    choose,     ///< bool, T, T -> T
    magnitude,  ///< T, T, T[] -> bool, floats only
    words,      ///< uint64, uint64, ... -> uint64
    convert     ///< T -> U
};

/// What a rule may need beside its operands.
struct RuleContext {
    const DTypeInfo* from = nullptr; ///< the last operand's dtype
    const DTypeInfo* to = nullptr;   ///< the result's dtype
    Contraction contraction = Contraction::none;
    bool row_constant = false; ///< the last operand is the same all along the contiguous axis
};

using Exprs = std::vector<Halide::Expr>;

struct Rule {
    const char* name;
    int arity;
    Signature signature;
    int operations; ///< arithmetic operations, for the search's idea of cost
    Halide::Expr (*build)(const Exprs& operands, const RuleContext& context);
};

const std::vector<Rule>& rules();
const Rule* find_rule(const std::string& name);

/// Elementary functions of ops/math.h, by NumPy's name and number of operands.
struct ElementaryRule {
    const char* name;
    int arity;
};
const ElementaryRule* find_elementary(const std::string& name);

namespace ops {

// arithmetic.cpp
Halide::Expr add(const Exprs&, const RuleContext&);
Halide::Expr subtract(const Exprs&, const RuleContext&);
Halide::Expr multiply(const Exprs&, const RuleContext&);
Halide::Expr divide(const Exprs&, const RuleContext&);
Halide::Expr negative(const Exprs&, const RuleContext&);
Halide::Expr positive(const Exprs&, const RuleContext&);
Halide::Expr absolute(const Exprs&, const RuleContext&);
Halide::Expr sign(const Exprs&, const RuleContext&);
Halide::Expr square(const Exprs&, const RuleContext&);
Halide::Expr reciprocal(const Exprs&, const RuleContext&);
Halide::Expr square_root(const Exprs&, const RuleContext&);
Halide::Expr power(const Exprs&, const RuleContext&);
/// Whether it is a few products.
bool is_cheap_power(const Exprs&, const RuleContext&);
/// a / b of floats, for a constant zero too.
Halide::Expr quotient(const Halide::Expr& a, const Halide::Expr& b);
/// a + b and a * b modulo 2^bits: signed overflow is undefined in Halide, unsigned is not.
Halide::Expr wrapping_add(Halide::Expr a, Halide::Expr b);
Halide::Expr wrapping_multiply(Halide::Expr a, Halide::Expr b);

// division.cpp
Halide::Expr floor_divide(const Exprs&, const RuleContext&);
Halide::Expr remainder(const Exprs&, const RuleContext&);

// comparison.cpp
Halide::Expr equal(const Exprs&, const RuleContext&);
Halide::Expr not_equal(const Exprs&, const RuleContext&);
Halide::Expr less(const Exprs&, const RuleContext&);
Halide::Expr less_equal(const Exprs&, const RuleContext&);
Halide::Expr greater(const Exprs&, const RuleContext&);
Halide::Expr greater_equal(const Exprs&, const RuleContext&);
Halide::Expr logical_and(const Exprs&, const RuleContext&);
Halide::Expr logical_or(const Exprs&, const RuleContext&);
Halide::Expr logical_xor(const Exprs&, const RuleContext&);
Halide::Expr logical_not(const Exprs&, const RuleContext&);
Halide::Expr is_nan(const Exprs&, const RuleContext&);
Halide::Expr is_inf(const Exprs&, const RuleContext&);
Halide::Expr is_finite(const Exprs&, const RuleContext&);
Halide::Expr sign_bit(const Exprs&, const RuleContext&);
/// a >= b, false where either side is NaN. Halide 21 lowers <= and >= of strict floats to the negation of <, which is
/// true for NaN: floats are never compared by them here.
Halide::Expr at_least(const Halide::Expr& a, const Halide::Expr& b);
/// x != 0; NaN is true.
Halide::Expr truth(Halide::Expr x);

// magnitude.cpp
Halide::Expr magnitude_less(const Exprs&, const RuleContext&);
Halide::Expr magnitude_less_equal(const Exprs&, const RuleContext&);
Halide::Expr magnitude_greater(const Exprs&, const RuleContext&);
Halide::Expr magnitude_greater_equal(const Exprs&, const RuleContext&);

// bitwise.cpp
Halide::Expr bitwise_and(const Exprs&, const RuleContext&);
Halide::Expr bitwise_or(const Exprs&, const RuleContext&);
Halide::Expr bitwise_xor(const Exprs&, const RuleContext&);
Halide::Expr invert(const Exprs&, const RuleContext&);
Halide::Expr left_shift(const Exprs&, const RuleContext&);
Halide::Expr right_shift(const Exprs&, const RuleContext&);

// rounding.cpp
Halide::Expr floor(const Exprs&, const RuleContext&);
Halide::Expr ceil(const Exprs&, const RuleContext&);
Halide::Expr trunc(const Exprs&, const RuleContext&);
Halide::Expr rint(const Exprs&, const RuleContext&);
Halide::Expr copysign(const Exprs&, const RuleContext&);

// selection.cpp
Halide::Expr maximum(const Exprs&, const RuleContext&);
Halide::Expr minimum(const Exprs&, const RuleContext&);
Halide::Expr fmax(const Exprs&, const RuleContext&);
Halide::Expr fmin(const Exprs&, const RuleContext&);
Halide::Expr where(const Exprs&, const RuleContext&);

// pcg64.cpp
/// Steps are counted modulo 2^kPcg64OffsetBits: the trace guards that no call draws more.
inline constexpr int kPcg64OffsetBits = 40;
Halide::Expr pcg64_high(const Exprs&, const RuleContext&);
Halide::Expr pcg64_low(const Exprs&, const RuleContext&);
Halide::Expr pcg64_word(const Exprs&, const RuleContext&);

// casts.cpp
Halide::Expr cast(const Exprs&, const RuleContext&);
/// astype: `x` of dtype `from` as `to`.
Halide::Expr convert(Halide::Expr x, const DTypeInfo& from, const DTypeInfo& to);

} // namespace ops
} // namespace tilewright::translator
