// translator/passes/if_conversion.h: branches inside of loops that only choose between numbers, as values.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with each `if` inside of a loop whose blocks do little more than choose a number as both blocks and a
/// `where`: min(a, b) of Python, x if c else y, and an element that both blocks write:
///   if c { A[i, j] = x } else { A[i, j] = y }   ->   A[i, j] = where(c, x, y)
/// Both blocks may always be computed: no operation fails, and places that need not exist are clamped (attr::clamped).
Program if_conversion(const Program& program);

} // namespace tilewright::translator
