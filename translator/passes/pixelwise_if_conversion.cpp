// translator/passes/pixelwise_if_conversion.cpp: `if` regions of loops to `where`.
#include "translator/passes/passes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/attributes.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"

namespace tilewright::translator {
namespace {

/// Whether the place that is read moves with the loop: it need not exist where the branch is not taken.
bool moves(const Operation& read, const std::string& index) {
    std::set<std::string> symbols;
    read.attributes.for_each_size([&](const Size& size) { size.collect_symbols(symbols); });
    return symbols.count(index) != 0;
}

bool can_be_clamped(const Operation& read) {
    return std::ranges::all_of(read.attributes.at(attr::index), [](const IndexEntry& entry) {
        return entry.kind != IndexEntry::Kind::slice || (entry.step.is_constant() && entry.step.constant() > 0);
    });
}

/// What both sides compute, and the choices between what they yield.
void append_sides(Operation& branch, std::vector<Operation>& out) {
    for (Block& side : branch.regions)
        std::ranges::move(side.operations, std::back_inserter(out));
    const Block &then = branch.regions[0], &other = branch.regions[1];
    const auto results = results_of(branch);
    for (std::size_t k = 0; k < results.size(); ++k)
        out.push_back(make_operation(results[k].first, results[k].second, Op::where,
                                     {branch.operands[0], then.yields[k], other.yields[k]}, {}, branch.line));
}

bool has_branch(const Operation& loop) {
    const auto& operations = loop.regions[0].operations;
    return std::any_of(operations.begin(), operations.end(),
                       [](const Operation& operation) { return operation.op == Op::if_else; });
}

} // namespace

std::optional<Operation> without_branches(const Operation& loop) {
    if (!has_branch(loop)) return loop;
    Operation flat = loop;
    const std::string& index = loop.attributes.at(attr::variable);
    bool possible = true;
    rewrite<Order::inner_first>(flat.regions[0], [&](Operation& operation, Place& place) {
        if (place.is_in_loop()) return Fate::keeps;
        if (operation.op == Op::index && !place.around.empty() && moves(operation, index)) {
            operation.attributes.set(attr::clamped, true);
            possible = possible && can_be_clamped(operation);
        }
        if (operation.op != Op::if_else) return Fate::keeps;
        append_sides(operation, place.out);
        return Fate::goes;
    });
    if (!possible) return std::nullopt;
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
