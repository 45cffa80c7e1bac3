// dsl/passes/rare_path.h: values that are computed the slow way in a few lanes only.
#pragma once

#include "dsl/passes/walk.h"

namespace tilewright::dsl {

inline constexpr const char* kRareMarker = "tw_rare";

/// select(condition, slow, fast), lane by lane; only the cost differs: a vector in which no lane needs `slow` never
/// computes it. The lowering pass below turns
///   out[ramp] = f(rare(c, s, q))   ->   if (any(c)) out[ramp] = f(select(c, s, q)) else out[ramp] = f(q)
/// Conditions, slow and fast may hold further markers. Without the pass code generation refuses the marker.
inline Halide::Expr rare(const Halide::Expr& condition, const Halide::Expr& slow, const Halide::Expr& fast) {
    return marked(kRareMarker, fast.type(), {condition, slow, fast});
}

/// Replaces every marker of a lowered statement: by a branch around the statement (at most two copies of it), or by
/// a plain select where no branch can stand (loop bounds, atomics).
Halide::Internal::Stmt lower_rare_paths(const Halide::Internal::Stmt& statement);

/// Makes a pipeline run lower_rare_paths at the end of its lowering, and keeps its Tuple updates simultaneous
/// (protect_tuple_updates of passes.h), which code that uses Halide's JIT under strict_float needs as well. emit() uses
/// add_passes() of passes/passes.h, which includes this.
void add_rare_path_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
