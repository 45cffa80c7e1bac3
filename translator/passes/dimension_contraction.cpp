// translator/passes/dimension_contraction.cpp: classes of values that share memory or could, and what is written into
// them.
#include "translator/passes/dimension_contraction.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/passes/array_classes.h"

namespace tilewright::translator {
namespace {

/// Which part of an array is read or written: a slice of one axis at a position of the other one.
struct Part {
    int axis = 0;
    std::string slice;
    Size extent;
    bool operator==(const Part&) const = default;
};

class Evener {
  public:
    explicit Evener(const Program& program) : program_(program) {}

    Program run() {
        for (const ScalarArgument& argument : program_.scalars)
            types_[argument.name] = {argument.dtype, {}};
        collect_moving(program_.body);
        read(program_.body);
        classes_.refuse_ends(program_);
        choose();
        if (even_.empty()) return program_;
        Program out = program_;
        rewrite(out.body, {});
        return out;
    }

  private:
    const Program& program_;
    std::map<std::string, Type> types_;
    std::map<std::string, const Operation*> made_by_;
    ArrayClasses classes_;
    std::set<std::string> moving_;                                 ///< sizes that differ from iteration to iteration
    std::vector<std::pair<std::string, Part>> parts_;              ///< by the array
    std::vector<std::pair<std::string, const Operation*>> writes_; ///< into which array
    std::map<std::string, Part> even_;                             ///< by root
    int made_ = 0;

    void collect_moving(const Block& block) {
        walk(block, [this](const Operation& operation) {
            if (operation.op == Op::read) moving_.insert(operation.result);
            if (operation.op == Op::for_loop) moving_.insert(operation.attributes.at(attr::variable));
        });
    }

    // -- which arrays ------------------------------------------------------------------------------------------------

    const Part* even(const std::string& name) const {
        const auto found = even_.find(classes_.root(name));
        return found == even_.end() ? nullptr : &found->second;
    }
    void note(const std::string& array, const Operation& operation, const Type& part) {
        const std::vector<IndexEntry> entries = operation.attributes.at(attr::index);
        Part out;
        int slices = 0;
        std::set<std::string> symbols;
        for (std::size_t k = 0; k < entries.size(); ++k) {
            if (entries[k].kind != IndexEntry::Kind::slice) continue;
            ++slices;
            out.axis = static_cast<int>(k);
            out.slice = entries[k].start.text() + ":" + entries[k].step.text();
            entries[k].start.collect_symbols(symbols);
            entries[k].step.collect_symbols(symbols);
        }
        const bool has_newaxis = std::any_of(entries.begin(), entries.end(), [](const IndexEntry& entry) {
            return entry.kind == IndexEntry::Kind::newaxis;
        });
        if (entries.size() != 2 || slices != 1 || has_newaxis || part.shape.size() != 1) return classes_.refuse(array);
        part.shape[0].collect_symbols(symbols);
        // The same slice in every iteration, not one that is only spelt alike.
        if (std::any_of(symbols.begin(), symbols.end(), [&](const auto& name) { return moving_.count(name) != 0; }))
            return classes_.refuse(array);
        out.extent = part.shape[0];
        parts_.emplace_back(array, std::move(out));
    }

    void read(const Block& block) {
        types_.insert(block.parameters.begin(), block.parameters.end());
        for (const Operation& operation : block.operations)
            read(operation);
    }

    void read(const Operation& operation) {
        const std::vector<std::string>& operands = operation.operands;
        types_[operation.result] = operation.type;
        types_.insert(operation.more_results.begin(), operation.more_results.end());
        made_by_[operation.result] = &operation;
        if (operation.op == Op::update) {
            classes_.continues(operation.result, operands[0]);
            const auto part = types_.find(operands[1]);
            note(operation.result, operation, part == types_.end() ? Type{} : part->second);
            writes_.emplace_back(operation.result, &operation);
            classes_.refuse(operands[1]);
            return;
        }
        if (operation.op == Op::index) {
            note(operands[0], operation, operation.type);
            classes_.refuse(operation.result);
            return;
        }
        if (operation.regions.empty()) {
            for (const std::string& operand : operands)
                classes_.refuse(operand);
            const bool fill =
                operation.op == Op::broadcast_to && operation.type.shape.size() == 2 && is_number(operands[0]);
            if (fill) classes_.add_fill(operation);
            classes_.refuse(operation.result);
            return;
        }
        classes_.join_regions(operation, [this](const Block& region) { read(region); });
        if (operation.op == Op::if_else)
            for (const auto& [name, type] : results_of(operation))
                classes_.refuse(name);
    }

    bool is_number(const std::string& name) const {
        const auto found = types_.find(name);
        return found != types_.end() && found->second.shape.empty();
    }

