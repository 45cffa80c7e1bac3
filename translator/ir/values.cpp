// translator/ir/values.cpp: names and types of values, region by region; operations from their parts.
#include "translator/ir/values.h"

#include <algorithm>
#include <utility>

#include "translator/ir/walk.h"

namespace tilewright::translator {
Operation make_operation(std::string result, Type type, Op op, std::vector<std::string> operands, Attributes attributes,
                         int line) {
    Operation made;
    made.result = std::move(result);
    made.type = std::move(type);
    made.op = op;
    made.operands = std::move(operands);
    made.attributes = std::move(attributes);
    made.line = line;
    return made;
}

void collect_symbols(const Operation& operation, std::set<std::string>& symbols) {
    for (const Size& extent : operation.type.shape)
        extent.collect_symbols(symbols);
    if (operation.op == Op::for_loop || operation.op == Op::read) return;
    operation.attributes.for_each_size([&](const Size& size) { size.collect_symbols(symbols); });
}

int check_of(const Operation& take) {
    const int* check = take.attributes.find(attr::checked);
    return check == nullptr ? -1 : *check;
}

std::vector<int> reduced_axes(const Operation& operation) {
    if (const int* axis = operation.attributes.find(attr::axis)) return {*axis};
    std::vector<int> axes = operation.attributes.at(attr::axes);
    std::sort(axes.begin(), axes.end());
    return axes;
}

std::vector<std::pair<std::string, Type>> results_of(const Operation& operation) {
    std::vector<std::pair<std::string, Type>> out{{operation.result, operation.type}};
    out.insert(out.end(), operation.more_results.begin(), operation.more_results.end());
    return out;
}

std::map<std::string, Type> types_of(const Program& program) {
    std::map<std::string, Type> types;
    for (const ArrayArgument& argument : program.arrays)
        types[argument.name] = argument.type;
    for (const ScalarArgument& argument : program.scalars)
        types[argument.name] = {argument.dtype, {}};
    const auto declare = [&](const Block& block) { types.insert(block.parameters.begin(), block.parameters.end()); };
    declare(program.body);
    walk(program.body, [&](const Operation& operation) {
        for (auto& [name, type] : results_of(operation))
            types[name] = std::move(type);
        std::ranges::for_each(operation.regions, declare);
    });
    return types;
}

std::set<std::string> names_of(const Program& program) {
    std::set<std::string> names;
    for (const auto& [name, type] : types_of(program))
        names.insert(name);
    walk(program.body, [&](const Operation& operation) {
        if (operation.op == Op::for_loop) names.insert(operation.attributes.at(attr::variable));
    });
    return names;
}

} // namespace tilewright::translator
