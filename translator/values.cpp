// translator/values.cpp: names and types of values, region by region; operations from their parts.
#include "translator/values.h"

#include <utility>

namespace tilewright::translator {
namespace {

void collect_types(const Block& block, std::map<std::string, Type>& types) {
    types.insert(block.parameters.begin(), block.parameters.end());
    for (const Operation& operation : block.operations) {
        for (auto& [name, type] : results_of(operation))
            types[name] = std::move(type);
        for (const Block& region : operation.regions)
            collect_types(region, types);
    }
}

} // namespace

Operation make_operation(std::string result, Type type, std::string op, std::vector<std::string> operands,
                         std::map<std::string, std::string> attributes, int line) {
    Operation made;
    made.result = std::move(result);
    made.type = std::move(type);
    made.op = std::move(op);
    made.operands = std::move(operands);
    made.attributes = std::move(attributes);
    made.line = line;
    return made;
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
    collect_types(program.body, types);
    return types;
}

} // namespace tilewright::translator
