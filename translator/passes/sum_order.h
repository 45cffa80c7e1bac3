// translator/passes/sum_order.h: where the order of a reduction comes from (SumOrder, ir/attributes.h), found before
// loops become axes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "translator/ir/program.h"
#include "translator/passes/prepared.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// A program in steps with its order at each reduction and product, those in loops included; at none where one of them
/// has two.
Prepared sum_orders(const Prepared& prepared, const TranslateOptions& options);

} // namespace tilewright::translator
