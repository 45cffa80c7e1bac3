// dsl/runtime/watch.h: whether a call is interrupted, asked by loops of its plan and of its kernels.
#pragma once

#include <x86intrin.h>

#include <algorithm>
#include <cstdint>

namespace tilewright::runtime {

/// Asked about every millisecond while loops run.
struct Interrupt {
    bool (*occurred)(void* context);
    void* context;
};

/// Asks the caller about every millisecond, by the processor's own clock; that is looked at every few iterations where
/// they are short.
class Watch {
  public:
    /// `interrupt`: null where nobody asks.
    explicit Watch(const Interrupt* interrupt) : interrupt_(interrupt) {}

    bool interrupted() { return interrupt_ && --countdown_ == 0 && look(); }

  private:
    static constexpr std::uint64_t kTicks = 2'000'000; // around a millisecond

    __attribute__((noinline)) bool look() {
        std::uint64_t now = __rdtsc();
        if (due_ == 0) due_ = now + kTicks, seen_ = now;
        countdown_ = now - seen_ > kTicks / 4 ? 1 : 16;
        seen_ = now;
        if (now < due_) return false;
        bool yes = interrupt_->occurred(interrupt_->context);
        // Asking may wait for others; it must not become the main part of the work.
        seen_ = __rdtsc();
        due_ = seen_ + std::max(kTicks, 16 * (seen_ - now));
        return yes;
    }

    const Interrupt* interrupt_;
    std::uint32_t countdown_ = 1;
    std::uint64_t seen_ = 0, due_ = 0;
};

/// Of the call that this thread runs, or null: kernels have no argument for it.
inline Watch*& watch_of_thread() {
    static thread_local Watch* watch = nullptr;
    return watch;
}

} // namespace tilewright::runtime
