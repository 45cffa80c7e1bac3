// dsl/runtime/strided_copy.h: one array's elements into another's.
#pragma once

#include "HalideRuntime.h"

namespace tilewright::runtime {

/// Both have one type and rank and share no memory; any strides. False where their shapes differ.
bool copy_strided(const halide_buffer_t& from, const halide_buffer_t& to);

} // namespace tilewright::runtime
