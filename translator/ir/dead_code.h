// translator/ir/dead_code.h: removes values that nothing needs.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// Without the operations whose values reach no result and no write, and without what loops carry for nobody.
Program without_dead_code(const Program& program);

} // namespace tilewright::translator
