// dsl/runtime/kernel_symbols.cpp: the fixed table of what kernels may import.
#include "dsl/runtime/kernel_symbols.h"

#include <dlfcn.h>
#include <immintrin.h>

#include <cstring>

#include "dsl/base/kernel_imports.h"
#include "dsl/runtime/cuda/kernels.h"
#include "dsl/runtime/found_once.h"
#include "dsl/runtime/loop_state.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/twins/draws.h"
#include "dsl/runtime/watch.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kMostStreamed = std::int64_t{1} << 30; ///< elements
void* const kNot = reinterpret_cast<void*>(std::uintptr_t{1});

void* kernel_malloc(void*, std::size_t bytes) {
    void* pointer = scratch_allocate(bytes);
    if (!pointer) leave_kernel(kOutOfMemory);
    return pointer;
}
void kernel_free(void*, void* pointer) {
    scratch_release(pointer);
}

struct Entry {
    const char* name;
    void* address;
};

template <class F> void* address(F* function) {
    return reinterpret_cast<void*>(function);
}

// What stands behind the list is imported by kernels with copies, which others made.
#define TW_ENTRY(name, function) {name, address(function)},
const Entry kOurs[] = {
    TW_KERNEL_IMPORTS(TW_ENTRY, TW_ENTRY){"halide_copy_to_device", address(cuda::copy_to_device_of_kernel)}};
#undef TW_ENTRY

// Looked up when a kernel asks, so that the module needs no newer versions of them than the machine has.
void* libm_symbol(const char* name) {
    static constinit FoundOnce<void*> found;
    void* const library = found.get([] { return dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL); });
    return library ? dlsym(library, name) : nullptr;
}

} // namespace

void* kernel_stream_base(const halide_buffer_t* output, std::int64_t min_bytes) {
    std::int64_t elements = 1;
    for (int k = 0; k < output->dimensions; ++k)
        elements *= output->dim[k].extent;
    const std::int64_t bytes = elements * ((output->type.bits + 7) / 8);
    if (bytes < min_bytes || elements > kMostStreamed || take_fresh_result(output->host)) return kNot;
    return output->host - kHintOffset;
}

void* kernel_prefetch_base(const halide_buffer_t* argument) {
    return argument->host - kHintOffset;
}

int kernel_ask_interrupt() {
    Watch* const watch = watch_of_thread();
    const LoopState* const loop = LoopState::of_thread(); // whose caller asks for the others
    if ((watch != nullptr && watch->interrupted()) || (loop != nullptr && loop->error() != 0))
        leave_kernel(kInterrupted);
    return 0;
}

int kernel_opaque_zero() {
    return 0;
}

std::uint64_t kernel_pcg64_high(std::uint64_t high, std::uint64_t low, std::uint64_t increment_high,
                                std::uint64_t increment_low, std::uint64_t steps) {
    using Words = Pcg64::Words;
    const Words state =
        steps_on(Words{high} << 64 | low, Pcg64::kFactor, Words{increment_high} << 64 | increment_low, steps);
    return static_cast<std::uint64_t>(state >> 64);
}

std::uint64_t kernel_pcg64_low(std::uint64_t low, std::uint64_t increment_low, std::uint64_t steps) {
    return steps_on(low, static_cast<std::uint64_t>(Pcg64::kFactor), increment_low, steps);
}

int kernel_stream_fence() {
    _mm_sfence();
    return 0;
}

void* kernel_symbol(std::string_view name) {
    for (const Entry& entry : kOurs)
        if (name == entry.name) return entry.address;
    const std::string libm = libm_function(name);
    return libm.empty() ? nullptr : libm_symbol(libm.c_str());
}

} // namespace tilewright::runtime
