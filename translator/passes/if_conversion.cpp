// translator/passes/if_conversion.cpp: short `if` regions of loops to `where`.
#include "translator/passes/passes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

/// Two blocks of at most so many operations take no longer than a branch that is foretold wrongly every other time.
constexpr int kMostOperations = 16;

class Choices {
  public:
    explicit Choices(const Program& program) : values_(program) {}

    /// Inner branches first: they are part of what outer ones do.
    Program run(Program program) {
        rewrite<Order::inner_first>(program.body, [this](Operation& operation, Place& place) {
            if (operation.op != Op::if_else || !place.is_in_loop()) return Fate::keeps;
            auto chosen = as_values(operation);
            if (!chosen) return Fate::keeps;
            std::ranges::move(*chosen, std::back_inserter(place.out));
            return Fate::goes;
        });
        return program;
    }

  private:
    Values values_;

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
                choice.type = values_.type(one->operands[1]);
                choice.result = values_.names().value();
                values_.declare(choice.result, choice.type);
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
        const std::vector<Operation>& operations = block.operations;
        const auto found = std::ranges::find(operations, block.yields[k], &Operation::result);
        if (found == operations.end() || found->op != Op::update || values_.uses(found->result) != 1) return nullptr;
        // What it changes comes from outside.
        const auto changed = std::ranges::find(operations, found->operands[0], &Operation::result);
        if (changed != operations.end() || !values_.type(found->operands[1]).shape.empty()) return nullptr;
        return &*found;
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
    return Choices(program).run(program);
}

} // namespace tilewright::translator
