// python/native/worker/guarded_memory.h: memory between two pages that nobody may touch.
#pragma once

#include <cstddef>

namespace tilewright::native {

/// A wild access next to it ends the process at once. Large blocks use huge pages, as NumPy's arrays do, so that times
/// are those of real calls.
class GuardedMemory {
  public:
    GuardedMemory() = default;
    /// Throws std::bad_alloc.
    explicit GuardedMemory(std::size_t bytes);
    ~GuardedMemory();
    GuardedMemory(GuardedMemory&& other) noexcept;
    GuardedMemory& operator=(GuardedMemory&& other) noexcept;
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::size_t bytes() const { return bytes_; }
    /// The first byte directly behind the guard page in front; aligned to a page.
    char* behind_guard() const { return first_; }
    /// The same block placed so that its last byte lies directly before the guard page behind; `alignment` (a power of
    /// two, at most a page) of the first byte is kept, which may leave up to alignment - 1 bytes before the guard.
    char* before_guard(std::size_t alignment) const;
    /// From now on the block may only be read.
    void make_read_only();
    void make_writable();

  private:
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    char* first_ = nullptr;
    std::size_t usable_ = 0; ///< whole pages
    std::size_t bytes_ = 0;
};

} // namespace tilewright::native
