// dsl/runtime/matrix_products.cpp: joins the axes of a stack of products.
#include <algorithm>

#include "dsl/runtime/matmul.h"

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

bool StackOperand::fits_gemm(std::int64_t bytes) {
    const MatrixView& m = matrix;
    if (m.row_stride % bytes != 0 || m.column_stride % bytes != 0) return false;
    const std::int64_t rows = m.row_stride / bytes, columns = m.column_stride / bytes;
    transposed = !((columns == 1 || m.columns == 1) && (rows >= m.columns || m.rows == 1) && rows >= 0);
    if (!transposed) {
        leading = std::max({m.rows == 1 ? 0 : rows, m.columns, std::int64_t{1}});
        return true;
    }
    leading = std::max({m.columns == 1 ? 0 : columns, m.rows, std::int64_t{1}});
    return (rows == 1 || m.rows == 1) && (columns >= m.rows || m.columns == 1) && columns >= 0;
}

std::int64_t StackOperand::become_copies(const MatrixProducts& products, std::int64_t bytes) {
    matrix.row_stride = matrix.columns * bytes;
    matrix.column_stride = bytes;
    transposed = false;
    leading = std::max<std::int64_t>(matrix.columns, 1);
    std::int64_t size = matrix.rows * matrix.row_stride;
    for (int k = 0; k < products.axis_count; ++k) {
        if (strides[k] == 0) continue;
        strides[k] = size;
        size *= products.axes[k].extent;
    }
    return size;
}

} // namespace tilewright::runtime
