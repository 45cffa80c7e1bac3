// translator/values.h: the values of a program, by name.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "translator/program.h"

namespace tilewright::translator {

/// All results of an operation, the first one first.
std::vector<std::pair<std::string, Type>> results_of(const Operation& operation);

/// Every argument, parameter and result of the program, in its regions too.
std::map<std::string, Type> types_of(const Program& program);

} // namespace tilewright::translator
