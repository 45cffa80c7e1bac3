// dsl/base/kernel_imports.h: what kernels with memory hints import, agreed between those who emit kernels and those who
// run them.
#pragma once

#include <cstdint>

namespace tilewright {

/// Bytes between a second base address and its array. A multiple of 64 that is unlikely as any other displacement.
inline constexpr std::int64_t kHintOffset = 0x35A71000;

/// halide_buffer_t* of an output, the least bytes for which the detour pays -> the second base address, or an address
/// that no vector store is aligned to.
inline constexpr const char* kStreamBase = "tilewright_stream_base";
/// Makes non-temporal stores of this thread visible before whatever it writes next.
inline constexpr const char* kStreamFence = "tilewright_stream_fence";
/// halide_buffer_t* of an argument -> its second base address.
inline constexpr const char* kPrefetchBase = "tilewright_prefetch_base";
/// -> 0, which the optimizer does not know: an index that went through `^ zero` is no induction variable to it, so that
/// it does not move the displacement into a register in front of the loop.
inline constexpr const char* kOpaqueZero = "tilewright_opaque_zero";

} // namespace tilewright
