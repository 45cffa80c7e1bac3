// dsl/runtime/matmul.h: products of matrices along separate axes (matrix_products.cpp), in as few calls as they allow
// of the BLAS that NumPy has loaded.
#pragma once

#include <cstdint>

#include "dsl/base/dtypes.h"

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

/// The matrices of one operand of a stack.
struct StackOperand {
    MatrixView matrix;                                    ///< of the first product
    std::int64_t strides[MatrixProducts::kMostAxes] = {}; ///< bytes
    bool transposed = false;                              ///< set by fits_gemm and become_copies, as is `leading`
    std::int64_t leading = 1; ///< elements between its rows, or columns where it is transposed

    /// `stride`: the operand's in each axis.
    StackOperand(const MatrixProducts& products, const MatrixView& first, std::int64_t StackAxis::*stride)
        : matrix(first) {
        for (int k = 0; k < products.axis_count; ++k)
            strides[k] = products.axes[k].*stride;
    }
    /// That of one product; `number` counts them, the first axis fastest.
    char* at(const MatrixProducts& products, std::int64_t number) const {
        char* data = static_cast<char*>(matrix.data);
        for (int k = 0; k < products.axis_count; ++k) {
            data += number % products.axes[k].extent * strides[k];
            number /= products.axes[k].extent;
        }
        return data;
    }
    /// Whether gemm takes it as it lies: one of its strides is one element. Else it is to be copied.
    bool fits_gemm(std::int64_t bytes);
    /// Of copies from here on: in C order, one behind the other, and once where several products share it. Returns how
    /// many bytes they are.
    std::int64_t become_copies(const MatrixProducts& products, std::int64_t bytes);
};

/// All of c together is C-contiguous. Types that BLAS lacks, and processes without a BLAS, take loops of ours. 0, or an
/// error code.
int matmul(DType dtype, const MatrixProducts& products);

/// A routine of LAPACK ("dgesv") in the library of those products; null where it has none. `wide`: whether its integers
/// have 64 bits.
void* lapack_routine(const char* name, bool& wide);

} // namespace tilewright::runtime
