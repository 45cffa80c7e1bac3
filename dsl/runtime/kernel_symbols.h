// dsl/runtime/kernel_symbols.h: everything that a kernel may import.
#pragma once

#include <cstdint>
#include <string_view>

#include "HalideRuntime.h"

namespace tilewright::runtime {

/// The address for an undefined symbol of a kernel, or null: loops and memory of ours, C's memory functions and libm,
/// from a fixed list. The process's other symbols are never looked at.
void* kernel_symbol(std::string_view name);

// What kernels call: loops whose end nobody knows (dsl/passes/while_loop.h), and memory hints
// (dsl/passes/memory_hints.h).

/// The second base address of an output for stores that go past the caches; 1, which no vector is aligned to, where
/// they must not: the array is smaller than `min_bytes` (its reader finds it in a cache), its pages are not there yet
/// (the system has just zeroed each in a cache), or its offsets do not leave room for the detour in 32 bits.
void* kernel_stream_base(const halide_buffer_t* output, std::int64_t min_bytes);
/// Makes this thread's non-temporal stores visible before its next stores.
int kernel_stream_fence();
/// 0; where the call is interrupted, leaves the kernel.
int kernel_ask_interrupt();
/// 0.
int kernel_opaque_zero();
/// See kPcg64High and kPcg64Low in dsl/base/kernel_imports.h.
std::uint64_t kernel_pcg64_high(std::uint64_t high, std::uint64_t low, std::uint64_t increment_high,
                                std::uint64_t increment_low, std::uint64_t steps);
std::uint64_t kernel_pcg64_low(std::uint64_t low, std::uint64_t increment_low, std::uint64_t steps);
/// The second base address of an argument for prefetches.
void* kernel_prefetch_base(const halide_buffer_t* argument);

} // namespace tilewright::runtime
