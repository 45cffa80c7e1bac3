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

// What stands behind the list is imported by kernels with asserts and copies, which others made.
#define TW_ENTRY(name, function) {name, address(function)},
#define TW_ERROR_ENTRY(name) {#name, address(name)},
const Entry kOurs[] = {TW_KERNEL_IMPORTS(TW_ENTRY, TW_ENTRY){"halide_error", address(kernel_error)},
                       {"halide_copy_to_device", address(cuda::copy_to_device_of_kernel)},
                       {"halide_copy_to_host", address(cuda::copy_to_host_of_kernel)},
                       TW_KERNEL_ERRORS(TW_ERROR_ENTRY)};
#undef TW_ENTRY
#undef TW_ERROR_ENTRY

// Looked up when a kernel asks, so that the module needs no newer versions of them than the machine has.
void* libm_symbol(const char* name) {
    static void* const library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : nullptr;
}

} // namespace

void* kernel_symbol(std::string_view name) {
    for (const Entry& entry : kOurs)
        if (name == entry.name) return entry.address;
    const std::string libm = libm_function(name);
    return libm.empty() ? nullptr : libm_symbol(libm.c_str());
}

std::string take_kernel_error() {
    std::lock_guard lock(g_error_mutex);
    std::string text = std::move(g_error);
    g_error.clear();
    return text;
}

} // namespace tilewright::runtime
