// dsl/passes/wavefront.h: a nest of rows and columns with several rows under way at once.
#pragma once

#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/algorithm_impl.h"

namespace tilewright::dsl {

/// A loop of the plan around kernels.
struct KernelLoop : runtime::InGroup {
    std::string variable; ///< the Param that it replaces
    Halide::Expr first, iterations, step;
};

/// A loop over columns inside a loop over rows, and the code of one iteration. That reads the loop's value as the
/// variable NAME.value, the row's likewise.
struct ColumnLoop {
    KernelLoop loop;
    Halide::Internal::Stmt code;
};

/// The iterations of all loops of a row, column by column, K = rows.rows_together rows at once: at time t the first of
/// them is at column t, the next one at t - skew, and so on; a row that ends makes room for the K-th row behind it.
/// What the steps of one time compute does not depend on each other, so that the latency of one is hidden by the
/// others:
///   for i: for j: s(i, j)   ->   for rows i, i + 1 of a block: for t: s(i, t); s(i + 1, t - skew)
/// Requires skew * rows + columns >= 1 for every distance between iterations that need each other in the order of rows.
Halide::Internal::Stmt wavefront(const KernelLoop& rows, const std::vector<ColumnLoop>& columns);

} // namespace tilewright::dsl
