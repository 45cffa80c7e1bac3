// translator/ir/dead_code.h: removes values that nothing needs.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// Without the operations whose values reach no result and no write, and without what loops carry for nobody. Calls
/// stay: they may raise.
Program without_dead_code(const Program& program);

/// Drops the operations whose results nobody names, but for loops and branches, calls, and sizes that are read.
/// Whether there were any; what only they named is left for the next call.
bool drop_unused(Program& program);

} // namespace tilewright::translator
