// dsl/runtime/stream.cpp: decides for each call whether an output is written past the caches.
#include "dsl/runtime/stream.h"

#include <immintrin.h>

#include "dsl/base/kernel_imports.h"
#include "dsl/runtime/memory.h"

namespace tilewright::runtime {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 30;
void* const kNot = reinterpret_cast<void*>(std::uintptr_t{1});

} // namespace

void* kernel_stream_base(const halide_buffer_t* output, std::int64_t min_bytes) {
    std::int64_t elements = 1;
    for (int k = 0; k < output->dimensions; ++k)
        elements *= output->dim[k].extent;
    const std::int64_t bytes = elements * ((output->type.bits + 7) / 8);
    if (bytes < min_bytes || elements > kMaxElements || take_fresh_result(output->host)) return kNot;
    return output->host - kHintOffset;
}

void* kernel_prefetch_base(const halide_buffer_t* argument) {
    return argument->host - kHintOffset;
}

int kernel_opaque_zero() {
    return 0;
}

int kernel_stream_fence() {
    _mm_sfence();
    return 0;
}

} // namespace tilewright::runtime
