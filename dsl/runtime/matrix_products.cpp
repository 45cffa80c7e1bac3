// dsl/runtime/matrix_products.cpp: joins the axes of a stack of products.
#include "dsl/runtime/matrix_products.h"

#include <algorithm>

namespace tilewright::runtime {

std::int64_t MatrixProducts::count() const {
    std::int64_t out = 1;
    for (int k = 0; k < axis_count; ++k)
        out *= axes[k].extent;
    return out;
}

MatrixProducts MatrixProducts::joined() const {
    MatrixProducts out{a, b, c};
    for (int k = 0; k < axis_count; ++k) {
        const StackAxis& axis = axes[k];
        if (axis.extent == 1) continue;
        if (out.axis_count == 0 && axis.b == 0) {
            const std::int64_t rows = out.a.rows;
            const bool follow = rows == 1 || (axis.a == out.a.row_stride * rows && axis.c == out.c.row_stride * rows);
            if (follow) {
                if (rows == 1) out.a.row_stride = axis.a, out.c.row_stride = axis.c;
                out.a.rows = out.c.rows = rows * axis.extent;
                continue;
            }
        }
        StackAxis* inner = out.axis_count > 0 ? &out.axes[out.axis_count - 1] : nullptr;
        if (inner && axis.a == inner->a * inner->extent && axis.b == inner->b * inner->extent &&
            axis.c == inner->c * inner->extent)
            inner->extent *= axis.extent;
        else
            out.axes[out.axis_count++] = axis;
    }
    return out;
}

bool as_gemm_takes_it(const MatrixView& m, std::int64_t bytes, GemmOperand& operand) {
    if (m.row_stride % bytes != 0 || m.column_stride % bytes != 0) return false;
    const std::int64_t rows = m.row_stride / bytes, columns = m.column_stride / bytes;
    if ((columns == 1 || m.columns == 1) && (rows >= m.columns || m.rows == 1) && rows >= 0) {
        operand = {false, std::max({m.rows == 1 ? 0 : rows, m.columns, std::int64_t{1}})};
        return true;
    }
    if ((rows == 1 || m.rows == 1) && (columns >= m.rows || m.columns == 1) && columns >= 0) {
        operand = {true, std::max({m.columns == 1 ? 0 : columns, m.rows, std::int64_t{1}})};
        return true;
    }
    return false;
}

} // namespace tilewright::runtime
