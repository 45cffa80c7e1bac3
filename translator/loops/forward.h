// translator/loops/forward.h: reads of what was just written, without memory between.
#pragma once

#include "translator/program.h"

namespace tilewright::translator {

/// The program with `index` of an `update` as the part that was written (where both name the same elements) or as an
/// index of the version before (where they share none), with updates that a later one covers left out, and without
/// values that nobody reads. `A[i, j] += x; A[i, j] /= 9` writes once.
Program forward_stores(const Program& program);

} // namespace tilewright::translator
