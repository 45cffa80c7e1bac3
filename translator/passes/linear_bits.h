// translator/passes/linear_bits.h: recurrences that are linear in the bits of what a loop carries.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// A chain of shifts, masks, exclusive ors and choices by single bits between numbers that differ by what no iteration
/// changes (checksums, shift registers) is linear over single bits: each bit of the start adds (xor) a number of its
/// own to the end, whatever the other bits are. The program with such a chain of a loop's body as one sum: the numbers
/// are computed before the loop, and an iteration depends on the one before by some eight steps instead of three for
/// each choice. Values are the same integers.
Program linear_bits(const Program& program);

} // namespace tilewright::translator
