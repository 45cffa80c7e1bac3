// translator/values.h: the values of a program, by name, and operations that make one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "translator/program.h"

namespace tilewright::translator {

/// `result: type = op(operands) attributes`, without regions.
Operation make_operation(std::string result, Type type, std::string op, std::vector<std::string> operands,
                         std::map<std::string, std::string> attributes = {}, int line = 0);

/// All results of an operation, the first one first.
std::vector<std::pair<std::string, Type>> results_of(const Operation& operation);

/// Every argument, parameter and result of the program, in its regions too.
std::map<std::string, Type> types_of(const Program& program);

} // namespace tilewright::translator
