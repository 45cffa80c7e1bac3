// translator/passes/array_classes.cpp: a union of values by the name of one of them.
#include "translator/passes/array_classes.h"

#include <algorithm>

#include "translator/ir/walk.h"

namespace tilewright::translator {

ArrayClasses::ArrayClasses(const Program& program, const Values& values) : values_(values) {
    walk(program.body, [this](const Operation& operation) { read(operation); });
    for (const ArrayArgument& argument : program.arrays)
        refuse(argument.name);
    for (const std::string& name : program.body.yields)
        refuse(name);
    for (const Write& write : program.writes)
        refuse(write.value);
}

void ArrayClasses::read(const Operation& operation) {
    const std::vector<std::string>& operands = operation.operands;
    const auto refuse_each = [this](const std::string& name) { refuse(name); };
    if (!operation.regions.empty()) return join_regions(operation);
    if (operation.op == Op::update) {
        continues(operation.result, operands[0]);
        accesses_.emplace_back(operation.result, &operation);
        std::for_each(operands.begin() + 1, operands.end(), refuse_each);
        return;
    }
    if (operation.op == Op::index)
        accesses_.emplace_back(operands[0], &operation);
    else
        std::ranges::for_each(operands, refuse_each);
    refuse(operation.result);
}

void ArrayClasses::join_regions(const Operation& operation) {
    const auto results = results_of(operation);
    for (const Block& region : operation.regions) {
        for (std::size_t k = 0; k < region.parameters.size() && k < results.size(); ++k) {
            join(region.parameters[k].first, results[k].first);
            continues(results[k].first, operation.operands[k]);
        }
        const bool condition = operation.op == Op::while_loop && &region == &operation.regions.front();
        for (std::size_t k = 0; k < region.yields.size(); ++k) {
            if (condition || k >= results.size())
                refuse(region.yields[k]);
            else
                join(region.yields[k], results[k].first);
        }
    }
    if (operation.op == Op::if_else) refuse(operation.operands[0]);
}

void ArrayClasses::change(Operation& operation, Builder& builder, const Change& change) const {
    const auto begin = [&](std::string& start, const std::string& array) {
        const Operation* const filled = fill(start);
        if (filled == nullptr) return;
        Operation copy = *filled;
        if (!change(array, copy.type)) return;
        start = copy.result = builder.fresh();
        builder.append(std::move(copy));
    };
    if (operation.op == Op::update) begin(operation.operands[0], operation.result);
    if (!operation.regions.empty()) {
        const auto& parameters = operation.regions.front().parameters;
        for (std::size_t k = 0; k < parameters.size(); ++k)
            begin(operation.operands[k], parameters[k].first);
    }
    change(operation.result, operation.type);
    for (auto& [name, type] : operation.more_results)
        change(name, type);
    for (Block& region : operation.regions)
        for (auto& [name, type] : region.parameters)
            change(name, type);
}

std::string ArrayClasses::root(std::string name) const {
    for (auto found = parents_.find(name); found != parents_.end(); found = parents_.find(name))
        name = found->second;
    return name;
}

void ArrayClasses::join(const std::string& a, const std::string& b) {
    const std::string from = root(a), to = root(b);
    if (from != to) parents_[from] = to;
}

void ArrayClasses::continues(const std::string& result, const std::string& start) {
    if (fill(start) == nullptr) join(result, start);
}

std::set<std::string> ArrayClasses::refused_roots() const {
    std::set<std::string> out;
    for (const std::string& name : refused_)
        out.insert(root(name));
    return out;
}

const Operation* ArrayClasses::fill(const std::string& name) const {
    const Operation* const made = values_.made_by(name, Op::broadcast_to);
    const bool fills = made != nullptr && made->type.shape.size() == 2 && values_.type(made->operands[0]).shape.empty();
    return fills ? made : nullptr;
}

} // namespace tilewright::translator
