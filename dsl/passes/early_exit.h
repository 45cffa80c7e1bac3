// dsl/passes/early_exit.h: visits of a loop in which no element would change are skipped.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Marks the condition under which an update over iterations changes an element at all:
///   state(x) = select(mark_alive(c, t), next, state(x))
/// The promise: where c is false, this iteration and every later one leave the element as it is. `iteration` is the
/// RVar of the iterations, so that the first iteration of an unrolled body can be told from the others. Value and type
/// are those of c.
Halide::Expr mark_alive(const Halide::Expr& condition, const Halide::Expr& iteration);

/// Halide's loops have no exit. Once vectors and unrolled iterations stand (a "visit" is one run of the innermost
/// serial loop's body that holds markers), this turns
///   for t in a .. a + n { visit }
/// into
///   for s in blocks of 1024 visits { if (alive()) for b in blocks of 32 { if (alive()) for t in visits { if (alive())
///   visit } } }
/// where alive() says whether any lane of any element of the visit is alive at its first iteration. A group whose
/// elements are all done then costs a test for 1024 visits. All markers are gone afterwards.
Halide::Internal::Stmt exit_early(const Halide::Internal::Stmt& statement);

} // namespace tilewright::dsl
