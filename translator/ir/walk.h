// translator/ir/walk.h: the ways through the operations of a block and of their regions: to see each, and to rewrite a
// block operation by operation.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

template <class Of, class See> void walk(Of& block, const See& see);

/// The operation itself too. `Of`: Operation or const Operation.
template <class Of, class See> void walk_operation(Of& operation, const See& see) {
    see(operation);
    for (auto& region : operation.regions)
        walk(region, see);
}

/// Calls see(operation) for each, in the order of the text: those of its regions behind the operation that has them.
/// `Of`: Block or const Block.
template <class Of, class See> void walk(Of& block, const See& see) {
    for (auto& operation : block.operations)
        walk_operation(operation, see);
}

/// Calls see(name) for each value that the operation, or one of its regions, reads or yields.
template <class Of, class See> void walk_uses(Of& operation, const See& see) {
    walk_operation(operation, [&](auto& each) {
        std::ranges::for_each(each.operands, see);
        for (auto& region : each.regions)
            std::ranges::for_each(region.yields, see);
    });
}

/// Calls see(operation, around) for each; `around`: the loops and branches that it is in, the outermost first.
template <class See> void walk_inside(const Block& block, const See& see, std::vector<const Operation*> around = {}) {
    for (const Operation& operation : block.operations) {
        see(operation, around);
        if (operation.regions.empty()) continue;
        around.push_back(&operation);
        for (const Block& region : operation.regions)
            walk_inside(region, see, around);
        around.pop_back();
    }
}

/// Where a rewrite is.
struct Place {
    std::vector<Operation>& out;               ///< of the new block, so far
    std::vector<const Operation*> around = {}; ///< the loops and branches, the outermost first
    std::vector<const Block*> blocks = {};     ///< theirs, the program's first; the last one has the operation

    /// Whether what that block computes is visible here.
    bool sees(const Block* block) const { return std::ranges::find(blocks, block) != blocks.end(); }
    bool is_in_loop() const {
        return std::any_of(around.begin(), around.end(), [](const Operation* each) { return each->op != Op::if_else; });
    }
};

/// What becomes of an operation itself.
enum class Fate {
    keeps,  ///< it stands behind what was appended to the new block; its regions are rewritten too
    closed, ///< the same, but its regions stay as they are
    goes    ///< what was appended stands for it
};

enum class Order {
    outer_first, ///< an operation before those of its regions
    inner_first  ///< behind them
};

/// Rewrites a block: each(operation, place) may append to place.out, change the operation, and says what becomes of it.
/// What is appended is not seen again.
template <Order order, class Each> void rewrite(Block& block, const Each& each, const Place* outer = nullptr) {
    std::vector<Operation> out;
    out.reserve(block.operations.size());
    Place place{out};
    if (outer != nullptr) {
        place.around = outer->around;
        place.blocks = outer->blocks;
    }
    place.blocks.push_back(&block);
    const auto enter = [&](Operation& operation) {
        if (operation.regions.empty()) return;
        place.around.push_back(&operation);
        for (Block& region : operation.regions)
            rewrite<order>(region, each, &place);
        place.around.pop_back();
    };
    for (Operation& operation : block.operations) {
        if (order == Order::inner_first) enter(operation);
        const Fate fate = each(operation, place);
        if (fate == Fate::goes) continue;
        if (order == Order::outer_first && fate == Fate::keeps) enter(operation);
        out.push_back(std::move(operation));
    }
    block.operations = std::move(out);
}

} // namespace tilewright::translator
