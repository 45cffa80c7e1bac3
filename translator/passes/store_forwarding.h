// translator/passes/store_forwarding.h: reads of what was just written, without memory between.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with reads of a single element that was just written as what was written, with updates that a later one
/// of the same elements covers left out, and without values that nobody reads. `A[i, j] += x; A[i, j] /= 9` writes
/// once.
Program store_forwarding(const Program& program);

} // namespace tilewright::translator
