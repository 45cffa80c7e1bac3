// translator/loops/branches.h: branches inside of loops as values.
#pragma once

#include "translator/program.h"

namespace tilewright::translator {

/// The program with the branches inside of its pixelwise loops (`if` on a truth, a `break`) as both blocks' operations and
/// a `where` for each result. Both blocks may always be computed: positions are guarded for all trips, and no
/// operation fails. Loops that are not pixelwise afterwards stay as they are.
Program branches_as_values(const Program& program);

} // namespace tilewright::translator
