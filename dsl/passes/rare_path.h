// dsl/passes/rare_path.h: values that are computed the slow way in a few lanes only.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// The name of the marker; PureIntrinsic, so that it survives simplification and is widened by vectorization.
inline constexpr const char* kRareMarker = "tw_rare";

/// select(condition, slow, fast), lane by lane; only the cost differs: a vector in which no lane needs `slow` never
/// computes it. The lowering pass below turns
///   out[ramp] = f(rare(c, s, q))   ->   if (any(c)) out[ramp] = f(select(c, s, q)) else out[ramp] = f(q)
/// Conditions, slow and fast may hold further markers. Without the pass code generation refuses the marker.
inline Halide::Expr rare(Halide::Expr condition, Halide::Expr slow, Halide::Expr fast) {
    const Halide::Type type = fast.type();
    return Halide::Internal::Call::make(type, kRareMarker, {std::move(condition), std::move(slow), std::move(fast)},
                                        Halide::Internal::Call::PureIntrinsic);
}

/// Replaces every marker of a lowered statement: by a branch around the statement (at most two copies of it), or by
/// a plain select where no branch can stand (loop bounds, atomics).
Halide::Internal::Stmt lower_rare_paths(const Halide::Internal::Stmt& statement);

/// Makes a pipeline run lower_rare_paths at the end of its lowering, and keeps its Tuple updates simultaneous
/// (passes/tuple_updates.h), which code that uses Halide's JIT under strict_float needs as well. emit() uses
/// add_passes() of passes/passes.h, which includes this.
void add_rare_path_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
