// translator/sum_order.h: what decides the order of a reduction besides its extents, kept while a program is rewritten.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "translator/prepared.h"
#include "translator/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

struct SumOrder {
    bool contiguous = false; ///< NumPy's contiguous axis is reduced
    int joined = 1;          ///< so many of the last axes are one long one
    int trips = 0;           ///< so many leading axes were loops: each trip has results of its own
    bool library = false;    ///< a product: by a library

    bool operator==(const SumOrder&) const = default;
};

/// The order that the attribute of an operation names; nothing where it has none.
std::optional<SumOrder> order_of(const Operation& operation);
void set_order(Operation& operation, const SumOrder& order);

/// A program in steps with its order at each reduction and product, those in loops included; at none where one of them
/// has two.
Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options);

} // namespace tilewright::translator
