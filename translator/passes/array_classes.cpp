// translator/passes/array_classes.cpp: a union of values by the name of one of them.
#include "translator/passes/array_classes.h"

#include "translator/ir/values.h"

namespace tilewright::translator {

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
    if (fills_.count(start) == 0) join(result, start);
}

void ArrayClasses::refuse_ends(const Program& program) {
    for (const ArrayArgument& argument : program.arrays)
        refuse(argument.name);
    for (const std::string& name : program.body.yields)
        refuse(name);
    for (const Write& write : program.writes)
        refuse(write.value);
}

std::set<std::string> ArrayClasses::refused_roots() const {
    std::set<std::string> out;
    for (const std::string& name : refused_)
        out.insert(root(name));
    return out;
}

const Operation* ArrayClasses::fill(const std::string& name) const {
    const auto found = fills_.find(name);
    return found == fills_.end() ? nullptr : &found->second;
}

void ArrayClasses::join_regions(const Operation& operation, const std::function<void(const Block&)>& read) {
    const auto results = results_of(operation);
    for (const Block& region : operation.regions) {
        for (std::size_t k = 0; k < region.parameters.size() && k < results.size(); ++k) {
            join(region.parameters[k].first, results[k].first);
            continues(results[k].first, operation.operands[k]);
        }
        read(region);
        const bool condition = operation.op == Op::while_loop && &region == &operation.regions.front();
        for (std::size_t k = 0; k < region.yields.size(); ++k) {
            if (condition || k >= results.size())
                refuse(region.yields[k]);
            else
                join(region.yields[k], results[k].first);
        }
    }
    if (operation.op == Op::if_else)
        for (const std::string& operand : operation.operands)
            refuse(operand);
}

} // namespace tilewright::translator
