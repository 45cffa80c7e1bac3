// translator/passes/packing.h: arguments that loops read by columns again and again, copied once by columns.
#pragma once

#include "translator/passes/prepared.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Before -> after, for `for i: for k: C[i, :i + 1] += A[i, k] * A[:i + 1, k]` with a small A in C order:
///   A_columns = copy of A.T; for i: for k: C[i, :i + 1] += A[i, k] * A_columns[k, :i + 1]
/// A column of A is a line of memory for each element; a row of the copy is loaded in vectors. All copies take at most
/// 1 MiB, so that no program needs noticeably more memory than NumPy. Whether it is copied is a variant of each
/// argument that could be. Arrays that the program makes: see transposed_layout.h.
Prepared packing(const Prepared& prepared, const TranslateOptions& options);

} // namespace tilewright::translator
