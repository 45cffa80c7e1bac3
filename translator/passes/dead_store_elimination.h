// translator/passes/dead_store_elimination.h: arrays whose every element is written before it is read.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with attr::unread at the starts (np.empty, np.zeros) of arrays that are then written position by
/// position along one axis, in loops that read nothing but what was written before: they need no start. Where that is
/// not proved the start stays as it is.
Program dead_store_elimination(const Program& program);

} // namespace tilewright::translator
