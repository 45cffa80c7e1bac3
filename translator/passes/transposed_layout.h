// translator/passes/transposed_layout.h: arrays of the program's own that loops walk through column by column, stored
// by columns.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with the axes exchanged of each array that it makes itself, writes and reads in columns alone
/// (`p[1:-1, j] = ... p[1:-1, j - 1]`), and hands to nobody: its columns become rows, which vectors load and store
/// whole. No value changes.
Program transposed_layout(const Program& program);

} // namespace tilewright::translator
