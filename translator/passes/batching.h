// translator/passes/batching.h: loops whose iterations are independent, as arrays with one more axis.
#pragma once

#include <string>

#include "translator/ir/program.h"
#include "translator/passes/prepared.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Each `for` whose iterations keep to their elements as operations on arrays that have an axis of
/// iterations, inner loops first. Requires the orders of sums (sum_order.h), and leaves them where a loop moved.
///   for i: A[i, :] = sum(x[i:i + k] * w)   ->   A[0:n, :] = sum(windows(x) * w)
/// where windows(x)[i, r] is x[i + r]. Other loops stay, and so does all of the program where the order of a sum would
/// not.
Prepared batching(const Prepared& prepared, const TranslateOptions& options);

/// "" where the loop becomes an axis; else the reason, for people. Loops inside of it stay what they are.
std::string why_no_axis(const Program& program, const Operation& loop);

} // namespace tilewright::translator
