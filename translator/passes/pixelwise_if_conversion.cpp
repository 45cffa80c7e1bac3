// translator/passes/pixelwise_if_conversion.cpp: `if` regions of loops to `where`.
#include "translator/passes/pixelwise_if_conversion.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

class Flatten {
  public:
    explicit Flatten(std::string index) : index_(std::move(index)) {}

    /// Appends the operations of a block, without its branches. False where one of them cannot be computed always.
    bool block(const std::vector<Operation>& operations, bool in_branch, std::vector<Operation>* out) const {
        bool possible = true;
        for (const Operation& operation : operations) {
            if (operation.op == Op::if_else) {
                possible = branch(operation, out) && possible;
                continue;
            }
            out->push_back(operation);
            if (in_branch && operation.op == Op::index && moves(operation)) {
                out->back().attributes.set(attr::clamped, true);
                possible = possible && can_be_clamped(operation);
            }
        }
        return possible;
    }

  private:
    /// Whether the place that is read moves with the loop: it need not exist where the branch is not taken.
    bool moves(const Operation& operation) const {
        std::set<std::string> symbols;
        for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
            if (entry.kind != IndexEntry::Kind::newaxis) entry.start.collect_symbols(symbols);
            if (entry.kind == IndexEntry::Kind::slice) entry.step.collect_symbols(symbols);
        }
        return symbols.count(index_) != 0;
    }
    static bool can_be_clamped(const Operation& operation) {
        const auto entries = operation.attributes.at(attr::index);
        return std::all_of(entries.begin(), entries.end(), [](const IndexEntry& entry) {
            return entry.kind != IndexEntry::Kind::slice || (entry.step.is_constant() && entry.step.constant() > 0);
        });
    }

    bool branch(const Operation& operation, std::vector<Operation>* out) const {
        bool possible = true;
        for (const Block& side : operation.regions)
            possible = block(side.operations, true, out) && possible;
        const Block &then = operation.regions[0], &other = operation.regions[1];
        const auto results = results_of(operation);
        for (std::size_t k = 0; k < results.size(); ++k) {
            out->push_back(make_operation(results[k].first, results[k].second, Op::where,
                                          {operation.operands[0], then.yields[k], other.yields[k]}, {},
                                          operation.line));
        }
        return possible;
    }

    std::string index_;
};

bool has_branch(const Operation& loop) {
    const auto& operations = loop.regions[0].operations;
    return std::any_of(operations.begin(), operations.end(),
                       [](const Operation& operation) { return operation.op == Op::if_else; });
}

} // namespace

std::optional<Operation> without_branches(const Operation& loop) {
    if (!has_branch(loop)) return loop;
    Operation flat = loop;
    flat.regions[0].operations.clear();
    const Flatten flatten(loop.attributes.at(attr::variable));
    if (!flatten.block(loop.regions[0].operations, false, &flat.regions[0].operations)) return std::nullopt;
    return flat;
}

Program pixelwise_if_conversion(const Program& program) {
    Program out = program;
    for (Operation& operation : out.body.operations) {
        if (operation.op != Op::for_loop || !has_branch(operation)) continue;
        std::optional<Operation> flat = without_branches(operation);
        if (flat && why_not_pixelwise(*flat).empty()) operation = std::move(*flat);
    }
    return out;
}

} // namespace tilewright::translator
