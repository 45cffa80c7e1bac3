// translator/passes/pixelwise_if_conversion.h: branches inside of loops as values.
#pragma once

#include <optional>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with the branches inside of its pixelwise loops (`if` on a truth, a `break`) as both blocks' operations
/// and a `where` for each result. Both blocks may always be computed: no operation fails, and a place that moves with
/// the loop, which need not exist in iterations that do not take the branch, is kept inside of its array (the attribute
/// attr::clamped). Loops that are not pixelwise afterwards stay as they are.
Program pixelwise_if_conversion(const Program& program);

/// One loop without its branches; nothing where one of them cannot be computed always.
std::optional<Operation> without_branches(const Operation& loop);

} // namespace tilewright::translator
