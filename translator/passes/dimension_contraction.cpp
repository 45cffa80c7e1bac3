// translator/passes/dimension_contraction.cpp: classes of values that share memory or could, and what is written into
// them.
#include "translator/passes/passes.h"

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
    explicit Evener(const Program& program) : program_(program), values_(program), classes_(program, values_) {}

    Program run() {
        find_moving();
        for (const auto& [array, operation] : classes_.accesses())
            note(array, *operation);
        choose();
        if (even_.empty()) return program_;
        Program out = program_;
        rewrite<Order::outer_first>(out.body,
                                    [this](Operation& operation, Place& place) { return contract(operation, place); });
        return out;
    }

  private:
    const Program& program_;
    Values values_;
    ArrayClasses classes_;
    std::set<std::string> moving_;                                 ///< sizes that differ from iteration to iteration
    std::vector<std::pair<std::string, Part>> parts_;              ///< by the array
    std::vector<std::pair<std::string, const Operation*>> writes_; ///< into which array
    std::map<std::string, Part> even_;                             ///< by root

    void find_moving() {
        walk(program_.body, [this](const Operation& operation) {
            if (operation.op == Op::read) moving_.insert(operation.result);
            if (operation.op == Op::for_loop) moving_.insert(operation.attributes.at(attr::variable));
            if (operation.op != Op::if_else) return;
            for (const auto& [name, type] : results_of(operation))
                classes_.refuse(name);
        });
    }

    // -- which arrays ------------------------------------------------------------------------------------------------

    const Part* even(const std::string& name) const {
        const auto found = even_.find(classes_.root(name));
        return found == even_.end() ? nullptr : &found->second;
    }
    void note(const std::string& array, const Operation& operation) {
        const bool writes = operation.op == Op::update;
        if (writes) writes_.emplace_back(array, &operation);
        const Type& part = writes ? values_.type(operation.operands[1]) : operation.type;
        const std::vector<IndexEntry>& entries = operation.attributes.at(attr::index);
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

    bool is_number(const std::string& name) const { return values_.type(name).shape.empty(); }

    /// Whether a value is the same for all of its elements, where the arrays of even_ are that along their axes.
    bool is_uniform(const std::string& name) const {
        if (is_number(name)) return true;
        const Operation* const made = values_.made_by(name);
        if (made == nullptr) return false;
        const Operation& operation = *made;
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
            const Operation* const made = values_.made_by(write->operands[1]);
            if (made != nullptr && is_elementwise(made->op)) worth.insert(classes_.root(name));
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

    /// The number that all of an array's value is, and the block that computes it.
    struct Number {
        std::string name;
        const Block* block = nullptr;
    };
    std::map<std::string, Number> numbers_; ///< by the array's value

    /// The position along the axis that stays.
    static Attribute position(const Operation& operation, const Part& part) {
        const std::vector<IndexEntry>& entries = operation.attributes.at(attr::index);
        return attr::index({IndexEntry::position(entries[static_cast<std::size_t>(1 - part.axis)].start)});
    }

    /// `one`, made a number of no dimensions that stands for `value`.
    std::string make_number(const std::string& value, Operation one, Place& place, Builder& builder) {
        one.result = builder.fresh();
        one.type.shape.clear();
        numbers_[value] = {one.result, place.blocks.back()};
        builder.append(one);
        return one.result;
    }

    std::string number(const std::string& name, Place& place, Builder& builder) {
        if (is_number(name)) return name;
        if (const auto known = numbers_.find(name); known != numbers_.end() && place.sees(known->second.block))
            return known->second.name;
        Operation one = *values_.made_by(name);
        if (one.op == Op::broadcast_to) return one.operands[0];
        for (std::string& operand : one.operands)
            operand = number(operand, place, builder);
        return make_number(name, std::move(one), place, builder);
    }

    Fate contract(Operation& operation, Place& place) {
        Builder builder(values_, place.out, "%even");
        const Part* const read = operation.op == Op::index ? even(operation.operands[0]) : nullptr;
        const Part* const written = operation.op == Op::update ? even(operation.result) : nullptr;
        if (read != nullptr) {
            Operation one = operation;
            one.attributes.set(position(operation, *read));
            operation.op = Op::broadcast_to;
            operation.operands = {make_number(operation.result, std::move(one), place, builder)};
            operation.attributes = {};
        } else if (written != nullptr) {
            operation.operands[1] = number(operation.operands[1], place, builder);
            operation.attributes.set(position(operation, *written));
        }
        classes_.change(operation, builder, [this](const std::string& name, Type& type) {
            const Part* const part = even(name);
            if (part != nullptr) type.shape.erase(type.shape.begin() + part->axis);
            return part != nullptr;
        });
        return Fate::keeps;
    }
};

} // namespace

Program dimension_contraction(const Program& program) {
    return Evener(program).run();
}

} // namespace tilewright::translator
