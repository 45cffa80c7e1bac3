// translator/plan/cut_segments.cpp: straight-line code as separate programs.
#include <algorithm>

#include "dsl/base/error.h"
#include "translator/loops/pixelwise.h"
#include "translator/plan/cutter.h"

namespace tilewright::translator {

Program Cutter::shell() const {
    Program out;
    out.function = program_.function;
    out.file = program_.file;
    out.arrays = program_.arrays;
    out.scalars = program_.scalars;
    out.argument_order = program_.argument_order;
    for (const MovingSize& symbol : symbols_) {
        out.scalars.push_back({symbol.name, "int64"});
        out.argument_order.push_back(symbol.name);
    }
    out.returns_tuple = true;
    return out;
}

void Cutter::add_array(Program& program, const std::string& name, const Type& type) {
    const bool known =
        std::ranges::any_of(program.arrays, [&](const ArrayArgument& argument) { return argument.name == name; });
    if (known) return;
    program.arrays.push_back({name, type});
    program.argument_order.push_back(name);
}

const Type& Cutter::type_of_buffer(const std::string& name) const {
    const BufferPlan* plan = out_.buffer(name);
    return plan != nullptr ? plan->type : types_.at(name);
}

Step Cutter::segment(const std::vector<std::pair<std::string, Target>>& yields) {
    Step step;
    step.segment.moving = symbols_;
    Program& program = step.segment.program;
    program = shell();
    std::map<std::size_t, const Operation*> needed; ///< by place in the text
    std::map<std::string, std::string> renamed;
    for (const auto& [value, target] : yields)
        gather(value, needed, renamed, program);
    for (const auto& [value, target] : yields)
        if (target.fresh) renamed[value] = target.buffer;
    // A half of an argument is a view of it, whatever copies of it are called.
    for (const auto& [at, operation] : needed)
        if (is_half(operation->op)) renamed[operation->result] = fresh_name("%", operation->result + "_view");
    for (const auto& [at, operation] : needed) {
        program.body.operations.push_back(*operation);
        rename(program.body.operations.back(), renamed);
    }
    for (const auto& [value, target] : yields) {
        program.body.yields.push_back(renamed.count(value) != 0 ? renamed.at(value) : value);
        const bool is_view =
            place_.count(value) == 0 && operations_.count(value) != 0 && is_half(operations_.at(value)->op);
        const bool copies = target.fresh && is_view;
        step.segment.targets.push_back(copies ? whole(target.buffer, target.type, target.line) : target);
        if (symbols_.empty()) continue;
        for (Access& access : accesses(value, access_context())) {
            const auto place = place_.find(access.memory);
            if (place != place_.end()) step.segment.reads.push_back({place->second, std::move(access.map)});
        }
    }
    return step;
}

void Cutter::rename(Operation& operation, const std::map<std::string, std::string>& renamed) {
    auto apply = [&](std::string& name) {
        const auto found = renamed.find(name);
        if (found != renamed.end()) name = found->second;
    };
    apply(operation.result);
    for (auto& [name, type] : operation.more_results)
        apply(name);
    for (std::string& operand : operation.operands)
        apply(operand);
    for (Block& block : operation.regions) {
        for (Operation& inner : block.operations)
            rename(inner, renamed);
        for (std::string& value : block.yields)
            apply(value);
    }
}

void Cutter::gather(const std::string& value, std::map<std::size_t, const Operation*>& needed,
                    std::map<std::string, std::string>& renamed, Program& program) {
    if (scalars_.count(value) != 0) return;
    const auto place = place_.find(value);
    if (place != place_.end()) {
        renamed[value] = place->second;
        add_array(program, place->second, type_of_buffer(place->second));
        return;
    }
    const Operation& operation = *operations_.at(value);
    if (is_region(operation) || operation.op == Op::update)
        throw InternalError(value + ": is read before it is in memory.");
    if (!needed.emplace(order_.at(operation.result), &operation).second) return;
    for (const std::string& operand : operation.operands)
        gather(operand, needed, renamed, program);
    for (const std::string& name : free_names(operation))
        gather(name, needed, renamed, program);
}

Step Cutter::copy_part(const std::string& from, const Type& whole, const Type& part, Target target) {
    Step step;
    step.segment.moving = symbols_;
    step.segment.reads.push_back({from, std::nullopt});
    step.segment.copied = from;
    Program& program = step.segment.program;
    program = shell();
    add_array(program, from, whole);
    program.body.operations.push_back(
        make_operation("%part", part, Op::index, {from}, {attr::index(whole_region(part.shape.size()))}, target.line));
    program.body.yields.push_back("%part");
    step.segment.targets.push_back(std::move(target));
    return step;
}

} // namespace tilewright::translator
