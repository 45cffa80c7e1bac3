// dsl/runtime/cuda/strided_copy.h: `copy A to B` of a plan, for arrays of a device.
#pragma once

#include <HalideRuntime.h>

#include <string>

#include "dsl/runtime/cuda/kernels.h"

namespace tilewright::runtime::cuda {

/// Both are of one dtype, rank and shape, with any strides. 0, or kDeviceFailed.
int copy_strided(Call& call, const halide_buffer_t& from, const halide_buffer_t& to) noexcept;

/// The code of it.
std::string strided_copy_ptx();

} // namespace tilewright::runtime::cuda
