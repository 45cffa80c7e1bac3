// python/native/worker/guarded_memory.h: memory between two pages that nobody may touch.
#pragma once

#include <cstddef>
#include <memory>
#include <sys/mman.h>

namespace tilewright::native {

struct Unmap {
    std::size_t bytes = 0;
    void operator()(void* mapping) const { munmap(mapping, bytes); }
};
/// What mmap() has given; its deleter knows how much that is.
using Mapping = std::unique_ptr<void, Unmap>;

enum class Place { behind_guard, before_guard };

/// A wild access next to it ends the process at once. Large blocks use huge pages, as NumPy's arrays do, so that times
/// are those of real calls.
class GuardedMemory {
  public:
    GuardedMemory() = default;
    /// Throws std::bad_alloc.
    explicit GuardedMemory(std::size_t bytes);

    std::size_t bytes() const { return bytes_; }
    /// The first byte directly behind the guard page in front; aligned to a page.
    char* behind_guard() const { return first_; }
    /// The same block placed so that its last byte lies directly before the guard page behind; `alignment` (a power of
    /// two, at most a page) of the first byte is kept, which may leave up to alignment - 1 bytes before the guard.
    char* before_guard(std::size_t alignment) const;
    char* at(Place place, std::size_t alignment) const {
        return place == Place::before_guard ? before_guard(alignment) : behind_guard();
    }
    /// From now on the block may only be read.
    void make_read_only();
    void make_writable();

  private:
    Mapping mapping_;
    char* first_ = nullptr;
    std::size_t usable_ = 0; ///< whole pages
    std::size_t bytes_ = 0;
};

} // namespace tilewright::native
