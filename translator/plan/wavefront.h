// translator/plan/wavefront.h: nests of rows and columns whose rows may be under way together.
#pragma once

#include "translator/plan/steps.h"

namespace tilewright::translator {

/// Marks the ranges over rows whose iterations need each other and may overlap all the same, each row some columns
/// behind the one before it, and makes their bodies ranges over columns, element by element:
///   for i { A[i, 1:-1] = …; for j { A[i, j] = … } }   ->   for i, several at once { for j { A[i, j] = …; A[i, j] = … }
///   }
/// Where the dependence test cannot decide, a range stays as it is.
void find_wavefronts(Stepped& stepped);

} // namespace tilewright::translator
