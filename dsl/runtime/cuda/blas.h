// dsl/runtime/cuda/blas.h: C = A @ B on a device by cuBLAS, which is found at run time.
#pragma once

#include "dsl/runtime/cuda/kernels.h"
#include "dsl/runtime/matmul.h"

namespace tilewright::runtime::cuda {

/// One that is loaded already (torch and CuPy bring theirs), else the system's. TILEWRIGHT_LIBCUBLAS names another.
bool has_blas() noexcept;

/// float32 (not TF32), float64, complex64, complex128; all of c together is C-contiguous. 0, or kDeviceFailed.
int matmul(Call& call, DType dtype, const MatrixProducts& products) noexcept;

} // namespace tilewright::runtime::cuda
