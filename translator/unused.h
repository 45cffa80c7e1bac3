// translator/unused.h: removes values that nothing needs.
#pragma once

#include "translator/program.h"

namespace tilewright::translator {

/// Without the operations whose values reach no result and no write, and without what loops carry for nobody.
Program without_unused(const Program& program);

} // namespace tilewright::translator
