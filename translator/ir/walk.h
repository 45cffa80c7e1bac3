// translator/ir/walk.h: every operation of a block, in the order of the text, those of its regions behind the operation
// that has them.
#pragma once

#include "translator/ir/program.h"

namespace tilewright::translator {

template <class Of, class See> void walk(Of& block, const See& see);

/// The operation itself too. `Of`: Operation or const Operation.
template <class Of, class See> void walk_operation(Of& operation, const See& see) {
    see(operation);
    for (auto& region : operation.regions)
        walk(region, see);
}

/// Calls see(operation) for each. `Of`: Block or const Block.
template <class Of, class See> void walk(Of& block, const See& see) {
    for (auto& operation : block.operations)
        walk_operation(operation, see);
}

} // namespace tilewright::translator
