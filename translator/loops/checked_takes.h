// translator/loops/checked_takes.h: positions in arrays that a check has seen before they are used.
#pragma once

#include "translator/program.h"

namespace tilewright::translator {

/// The program with `checked=K` at each take inside of a region whose positions are elements of an array that check K
/// has found to be inside of the axis: where the check comes first, they need no clamp.
/// Not done here: the order; see Cutter::connect.
Program checked_takes(const Program& program);

/// The check that has seen the positions of a take; -1 where none has.
int check_of(const Operation& take);

} // namespace tilewright::translator
