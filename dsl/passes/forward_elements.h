// dsl/passes/forward_elements.h: what one statement stores and the next one loads stays in a register.
#pragma once

#include <string>
#include <vector>

#include "Halide.h"

namespace tilewright::dsl {

/// The statements in sequence. Where one is a store of one element, loads of that element by later ones become the
/// value; the store itself goes where a later one covers it and nothing else may read it before:
///   A[x] = u; A[x] = (A[x] + A[x - 1]) / 9   ->   let v = u in A[x] = (v + A[x - 1]) / 9
/// LLVM sees this for a few elements of one block, not for those of eight rows. `name`: of what holds the values.
Halide::Internal::Stmt forward_elements(const std::vector<Halide::Internal::Stmt>& statements, const std::string& name);

} // namespace tilewright::dsl
