// dsl/runtime/kernel_symbols.cpp: the fixed table of what kernels may import.
#include "dsl/runtime/kernel_symbols.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>

#include "dsl/base/kernel_imports.h"
#include "dsl/runtime/cuda/kernels.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/stream.h"

namespace tilewright::runtime {
namespace {

// One text for the process: an error is rare, and a helper's must reach the caller's thread.
std::mutex g_error_mutex;
std::string g_error;

void remember(const char* text) {
    std::lock_guard lock(g_error_mutex);
    if (g_error.empty()) g_error = text;
}

void* kernel_malloc(void*, std::size_t bytes) {
    void* pointer = scratch_allocate(bytes);
    if (!pointer) leave_kernel(kOutOfMemory);
    return pointer;
}
void kernel_free(void*, void* pointer) {
    scratch_release(pointer);
}
void kernel_error(void*, const char* message) {
    remember(message ? message : "unknown error");
}

// Kernels of ours are built without asserts; those of others get their error code back. The arguments differ from
// one to the next and are not read.
#define TW_KERNEL_ERRORS(X)                                                                                            \
    X(halide_error_access_out_of_bounds)                                                                               \
    X(halide_error_bad_dimensions)                                                                                     \
    X(halide_error_bad_extern_fold)                                                                                    \
    X(halide_error_bad_fold)                                                                                           \
    X(halide_error_bad_type)                                                                                           \
    X(halide_error_bounds_inference_call_failed)                                                                       \
    X(halide_error_buffer_allocation_too_large)                                                                        \
    X(halide_error_buffer_argument_is_null)                                                                            \
    X(halide_error_buffer_extents_negative)                                                                            \
    X(halide_error_buffer_extents_too_large)                                                                           \
    X(halide_error_buffer_is_null)                                                                                     \
    X(halide_error_constraint_violated)                                                                                \
    X(halide_error_constraints_make_required_region_smaller)                                                           \
    X(halide_error_debug_to_file_failed)                                                                               \
    X(halide_error_device_crop_failed)                                                                                 \
    X(halide_error_device_dirty_with_no_device_support)                                                                \
    X(halide_error_device_interface_no_device)                                                                         \
    X(halide_error_explicit_bounds_too_small)                                                                          \
    X(halide_error_extern_stage_failed)                                                                                \
    X(halide_error_fold_factor_too_small)                                                                              \
    X(halide_error_host_and_device_dirty)                                                                              \
    X(halide_error_host_is_null)                                                                                       \
    X(halide_error_no_device_interface)                                                                                \
    X(halide_error_out_of_memory)                                                                                      \
    X(halide_error_param_too_large_f64)                                                                                \
    X(halide_error_param_too_large_i64)                                                                                \
    X(halide_error_param_too_large_u64)                                                                                \
    X(halide_error_param_too_small_f64)                                                                                \
    X(halide_error_param_too_small_i64)                                                                                \
    X(halide_error_param_too_small_u64)                                                                                \
    X(halide_error_requirement_failed)                                                                                 \
    X(halide_error_specialize_fail)                                                                                    \
    X(halide_error_split_factor_not_positive)                                                                          \
    X(halide_error_storage_bound_too_small)                                                                            \
    X(halide_error_unaligned_host_ptr)                                                                                 \
    X(halide_error_vscale_invalid)

#define TW_DEFINE(name)                                                                                                \
    int name() {                                                                                                       \
        remember(#name);                                                                                               \
        return -1;                                                                                                     \
    }
TW_KERNEL_ERRORS(TW_DEFINE)
#undef TW_DEFINE

struct Entry {
    const char* name;
    void* address;
};

template <class F> void* address(F* function) {
    return reinterpret_cast<void*>(function);
}

const Entry kOurs[] = {{"halide_do_par_for", address(kernel_parallel_loop)},
                       {"halide_malloc", address(kernel_malloc)},
                       {"halide_free", address(kernel_free)},
                       {"halide_error", address(kernel_error)},
                       {kOpaqueZero, address(kernel_opaque_zero)},
                       {kPrefetchBase, address(kernel_prefetch_base)},
                       {kStreamBase, address(kernel_stream_base)},
                       {kStreamFence, address(kernel_stream_fence)},
                       {"halide_cuda_initialize_kernels", address(cuda::initialize_kernels)},
                       {"halide_cuda_run", address(cuda::run_kernel)},
                       {"halide_cuda_finalize_kernels", address(cuda::finalize_kernels)},
                       {"halide_cuda_device_interface", address(cuda::device_interface)},
                       {"halide_device_malloc", address(cuda::device_malloc)},
                       {"halide_device_free", address(cuda::device_free)},
                       {"halide_device_free_as_destructor", address(cuda::device_free_as_destructor)},
                       {"halide_copy_to_device", address(cuda::copy_to_device_of_kernel)},
                       {"halide_copy_to_host", address(cuda::copy_to_host_of_kernel)},
                       {"memcpy", address(static_cast<void* (*)(void*, const void*, std::size_t)>(std::memcpy))},
                       {"memmove", address(static_cast<void* (*)(void*, const void*, std::size_t)>(std::memmove))},
                       {"memset", address(static_cast<void* (*)(void*, int, std::size_t)>(std::memset))},
#define TW_ENTRY(name) {#name, address(name)},
                       TW_KERNEL_ERRORS(TW_ENTRY)
#undef TW_ENTRY
};

// Looked up in libm when a kernel asks, so that the module needs no newer versions of them than the machine has.
const char* const kLibm[] = {
    "acos",     "acosf",     "acosh",      "acoshf",    "asin",       "asinf",  "asinh",  "asinhf",    "atan",
    "atan2",    "atan2f",    "atanf",      "atanh",     "atanhf",     "cbrt",   "cbrtf",  "ceil",      "ceilf",
    "copysign", "copysignf", "cos",        "cosf",      "cosh",       "coshf",  "erf",    "erfc",      "erfcf",
    "erff",     "exp",       "exp10",      "exp10f",    "exp2",       "exp2f",  "expf",   "expm1",     "expm1f",
    "fabs",     "fabsf",     "floor",      "floorf",    "fma",        "fmaf",   "fmax",   "fmaxf",     "fmin",
    "fminf",    "fmod",      "fmodf",      "frexp",     "frexpf",     "hypot",  "hypotf", "ldexp",     "ldexpf",
    "lgamma",   "lgammaf",   "log",        "log10",     "log10f",     "log1p",  "log1pf", "log2",      "log2f",
    "logf",     "nearbyint", "nearbyintf", "nextafter", "nextafterf", "pow",    "powf",   "remainder", "remainderf",
    "rint",     "rintf",     "round",      "roundeven", "roundevenf", "roundf", "scalbn", "scalbnf",   "sin",
    "sincos",   "sincosf",   "sinf",       "sinh",      "sinhf",      "sqrt",   "sqrtf",  "tan",       "tanf",
    "tanh",     "tanhf",     "tgamma",     "tgammaf",   "trunc",      "truncf",
};

/// Halide's own spellings, and the function behind each.
struct Alias {
    const char* name;
    const char* libm;
};
const Alias kAliases[] = {
    {"acos_f32", "acosf"},
    {"acos_f64", "acos"},
    {"acosh_f32", "acoshf"},
    {"acosh_f64", "acosh"},
    {"asin_f32", "asinf"},
    {"asin_f64", "asin"},
    {"asinh_f32", "asinhf"},
    {"asinh_f64", "asinh"},
    {"atan2_f32", "atan2f"},
    {"atan2_f64", "atan2"},
    {"atan_f32", "atanf"},
    {"atan_f64", "atan"},
    {"atanh_f32", "atanhf"},
    {"atanh_f64", "atanh"},
    {"ceil_f32", "ceilf"},
    {"ceil_f64", "ceil"},
    {"cos_f32", "cosf"},
    {"cos_f64", "cos"},
    {"cosh_f32", "coshf"},
    {"cosh_f64", "cosh"},
    {"exp_f32", "expf"},
    {"exp_f64", "exp"},
    {"floor_f32", "floorf"},
    {"floor_f64", "floor"},
    {"log_f32", "logf"},
    {"log_f64", "log"},
    {"nearbyint_f32", "nearbyintf"},
    {"nearbyint_f64", "nearbyint"},
    {"pow_f32", "powf"},
    {"pow_f64", "pow"},
    {"round_f32", "roundf"},
    {"round_f64", "round"},
    {"sin_f32", "sinf"},
    {"sin_f64", "sin"},
    {"sinh_f32", "sinhf"},
    {"sinh_f64", "sinh"},
    {"sqrt_f32", "sqrtf"},
    {"sqrt_f64", "sqrt"},
    {"tan_f32", "tanf"},
    {"tan_f64", "tan"},
    {"tanh_f32", "tanhf"},
    {"tanh_f64", "tanh"},
    {"trunc_f32", "truncf"},
    {"trunc_f64", "trunc"},
};

void* libm_symbol(const char* name) {
    static void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : nullptr;
}

} // namespace

void* kernel_symbol(std::string_view name) {
    for (const Entry& entry : kOurs)
        if (name == entry.name) return entry.address;
    auto libm = std::lower_bound(std::begin(kLibm), std::end(kLibm), name,
                                 [](const char* a, std::string_view b) { return a < b; });
    if (libm != std::end(kLibm) && name == *libm) return libm_symbol(*libm);
    for (const Alias& alias : kAliases)
        if (name == alias.name) return libm_symbol(alias.libm);
    return nullptr;
}

std::string take_kernel_error() {
    std::lock_guard lock(g_error_mutex);
    std::string text = std::move(g_error);
    g_error.clear();
    return text;
}

} // namespace tilewright::runtime
