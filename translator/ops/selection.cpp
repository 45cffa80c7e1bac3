// translator/ops/selection.cpp: maximum, minimum, fmax, fmin and where.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;

namespace {

/// The larger one, or the smaller one. `nan_wins`: NaN is the result wherever it is an operand, else only where both
/// are. Of two equal floats, which are told apart where one is 0.0 and the other -0.0, NumPy gives the second, of
/// float16 the first.
Expr extreme(const Exprs& x, const RuleContext& context, bool largest, bool nan_wins) {
    if (x[0].type().is_bool()) return largest ? x[0] || x[1] : x[0] && x[1];
    if (!x[0].type().is_float()) return largest ? Halide::max(x[0], x[1]) : Halide::min(x[0], x[1]);
    const Expr &higher = x[largest ? 0 : 1], &lower = x[largest ? 1 : 0];
    const Expr beats = context.to->dtype == DType::float16 ? at_least(higher, lower) : higher > lower;
    return Halide::select(beats || Halide::is_nan(x[nan_wins ? 0 : 1]), x[0], x[1]);
}

} // namespace

Expr maximum(const Exprs& x, const RuleContext& context) {
    return extreme(x, context, true, true);
}
Expr minimum(const Exprs& x, const RuleContext& context) {
    return extreme(x, context, false, true);
}
Expr fmax(const Exprs& x, const RuleContext& context) {
    return extreme(x, context, true, false);
}
Expr fmin(const Exprs& x, const RuleContext& context) {
    return extreme(x, context, false, false);
}

Expr where(const Exprs& x, const RuleContext&) {
    // Logic and not select for bool: vectors of bits have no blend everywhere.
    if (x[1].type().is_bool()) return (x[0] && x[1]) || (!x[0] && x[2]);
    return Halide::select(x[0], x[1], x[2]);
}

} // namespace tilewright::translator::ops
