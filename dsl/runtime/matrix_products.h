// dsl/runtime/matrix_products.h: products of matrices along separate axes, in as few calls as they allow.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

struct MatrixView {
    void* data;
    std::int64_t rows, columns;
    std::int64_t row_stride, column_stride; ///< bytes
};

/// So many products, and the bytes from the matrices of one to those of the next; 0: the same matrix.
struct StackAxis {
    std::int64_t extent;
    std::int64_t a, b, c;
};

/// c = a @ b of all matrices of a stack. Without axes it is one product.
struct MatrixProducts {
    static constexpr int kMostAxes = 6;
    MatrixView a, b, c; ///< of the first product
    StackAxis axes[kMostAxes] = {};
    int axis_count = 0; ///< the first axis is the innermost

    bool agree() const { return a.columns == b.rows && c.rows == a.rows && c.columns == b.columns; }
    std::int64_t count() const;
    /// The same products with fewer axes: those that follow each other become one, and matrices by one matrix become
    /// the rows of one.
    MatrixProducts joined() const;
};

/// An operand as gemm takes it: one of its strides is one element.
struct GemmOperand {
    bool transposed = false;
    std::int64_t leading = 1; ///< elements between its rows, or columns where it is transposed
};
/// False: gemm takes it only once it is copied.
bool as_gemm_takes_it(const MatrixView& matrix, std::int64_t bytes, GemmOperand& operand);

} // namespace tilewright::runtime
