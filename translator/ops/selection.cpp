// translator/ops/selection.cpp: maximum, minimum, fmax, fmin and where.
#include "translator/ops/rules.h"

namespace tilewright::translator::ops {

using Halide::Expr;

// Of two equal floats, which are told apart where one is 0.0 and the other -0.0, NumPy gives the second.
Expr maximum(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] || x[1];
    if (!x[0].type().is_float()) return Halide::max(x[0], x[1]);
    return Halide::select(x[0] > x[1] || Halide::is_nan(x[0]), x[0], x[1]);
}

Expr minimum(const Exprs& x, const RuleContext&) {
    if (x[0].type().is_bool()) return x[0] && x[1];
    if (!x[0].type().is_float()) return Halide::min(x[0], x[1]);
    return Halide::select(x[0] < x[1] || Halide::is_nan(x[0]), x[0], x[1]);
}

Expr fmax(const Exprs& x, const RuleContext& context) {
    if (!x[0].type().is_float()) return maximum(x, context);
    return Halide::select(x[0] > x[1] || Halide::is_nan(x[1]), x[0], x[1]);
}

Expr fmin(const Exprs& x, const RuleContext& context) {
    if (!x[0].type().is_float()) return minimum(x, context);
    return Halide::select(x[0] < x[1] || Halide::is_nan(x[1]), x[0], x[1]);
}

Expr where(const Exprs& x, const RuleContext&) {
    // Logic and not select for bool: vectors of bits have no blend everywhere.
    if (x[1].type().is_bool()) return (x[0] && x[1]) || (!x[0] && x[2]);
    return Halide::select(x[0], x[1], x[2]);
}

} // namespace tilewright::translator::ops
