// dsl/code/code_generation.h: lowered kernels to objects. For emit alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/code/emit.h"

namespace tilewright::dsl {

struct LoweredKernel {
    std::string name; ///< C symbol
    Halide::Module module;
    bool hints = false;     ///< the schedule asks for stores past the caches or for prefetches
    std::int64_t nodes = 0; ///< of its code: its time of compilation is about proportional to that
};

/// Where the code of a kernel is.
struct KernelCode {
    std::string object; ///< the kernel whose object has it
    std::string symbol; ///< the kernel that it was compiled for: an earlier one where both are the same code
};

/// One for each, in this order. Those that can share an object do: the first of them has it, and the others have none.
/// `code` gets where that of each is.
std::vector<EmittedKernel> generate_code(std::vector<LoweredKernel> kernels, const EmitOptions& options,
                                         std::map<std::string, KernelCode>* code);

} // namespace tilewright::dsl
