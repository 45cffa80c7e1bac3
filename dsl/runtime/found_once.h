// dsl/runtime/found_once.h: what a process finds out once, by whichever thread asks first.
#pragma once

#include <atomic>
#include <mutex>

namespace tilewright::runtime {

/// Held while something is found out. A fork waits for it: the child has no thread that would give it back.
std::recursive_mutex& finding();

/// Libraries that are loaded, files that are read. Threads that ask meanwhile wait. A static of a function would do the
/// same, but its lock knows nothing of forks: a child that is forked meanwhile waits for ever.
template <class T> class FoundOnce {
  public:
    constexpr FoundOnce() = default;

    /// `find`: returns a T; it is called once. The result is never freed.
    template <class Find> const T& get(Find&& find) {
        if (const T* known = known_.load(std::memory_order_acquire)) return *known;
        const std::lock_guard lock(finding());
        const T* known = known_.load(std::memory_order_relaxed);
        if (!known) known_.store(known = new T(find()), std::memory_order_release);
        return *known;
    }

  private:
    std::atomic<const T*> known_{nullptr};
};

} // namespace tilewright::runtime
