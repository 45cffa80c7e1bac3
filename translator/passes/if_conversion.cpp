// translator/passes/if_conversion.cpp: short `if` regions of loops to `where`.
#include "translator/passes/if_conversion.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/ir/fresh_names.h"
#include "translator/ir/values.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

/// Two blocks of at most so many operations take no longer than a branch that is foretold wrongly every other time.
constexpr int kMostOperations = 16;

class Choices {
  public:
    explicit Choices(Program program)
        : program_(std::move(program)), types_(types_of(program_)), names_(names_of(program_)) {}

    Program run() {
        visit(program_.body, false);
        return std::move(program_);
    }

  private:
    Program program_;
    std::map<std::string, Type> types_;
    FreshNames names_;

    std::string fresh(const Type& type) {
        const std::string name = names_.value();
        types_[name] = type;
        return name;
    }

    /// Inner branches first: they are part of what outer ones do.
    void visit(Block& block, bool in_loop) {
        std::vector<Operation> out;
        for (Operation& operation : block.operations) {
            const bool loop = operation.op == Op::for_loop || operation.op == Op::while_loop;
            for (Block& inner : operation.regions)
                visit(inner, in_loop || loop);
            std::optional<std::vector<Operation>> chosen;
            if (in_loop && operation.op == Op::if_else) chosen = as_values(operation);
            if (chosen)
                std::move(chosen->begin(), chosen->end(), std::back_inserter(out));
            else
                out.push_back(std::move(operation));
        }
        block.operations = std::move(out);
    }

    std::optional<std::vector<Operation>> as_values(const Operation& branch) {
        const auto results = results_of(branch);
        const Block& then = branch.regions[0];
        const Block& other = branch.regions[1];
        std::vector<Operation> out, choices;
        std::set<std::string> replaced; // updates that are one, behind the choice
        for (std::size_t k = 0; k < results.size(); ++k) {
            const auto& [name, type] = results[k];
            Operation choice = make_operation(name, type, Op::where,
                                              {branch.operands[0], then.yields[k], other.yields[k]}, {}, branch.line);
            if (!type.shape.empty()) {
                const Operation* one = update_of(then, k);
                const Operation* two = update_of(other, k);
                if (one == nullptr || two == nullptr || !same_element(*one, *two)) return std::nullopt;
                replaced.insert({one->result, two->result});
                Operation update = *one;
                update.result = name;
                choice.type = types_.at(one->operands[1]);
                choice.result = fresh(choice.type);
                choice.operands = {branch.operands[0], one->operands[1], two->operands[1]};
                update.operands[1] = choice.result;
                choices.push_back(std::move(choice));
                choices.push_back(std::move(update));
            } else {
                choices.push_back(std::move(choice));
            }
        }
        int work = 0;
        for (const Block* block : {&then, &other})
            if (!copy(*block, replaced, out, work)) return std::nullopt;
        if (work > kMostOperations) return std::nullopt;
        std::move(choices.begin(), choices.end(), std::back_inserter(out));
        return out;
    }

    /// The write of one element that is the block's k-th result, and nothing else.
    const Operation* update_of(const Block& block, std::size_t k) const {
        const std::string& value = block.yields[k];
        const Operation* found = nullptr;
        for (const Operation& operation : block.operations) {
            if (operation.result == value && operation.op == Op::update) found = &operation;
            for (const std::string& operand : operation.operands)
                if (operand == value) return nullptr;
        }
        const bool again = std::count(block.yields.begin(), block.yields.end(), value) > 1;
        if (found == nullptr || again || !types_.at(found->operands[1]).shape.empty()) return nullptr;
        // What it changes comes from outside.
        const bool inside =
            std::any_of(block.operations.begin(), block.operations.end(),
                        [&](const Operation& operation) { return operation.result == found->operands[0]; });
        return inside ? nullptr : found;
    }

    bool same_element(const Operation& one, const Operation& two) const {
        return one.operands[0] == two.operands[0] &&
               overlap(one.attributes.at(attr::index), {}, two.attributes.at(attr::index), {}) == Overlap::same;
    }

    /// Appends what a block computes. False where something of it cannot be computed always, or is work.
    bool copy(const Block& block, const std::set<std::string>& replaced, std::vector<Operation>& out, int& work) const {
        for (const Operation& operation : block.operations) {
            if (replaced.count(operation.result) != 0) continue;
            if (!operation.type.shape.empty() || !operation.regions.empty()) return false;
            const bool computed = info(operation.op).kind == OpKind::elementwise;
            const bool free =
                operation.op == Op::constant || operation.op == Op::scalar_size || operation.op == Op::index;
            if (!computed && !free) return false;
            work += cost_of(operation.op);
            out.push_back(operation);
            // The place need not exist where the branch is not taken.
            if (operation.op == Op::index) out.back().attributes.set(attr::clamped, true);
        }
        return true;
    }
};

} // namespace

Program if_conversion(const Program& program) {
    return Choices(program).run();
}

} // namespace tilewright::translator
