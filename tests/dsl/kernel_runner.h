// tests/dsl/kernel_runner.h: runs emitted kernels on arrays between guard bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "dsl/code/emit.h"

namespace tilewright::dsl::test {

/// An array whose surroundings are checked: every byte outside it must keep its value.
class GuardedArray {
  public:
    /// `offset`: bytes from a cache line to the first element; NumPy's own arrays begin at 16.
    GuardedArray(halide_type_t type, std::vector<int> numpy_shape, std::size_t offset = 16);

    template <class T> T* data() { return reinterpret_cast<T*>(bytes_.data() + first_); }
    std::size_t size() const { return count_; }
    halide_buffer_t* buffer();
    /// Whether the guard bytes are as they were.
    bool intact() const;
    const unsigned char* begin() const { return bytes_.data() + first_; }
    std::size_t byte_count() const { return count_ * type_.bytes(); }

  private:
    static constexpr std::size_t kGuard = 1 << 16;
    halide_type_t type_;
    std::size_t count_ = 1;
    std::size_t first_ = 0; ///< the byte where the first element begins
    std::vector<unsigned char> bytes_;
    std::vector<halide_dimension_t> dimensions_;
    halide_buffer_t buffer_{};
};

/// Links one kernel's object and loads it. The test program itself defines the few halide_* symbols.
class LoadedKernel {
  public:
    explicit LoadedKernel(const EmittedKernel& kernel);
    ~LoadedKernel();
    LoadedKernel(const LoadedKernel&) = delete;
    LoadedKernel& operator=(const LoadedKernel&) = delete;

    /// Sizes first, then the arrays.
    int run(std::vector<std::int32_t> sizes, std::vector<GuardedArray*> arrays) const;

  private:
    void* library_ = nullptr;
    int (*entry_)(void**) = nullptr;
};

} // namespace tilewright::dsl::test