    /// Whether a value is the same for all of its elements, where the arrays of even_ are that along their axes.
    bool is_uniform(const std::string& name) const {
        if (is_number(name)) return true;
        const auto made = made_by_.find(name);
        if (made == made_by_.end()) return false;
        const Operation& operation = *made->second;
        if (operation.op == Op::broadcast_to) return is_number(operation.operands[0]);
        if (operation.op == Op::index) return even(operation.operands[0]) != nullptr;
        return operation.regions.empty() && is_elementwise(operation.op) &&
               std::all_of(operation.operands.begin(), operation.operands.end(),
                           [this](const std::string& operand) { return is_uniform(operand); });
    }

    /// All that nothing forbids, less those into which something else is written, until nothing changes.
    void choose() {
        std::set<std::string> refused = classes_.refused_roots();
        for (const auto& [name, part] : parts_) {
            const auto [found, first] = even_.emplace(classes_.root(name), part);
            if (!first && !(found->second == part)) refused.insert(found->first);
        }
        // What is computed and not only filled in.
        std::set<std::string> worth;
        for (const auto& [name, write] : writes_) {
            const auto made = made_by_.find(write->operands[1]);
            if (made != made_by_.end() && is_elementwise(made->second->op)) worth.insert(classes_.root(name));
        }
        std::erase_if(even_,
                      [&](const auto& each) { return refused.count(each.first) != 0 || worth.count(each.first) == 0; });
        for (bool changed = true; changed;) {
            changed = false;
            for (const auto& [name, write] : writes_)
                if (even(name) != nullptr && !is_uniform(write->operands[1]))
                    changed = even_.erase(classes_.root(name)) != 0;
        }
    }

    // -- the program without the axes --------------------------------------------------------------------------------

    using Numbers = std::map<std::string, std::string>; ///< an array's value -> the number that all of it is

    static void drop_axis(const Part& part, Type& type) { type.shape.erase(type.shape.begin() + part.axis); }

    static Attribute position(const Operation& operation, const Part& part) {
        const std::vector<IndexEntry>& entries = operation.attributes.at(attr::index);
        return attr::index({IndexEntry::position(entries[static_cast<std::size_t>(1 - part.axis)].start)});
    }

    void drop(const std::string& name, Type& type) const {
        if (const Part* part = even(name)) drop_axis(*part, type);
    }

    std::string fresh() { return "%even" + std::to_string(++made_); }

    std::string number(const std::string& name, Numbers& numbers, std::vector<Operation>& out) {
        if (is_number(name)) return name;
        if (const auto known = numbers.find(name); known != numbers.end()) return known->second;
        const Operation& operation = *made_by_.at(name);
        if (operation.op == Op::broadcast_to) return operation.operands[0];
        Operation one = operation;
        for (std::string& operand : one.operands)
            operand = number(operand, numbers, out);
        one.result = fresh();
        one.type.shape.clear();
        numbers[name] = one.result;
        out.push_back(one);
        return one.result;
    }

    void rewrite(Block& block, Numbers numbers) {
        for (auto& [name, type] : block.parameters)
            drop(name, type);
        std::vector<Operation> out;
        for (Operation& operation : block.operations) {
            if (operation.op == Op::index) {
                if (const Part* part = even(operation.operands[0])) {
                    Operation one = operation;
                    one.result = numbers[operation.result] = fresh();
                    one.type.shape.clear();
                    one.attributes.set(position(operation, *part));
                    operation.op = Op::broadcast_to;
                    operation.operands = {one.result};
                    operation.attributes = {};
                    out.push_back(std::move(one));
                }
            } else if (operation.op == Op::update) {
                if (const Part* part = even(operation.result)) {
                    operation.operands[1] = number(operation.operands[1], numbers, out);
                    operation.attributes.set(position(operation, *part));
                    begin(operation.operands[0], *part, out);
                    drop(operation.result, operation.type);
                }
            } else if (!operation.regions.empty()) {
                const auto& parameters = operation.regions.front().parameters;
                for (std::size_t k = 0; k < parameters.size(); ++k)
                    if (const Part* part = even(parameters[k].first)) begin(operation.operands[k], *part, out);
                drop(operation.result, operation.type);
                for (auto& [name, type] : operation.more_results)
                    drop(name, type);
                for (Block& region : operation.regions)
                    rewrite(region, numbers);
            }
            out.push_back(std::move(operation));
        }
        block.operations = std::move(out);
    }

    /// The array that an even one starts from, where that is one value everywhere: without the axis.
    void begin(std::string& start, const Part& part, std::vector<Operation>& out) {
        const Operation* fill = classes_.fill(start);
        if (fill == nullptr) return;
        Operation copy = *fill;
        copy.result = fresh();
        drop_axis(part, copy.type);
        start = copy.result;
        out.push_back(std::move(copy));
    }
};

} // namespace

Program dimension_contraction(const Program& program) {
    return Evener(program).run();
}

} // namespace tilewright::translator
