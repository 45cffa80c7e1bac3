// translator/parts/slices.h: whether a call may run in parts.
#pragma once

#include <string>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The array arguments that share the extent of their first axes, where every result and every written argument has it
/// as its first axis too and each position along it needs that position alone: the function of a part of each of them
/// (x[a:b]) is that part of what the function gives. Empty where that does not hold, or is not seen.
std::vector<std::string> sliced_arguments(const Program& program);

} // namespace tilewright::translator
