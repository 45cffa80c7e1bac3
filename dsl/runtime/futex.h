// dsl/runtime/futex.h: waiting for a word to change: by Linux, or by looking at it again and again.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace tilewright::runtime {

/// Sleeps while the word is `expected`, at most for `longest` where that is given. May wake up without a reason.
inline void futex_wait(std::atomic<std::uint32_t>* word, std::uint32_t expected, const timespec* longest = nullptr) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), FUTEX_WAIT_PRIVATE, expected, longest, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>* word) {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// A thread that spins looks at the clock after so many pauses.
inline constexpr int kPausesPerLook = 32;

inline std::int64_t now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

} // namespace tilewright::runtime
