// dsl/runtime/matmul.h: C = A @ B by the BLAS that NumPy has loaded.
#pragma once

#include <cstdint>

#include "dsl/runtime/dtype.h"

namespace tilewright::runtime {

struct MatrixView {
    void* data;
    std::int64_t rows, columns;
    std::int64_t row_stride, column_stride; ///< bytes
};

/// c is C-contiguous. Types that BLAS lacks, and processes without a BLAS, take loops of ours. 0, or an error code.
int matmul(DType dtype, const MatrixView& a, const MatrixView& b, const MatrixView& c);

/// Name of the library that serves matmul: "libscipy_openblas64_-….so", or "none".
const char* matmul_library();

} // namespace tilewright::runtime
