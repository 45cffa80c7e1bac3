// translator/passes/sum_order.h: in which order a reduction adds up, and whether a library makes a product: an
// attribute (SumOrder, ir/attributes.h) of each, which follows from the program and from how its arguments lie.
#pragma once

#include "translator/ir/element_order.h"
#include "translator/ir/program.h"
#include "translator/passes/prepared.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// An array that another block computes, a loop or a branch leaves or an update writes lies in C order, an argument as
/// its layout says, a view as its operand, an elementwise result as NumPy's (ir/element_order.h).
Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options);

/// Of an argument.
ElementOrder order_of(Layout layout, const Type& type);

/// Whether a library may make this product: its dtype, its axes, the contract.
bool may_use_library(const Operation& product, const TranslateOptions& options);

} // namespace tilewright::translator
