// translator/ops/selection.cpp: maximum, minimum, fmax, fmin and where.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;

namespace {

/// The larger one, or the smaller one. `nan_wins`: NaN is the result wherever it is an operand, else only where both
/// are. Of two equal floats, which are told apart where one is 0.0 and the other -0.0, NumPy gives the second.
Expr extreme(const Exprs& x, bool largest, bool nan_wins) {
    if (x[0].type().is_bool()) return largest ? x[0] || x[1] : x[0] && x[1];
    if (!x[0].type().is_float()) return largest ? Halide::max(x[0], x[1]) : Halide::min(x[0], x[1]);
    const Expr beats = largest ? x[0] > x[1] : x[0] < x[1];
    return Halide::select(beats || Halide::is_nan(x[nan_wins ? 0 : 1]), x[0], x[1]);
}

} // namespace

Expr maximum(const Exprs& x, const RuleContext&) {
    return extreme(x, true, true);
}
Expr minimum(const Exprs& x, const RuleContext&) {
    return extreme(x, false, true);
}
Expr fmax(const Exprs& x, const RuleContext&) {
    return extreme(x, true, false);
}
Expr fmin(const Exprs& x, const RuleContext&) {
    return extreme(x, false, false);
}

Expr where(const Exprs& x, const RuleContext&) {
    // Logic and not select for bool: vectors of bits have no blend everywhere.
    if (x[1].type().is_bool()) return (x[0] && x[1]) || (!x[0] && x[2]);
    return Halide::select(x[0], x[1], x[2]);
}

} // namespace tilewright::translator::ops
