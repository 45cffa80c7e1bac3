// dsl/passes/nested_iterations.h: a thread of a device leaves the iterations of a visit where its element is done.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// A visit of scalar iterations, with markers (early_exit.h) in it:
///   state = select(alive(state), next1, state); state = select(alive(state), next2, state); ...
/// becomes
///   if (alive(state)) { state = next1; if (alive(state)) { state = next2; ... } }
/// which a thread leaves by one branch, and which keeps no old values: the marker's promise is that nothing changes any
/// more. Undefined where the visit is another one: vectors, several elements, branches that data decide.
Halide::Internal::Stmt nested_iterations(const Halide::Internal::Stmt& visit);

/// The condition of a branch with markers in it that no iteration of the loop changes; undefined where there is none.
Halide::Expr unchanging_choice(const Halide::Internal::For* loop);

/// The loop where that condition is known.
Halide::Internal::Stmt chosen(const Halide::Internal::For* loop, const Halide::Expr& choice, bool holds);

} // namespace tilewright::dsl
