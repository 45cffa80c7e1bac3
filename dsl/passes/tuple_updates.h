// dsl/passes/tuple_updates.h: Tuple updates that stay simultaneous under strict floating point.
#pragma once

#include "Halide.h"

namespace tilewright::dsl {

/// Halide 21 stores the elements of a Tuple one by one where no element's new value needs another's old one. It looks
/// for such needs without looking into calls, and under strict_float every comparison is a call. So
///   best(i) = {select(x < best(i)[0], x, best(i)[0]), select(x < best(i)[0], r, best(i)[1])}
/// is stored as two updates, the second of which compares with the first one's result: argmin is always 0, silently.
/// This gives each element a visible use of what it needs, select(never, best(i)[0], value), in every definition that
/// the pipeline reaches, and adds a lowering pass that makes `never` false. Directives must have been applied before,
/// since rfactor and atomic recognize updates by their shape.
void protect_tuple_updates(Halide::Pipeline& pipeline);

} // namespace tilewright::dsl
