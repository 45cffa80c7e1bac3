// dsl/passes/whole_threads.h: a thread of a device whose elements all lie inside of the arrays runs straight ahead.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Marks the condition of a branch to a rare path (rare_path.h) inside of a device's threads.
Halide::Expr mark_rare_branch(const Halide::Expr& condition);

/// Of several elements that a thread computes one after the other (an unrolled loop inside of the threads),
///   if (i0 < n) { if (rare(x0)) slow else fast }  if (i1 < n) { if (rare(x1)) slow else fast }
/// this makes
///   if (i0 < n && i1 < n) { fast; fast; if (rare(x0) || rare(x1)) { all of it again, with its branches } } else { as
///   before }
/// Code generation moves no load over a branch, so a thread would wait for memory once for each element. All marks of
/// rare branches are gone afterwards.
Halide::Internal::Stmt whole_threads(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
