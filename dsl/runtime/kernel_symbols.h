// dsl/runtime/kernel_symbols.h: everything that a kernel may import.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::runtime {

/// The address for an undefined symbol of a kernel, or null: loops, memory and errors of ours, C's memory functions and
/// libm, from a fixed list. The process's other symbols are never looked at.
void* kernel_symbol(std::string_view name);

/// What a kernel reported through halide_error* on this thread or its helpers last; cleared by reading.
std::string take_kernel_error();

} // namespace tilewright::runtime
