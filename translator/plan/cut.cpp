// translator/plan/cut.cpp: the program as a cut sees it, and its end.
#include <algorithm>

#include "dsl/base/error.h"
#include "translator/plan/cutter.h"
#include "translator/plan/wavefront.h"

namespace tilewright::translator {

Stepped Cutter::run() {
    for (const ArrayArgument& argument : program_.arrays) {
        types_[argument.name] = argument.type;
        names_.insert(argument.name);
    }
    for (const ScalarArgument& argument : program_.scalars) {
        types_[argument.name] = Type{argument.dtype, {}};
        scalars_.insert(argument.name);
        names_.insert(argument.name);
    }
    for (const Write& write : program_.writes)
        written_.insert(write.argument);
    collect(program_.body);
    for (const ArrayArgument& argument : program_.arrays) {
        place_[argument.name] = argument.name;
        if (written_.count(argument.name) != 0)
            out_.buffers.push_back({argument.name, argument.type, BufferPlan::Kind::written, false});
    }
    Names ends;
    for (const std::string& value : program_.body.yields)
        if (operations_.count(value) != 0) add_end(value, ends); // an argument is returned as it lies
    for (const Write& write : program_.writes)
        add_end(write.value, ends);
    // Where a size that is read does not fit, NumPy runs the call: that has to be known before anything is written.
    const bool may_write = !has_unbounded_read(program_.body, true);
    out_.steps = block(program_.body, ends, may_write ? written_ : Names());
    finish();
    return std::move(out_);
}

void Cutter::add_end(const std::string& value, Names& ends) const {
    if (const Operation* complex = complex_of(value))
        ends.insert(complex->operands.begin(), complex->operands.end());
    else
        ends.insert(value);
}

const Operation* Cutter::complex_of(const std::string& value) const {
    const auto found = operations_.find(value);
    return found != operations_.end() && found->second->op == Op::complex ? found->second : nullptr;
}

void Cutter::collect(const Block& block) {
    for (const auto& [name, type] : block.parameters) {
        types_[name] = type;
        home_[name] = &block;
        names_.insert(name);
    }
    for (const Operation& operation : block.operations) {
        order_[operation.result] = order_.size();
        for (const auto& [name, type] : results_of(operation)) {
            types_[name] = type;
            home_[name] = &block;
            names_.insert(name);
            operations_[name] = &operation;
        }
        if (operation.op == Op::read) read_.insert(operation.result);
        for (const Block& inner : operation.regions)
            collect(inner);
    }
}

const Operation* Cutter::operation_of(const std::string& value) const {
    if (place_.count(value) != 0) return nullptr;
    const auto found = operations_.find(value);
    return found == operations_.end() ? nullptr : found->second;
}

const Block* Cutter::home_of(const std::string& value) const {
    const auto found = home_.find(value);
    return found == home_.end() ? nullptr : found->second;
}

std::string Cutter::fresh_name(const std::string& value, const std::string& otherwise) {
    if (value[0] != '%' && used_.insert(value).second) return value;
    const std::string& wish = value[0] == '%' ? otherwise : value;
    std::string name = wish;
    for (int k = 2; names_.count(name) != 0 || !used_.insert(name).second; ++k)
        name = wish + "_" + std::to_string(k);
    return name;
}

BufferPlan& Cutter::buffer(const std::string& name) {
    for (BufferPlan& plan : out_.buffers)
        if (plan.name == name) return plan;
    throw InternalError("buffer " + name + ": not in the table.");
}

bool Cutter::is_temporary(const std::string& name) const {
    const BufferPlan* plan = out_.buffer(name);
    return plan != nullptr && plan->kind == BufferPlan::Kind::temporary;
}

Names Cutter::sizes_of(const Operation& operation) const {
    Names found;
    if (read_.empty()) return found;
    collect_symbols(operation, found);
    for (const auto& [name, type] : operation.more_results)
        for (const Size& extent : type.shape)
            extent.collect_symbols(found);
    operation.attributes.for_each_size([&](const Size& size) { size.collect_symbols(found); });
    std::erase_if(found, [this](const std::string& name) { return read_.count(name) == 0; });
    return found;
}

bool Cutter::has_unbounded_read(const Block& block, bool outermost) {
    return std::ranges::any_of(block.operations, [&](const Operation& operation) {
        if (operation.op == Op::read) return !outermost && !operation.attributes.has(attr::min);
        return std::ranges::any_of(operation.regions,
                                   [](const Block& inner) { return has_unbounded_read(inner, false); });
    });
}

std::optional<Type> Cutter::bounded(Type type) const {
    for (Size& extent : type.shape) {
        if (!translator::moves(extent, symbols_)) continue;
        const std::optional<Size> most = largest(extent, symbols_);
        if (!most) return std::nullopt;
        // A loop without iterations may end before it begins.
        extent = larger_of(*most, Size::integer(0));
    }
    return type;
}

bool Cutter::moves(const Type& type) const {
    return std::ranges::any_of(type.shape, [&](const Size& extent) { return translator::moves(extent, symbols_); });
}

std::string Cutter::add_temporary(const std::string& name, const Type& type, std::vector<Step>& steps) {
    out_.buffers.push_back({name, type, BufferPlan::Kind::temporary, false, moves(type)});
    if (out_.buffers.back().local) {
        steps.push_back(step_of(Step::Kind::temporary, {name}));
    }
    return name;
}

void Cutter::roots(const std::string& value, Names& found) const {
    if (scalars_.count(value) != 0) return;
    const auto operation = operations_.find(value);
    if (place_.count(value) != 0 || operation == operations_.end()) {
        found.insert(value);
    } else if (is_free(operation->second->op)) {
        for (const std::string& operand : operation->second->operands)
            roots(operand, found);
    } else {
        found.insert(value);
    }
}

void Cutter::free_names(const Operation& operation, Names& defined, Names& found) const {
    const auto sizes = [&](const Operation& of) {
        for (const std::string& name : sizes_of(of))
            if (defined.count(name) == 0) found.insert(name);
    };
    sizes(operation);
    for (const Block& block : operation.regions) {
        for (const auto& [name, type] : block.parameters)
            defined.insert(name);
        for (const Operation& inner : block.operations) {
            for (const std::string& operand : inner.operands)
                if (defined.count(operand) == 0) found.insert(operand);
            sizes(inner);
            free_names(inner, defined, found);
            for (const auto& [name, type] : results_of(inner))
                defined.insert(name);
        }
        for (const std::string& value : block.yields)
            if (defined.count(value) == 0) found.insert(value);
    }
}

Names Cutter::free_names(const Operation& operation) const {
    Names defined, found;
    free_names(operation, defined, found);
    return found;
}

void Cutter::closure(const std::string& value, const Names& made, Names& found, Names& seen) const {
    if (scalars_.count(value) != 0 || !seen.insert(value).second) return;
    const auto operation = operations_.find(value);
    if (read_.count(value) != 0 && made.count(value) == 0) return; // known here
    if (place_.count(value) != 0 || operation == operations_.end() || made.count(value) != 0) {
        found.insert(value);
        return;
    }
    closure(*operation->second, made, found, seen);
}

void Cutter::closure(const Operation& operation, const Names& made, Names& found, Names& seen) const {
    for (const std::string& operand : operation.operands)
        closure(operand, made, found, seen);
    for (const std::string& name : free_names(operation)) // its sizes are among them
        closure(name, made, found, seen);
}

void Cutter::finish() {
    // Written arguments get their values; one that another one wants is saved first.
    std::vector<std::pair<std::string, std::string>> moves;
    Names targets;
    for (const Write& write : program_.writes) {
        if (complex_of(write.value) != nullptr) continue;
        const std::string& from = place_.at(write.value); // an end of the block is in memory
        if (from == write.argument) continue;
        moves.emplace_back(from, write.argument);
        targets.insert(write.argument);
    }
    Names results;
    std::map<std::string, std::string> known; ///< what is returned already, and where it is
    for (const std::string& value : program_.body.yields) {
        if (scalars_.count(value) != 0 || operations_.count(value) == 0) {
            out_.returned.push_back(value);
            continue;
        }
        if (const auto before = known.find(value); before != known.end()) {
            out_.returned.push_back(before->second);
            continue;
        }
        if (const Operation* complex = complex_of(value)) {
            const std::string whole_name = add_temporary(fresh_name(value, "result"), types_.at(value), out_.steps);
            out_.steps.push_back(halves(*complex, whole_name));
            buffer(whole_name).kind = BufferPlan::Kind::result;
            known[value] = whole_name;
            out_.returned.push_back(whole_name);
            continue;
        }
        std::string name = place_.at(value);
        if (!is_temporary(name) || buffer(name).swapped || results.count(name) != 0) {
            const std::string copy =
                add_temporary(fresh_name("%", base_name(name) + "_result"), types_.at(value), out_.steps);
            out_.steps.push_back(step_of(Step::Kind::copy, {name, copy}));
            name = copy;
        }
        buffer(name).kind = BufferPlan::Kind::result;
        results.insert(name);
        known[value] = name;
        out_.returned.push_back(name);
    }
    std::map<std::string, std::string> saved; ///< of an argument: what it held before
    const auto before_writes = [&](const std::string& from) {
        if (targets.count(from) == 0) return from;
        std::string& copy = saved[from];
        if (copy.empty()) {
            copy = add_temporary(fresh_name("%", base_name(from) + "_last"), type_of_buffer(from), out_.steps);
            out_.steps.push_back(step_of(Step::Kind::copy, {from, copy}));
        }
        return copy;
    };
    for (auto& [from, to] : moves)
        from = before_writes(from);
    for (const Write& write : program_.writes) {
        const Operation* complex = complex_of(write.value);
        if (complex == nullptr) continue;
        // The half of a real array that became complex is that array itself.
        for (const std::string& half : complex->operands)
            if (const auto place = place_.find(half); place != place_.end())
                place->second = before_writes(place->second);
    }
    for (const auto& [from, to] : moves)
        out_.steps.push_back(step_of(Step::Kind::copy, {from, to}));
    for (const Write& write : program_.writes)
        if (const Operation* complex = complex_of(write.value)) out_.steps.push_back(halves(*complex, write.argument));
}

Step Cutter::halves(const Operation& complex, const std::string& name) {
    Type half = types_.at(complex.result);
    half.dtype = types_.at(complex.operands[0]).dtype;
    return segment({{complex.operands[0], whole(name + ".real", half, complex.line)},
                    {complex.operands[1], whole(name + ".imag", half, complex.line)}});
}

std::set<std::string> memory_of(const Step& step) {
    std::set<std::string> names;
    if (!step.is_range())
        for (const Size& argument : step.arguments)
            if (argument.op() == Size::Op::symbol) names.insert(argument.name());
    for (const ArrayArgument& array : step.segment.program.arrays)
        names.insert(array.name);
    for (const Target& target : step.segment.targets)
        names.insert(target.buffer);
    return names;
}

Stepped cut_into_steps(const Program& program, bool device) {
    Stepped stepped = Cutter(program, device).run();
    if (!device) find_wavefronts(stepped);
    return stepped;
}

} // namespace tilewright::translator
