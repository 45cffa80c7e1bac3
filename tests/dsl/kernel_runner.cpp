// tests/dsl/kernel_runner.cpp: a linker call and the functions that kernels import.
#include "kernel_runner.h"

#include <dlfcn.h>
#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "dsl/base/kernel_imports.h"

extern "C" {
__attribute__((visibility("default"))) int halide_do_par_for(void* context, int (*task)(void*, int, std::uint8_t*),
                                                             int min, int size, std::uint8_t* closure) {
    for (int k = min; k < min + size; ++k) {
        if (const int result = task(context, k, closure)) return result;
    }
    return 0;
}
__attribute__((visibility("default"))) void* halide_malloc(void*, std::size_t bytes) {
    return std::aligned_alloc(128, (bytes + 255) / 128 * 128);
}
__attribute__((visibility("default"))) void* tilewright_stream_base(const halide_buffer_t* output, std::int64_t) {
    return output->host - tilewright::kHintOffset;
}
__attribute__((visibility("default"))) void* tilewright_prefetch_base(const halide_buffer_t* argument) {
    return argument->host - tilewright::kHintOffset;
}
__attribute__((visibility("default"))) int tilewright_ask_interrupt() {
    return 0;
}
__attribute__((visibility("default"))) int tilewright_opaque_zero() {
    return 0;
}
__attribute__((visibility("default"))) int tilewright_stream_fence() {
    _mm_sfence();
    return 0;
}
__attribute__((visibility("default"))) void halide_free(void*, void* memory) {
    std::free(memory);
}
}

namespace tilewright::dsl::test {

GuardedArray::GuardedArray(halide_type_t type, std::vector<int> numpy_shape, std::size_t offset) : type_(type) {
    for (int extent : numpy_shape)
        count_ *= static_cast<std::size_t>(extent);
    bytes_.assign(kGuard * 2 + 128 + byte_count(), 0xA5);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    first_ = (address + kGuard + 63) / 64 * 64 - address + offset;
    int stride = 1;
    for (auto extent = numpy_shape.rbegin(); extent != numpy_shape.rend(); ++extent) {
        dimensions_.emplace_back(0, *extent, stride);
        stride *= *extent;
    }
}

halide_buffer_t* GuardedArray::buffer() {
    buffer_.host = bytes_.data() + first_;
    buffer_.type = type_;
    buffer_.dimensions = static_cast<int>(dimensions_.size());
    buffer_.dim = dimensions_.data();
    return &buffer_;
}

bool GuardedArray::intact() const {
    const auto untouched = [](unsigned char byte) { return byte == 0xA5; };
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto last = first + static_cast<std::ptrdiff_t>(byte_count());
    return std::all_of(bytes_.begin(), first, untouched) && std::all_of(last, bytes_.end(), untouched);
}

LoadedKernel::LoadedKernel(const EmittedKernel& kernel) {
    static int counter = 0;
    const std::string base = "/tmp/tw_kernel_" + std::to_string(getpid()) + "_" + std::to_string(counter++);
    std::ofstream(base + ".o", std::ios::binary) << kernel.object;
    const std::string command = "ld -shared -o " + base + ".so " + base + ".o 2>&1";
    const int status = std::system(command.c_str());
    library_ = status == 0 ? dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    const std::string reason = status == 0 && !library_ ? dlerror() : "ld failed";
    unlink((base + ".o").c_str());
    unlink((base + ".so").c_str());
    if (!library_) throw std::runtime_error(kernel.name + ": " + reason);
    entry_ = reinterpret_cast<int (*)(void**)>(dlsym(library_, (kernel.name + "_argv").c_str()));
    if (!entry_ || !dlsym(library_, kernel.name.c_str())) throw std::runtime_error(kernel.name + ": no entry");
}

LoadedKernel::~LoadedKernel() {
    if (library_) dlclose(library_);
}

int LoadedKernel::run(std::vector<std::int32_t> sizes, std::vector<GuardedArray*> arrays) const {
    std::vector<void*> arguments;
    for (std::int32_t& size : sizes)
        arguments.push_back(&size);
    for (GuardedArray* array : arrays)
        arguments.push_back(array->buffer());
    return entry_(arguments.data());
}

} // namespace tilewright::dsl::test
