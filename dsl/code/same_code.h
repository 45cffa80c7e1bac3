// dsl/code/same_code.h: which lowered kernels are one code under other names. For code generation alone.
#pragma once

#include <cstdint>
#include <vector>

#include "Halide.h"
#include "dsl/code/code_generation.h"

namespace tilewright::dsl {

/// How many nodes the code of a module has.
std::int64_t nodes_of(const Halide::Module& module);

/// For each kernel the first one with the same code, which may be itself: what differs is names, of arguments at the
/// same places too. Layers of one shape, steps of a scheme and unrolled iterations give such kernels.
std::vector<std::size_t> first_with_same_code(const std::vector<LoweredKernel>& kernels);

} // namespace tilewright::dsl
