// translator/values.cpp: names and types of values, region by region.
#include "translator/values.h"

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
