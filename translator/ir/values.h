// translator/ir/values.h: the values of a program, by name, and operations that make one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// `result: type = op(operands) attributes`, without regions.
Operation make_operation(std::string result, Type type, Op op, std::vector<std::string> operands,
                         Attributes attributes = {}, int line = 0);

/// The symbols in an operation's extents, positions and sizes. Limits of loops and reads are not among them.
void collect_symbols(const Operation& operation, std::set<std::string>& symbols);

/// The check that has seen the positions of a take; -1 where none has.
int check_of(const Operation& take);

/// The reduced axes of a reduction, ascending.
std::vector<int> reduced_axes(const Operation& operation);

/// All results of an operation, the first one first.
std::vector<std::pair<std::string, Type>> results_of(const Operation& operation);

/// Every argument, parameter and result of the program, in its regions too.
std::map<std::string, Type> types_of(const Program& program);

/// The names of those values, and of the indices of loops.
std::set<std::string> names_of(const Program& program);

} // namespace tilewright::translator
