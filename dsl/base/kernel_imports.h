// dsl/base/kernel_imports.h: what kernels may import, agreed between those who emit kernels and those who run them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

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

/// -> 0; leaves the kernel where the call is interrupted. For loops whose end nobody knows.
inline constexpr const char* kAskInterrupt = "tilewright_ask_interrupt";

/// The halves of the state that PCG64 has n steps behind the state (a, b) with the increment (c, d): of (a, b, c, d, n)
/// the high one, of (b, d, n) the low one, all uint64.
inline constexpr const char* kPcg64High = "tilewright_pcg64_high";
inline constexpr const char* kPcg64Low = "tilewright_pcg64_low";

/// Name, and the runtime's function behind it. HOST: of any kernel. DEVICE: of kernels for CUDA devices too.
#define TW_KERNEL_IMPORTS(HOST, DEVICE)                                                                                \
    HOST("halide_do_par_for", kernel_parallel_loop)                                                                    \
    HOST("halide_malloc", kernel_malloc)                                                                               \
    HOST("halide_free", kernel_free)                                                                                   \
    HOST("memcpy", std::memcpy)                                                                                        \
    HOST("memmove", std::memmove)                                                                                      \
    HOST("memset", std::memset)                                                                                        \
    HOST(kAskInterrupt, kernel_ask_interrupt)                                                                          \
    HOST(kOpaqueZero, kernel_opaque_zero)                                                                              \
    HOST(kPcg64High, kernel_pcg64_high)                                                                                \
    HOST(kPcg64Low, kernel_pcg64_low)                                                                                  \
    HOST(kPrefetchBase, kernel_prefetch_base)                                                                          \
    HOST(kStreamBase, kernel_stream_base)                                                                              \
    HOST(kStreamFence, kernel_stream_fence)                                                                            \
    DEVICE("halide_cuda_device_interface", cuda::device_interface)                                                     \
    DEVICE("halide_cuda_finalize_kernels", cuda::finalize_kernels)                                                     \
    DEVICE("halide_cuda_initialize_kernels", cuda::initialize_kernels)                                                 \
    DEVICE("halide_cuda_run", cuda::run_kernel)                                                                        \
    DEVICE("halide_device_free", cuda::device_free)                                                                    \
    DEVICE("halide_device_free_as_destructor", cuda::device_free_as_destructor)                                        \
    DEVICE("halide_device_malloc", cuda::device_malloc)

/// Functions of libm for double; those for float end in f.
inline constexpr std::string_view kLibm[] = {
    "acos",  "acosh",  "asin",      "asinh",     "atan",  "atan2",     "atanh",  "cbrt",   "ceil",      "copysign",
    "cos",   "cosh",   "erf",       "erfc",      "exp",   "exp10",     "exp2",   "expm1",  "fabs",      "floor",
    "fma",   "fmax",   "fmin",      "fmod",      "frexp", "hypot",     "ldexp",  "lgamma", "log",       "log10",
    "log1p", "log2",   "nearbyint", "nextafter", "pow",   "remainder", "rint",   "round",  "roundeven", "scalbn",
    "sin",   "sincos", "sinh",      "sqrt",      "tan",   "tanh",      "tgamma", "trunc"};

/// The function of libm that a kernel means by a name (its own, or Halide's: sin_f32 is sinf), "" where it means none.
inline std::string libm_function(std::string_view name) {
    auto known = [](std::string_view stem) { return std::ranges::find(kLibm, stem) != std::end(kLibm); };
    bool single = false;
    if (name.ends_with("_f32") || name.ends_with("_f64")) {
        single = name.ends_with("_f32");
        name.remove_suffix(4);
    } else if (!known(name) && name.ends_with("f")) {
        single = true;
        name.remove_suffix(1);
    }
    return known(name) ? std::string(name) + (single ? "f" : "") : "";
}

} // namespace tilewright
