// dsl/passes/scalar_predicates.h: predicated loads and stores of single values become branches.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Tails such as predicate and shift_inwards_and_blend put predicates on loads and stores. Halide's code generation
/// knows them for vectors alone: a loop that is not vectorized, or the scalar tail of one that is, ends in an LLVM
/// assertion. This makes a pipeline turn
///   predicate(c) out[i] = x[i]   ->   if (c) out[i] = x[i]
///   predicate(c) x[i]            ->   c ? x[i] : 0
/// It also turns a vector that is read backwards from a constant place round, and fails where the lanes that the
/// predicate leaves out lie in front of the array (`b[:, ::-1]` of five columns): those are read lane by lane.
void add_scalar_predicates_pass(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
