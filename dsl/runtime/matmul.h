// dsl/runtime/matmul.h: C = A @ B by the BLAS that NumPy has loaded.
#pragma once

#include "dsl/base/dtypes.h"
#include "dsl/runtime/matrix_products.h"

namespace tilewright::runtime {

/// All of c together is C-contiguous. Types that BLAS lacks, and processes without a BLAS, take loops of ours. 0, or an
/// error code.
int matmul(DType dtype, const MatrixProducts& products);

} // namespace tilewright::runtime
