// translator/passes/bounds_check_elimination.h: positions in arrays that a check has seen before they are used.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with `checked=K` at each take inside of a region whose positions are elements of an array that check K
/// has found to be inside of the axis: where the check comes first, they need no clamp.
/// Not done here: the order; see plan/cut_items.
Program bounds_check_elimination(const Program& program);

} // namespace tilewright::translator
