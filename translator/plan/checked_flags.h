// translator/plan/checked_flags.h: truths that loops only lower, and that a check asks behind them.
#pragma once

#include <set>
#include <string>

#include "translator/ir/values.h"

namespace tilewright::translator {

/// Results of loops that are truths, become only `and` of themselves and more in each iteration, and without which a
/// check behind the loop fails. Whoever reads one inside may see it before or after another iteration lowered it: if
/// any iteration does, NumPy runs the call.
std::set<std::string> checked_flags(const Program& program, const Values& values);

} // namespace tilewright::translator
