// translator/sum_order.h: what decides the order of a reduction besides its extents, kept while a program is rewritten.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "translator/program.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Of a reduction or product inside the translator: where its order comes from, if not from its operand.
inline constexpr const char* kOrder = "order";

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

/// `program`, which needs steps, with its order at each reduction and product, those in loops included; nothing where
/// one has two.
std::optional<Program> with_orders(const Program& program, const TranslateOptions& options);

} // namespace tilewright::translator
