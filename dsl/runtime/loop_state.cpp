// dsl/runtime/loop_state.cpp: the caller's wait for its helpers.
#include "dsl/runtime/loop_state.h"

#include "dsl/runtime/futex.h"
#include "dsl/runtime/out_of_memory.h"

namespace tilewright::runtime {
namespace {

/// A caller spins this long, then sleeps: where a helper has lost its processor to others, it may then have the
/// caller's.
constexpr std::int64_t kCallerSpinNs = 50'000;
/// A caller that may be interrupted wakes up so often.
constexpr timespec kBetweenAsks{.tv_sec = 0, .tv_nsec = 1'000'000};
constexpr std::uint32_t kCallerSleeps = 1u << 31;

} // namespace

void LoopState::finish() {
    // Waking an address that is no longer a futex is harmless.
    std::atomic<std::uint32_t>* const finished = &finished_;
    if (finished->fetch_add(1, std::memory_order_acq_rel) & kCallerSleeps) futex_wake(finished);
}

void LoopState::wait_for(std::uint32_t helpers) {
    if (finished_.load(std::memory_order_acquire) == helpers) return;
    const std::int64_t until = now_ns() + kCallerSpinNs;
    do {
        for (int i = 0; i < kPausesPerLook; ++i) {
            if (finished_.load(std::memory_order_acquire) == helpers) return;
            __builtin_ia32_pause();
        }
    } while (now_ns() < until);
    std::uint32_t seen = finished_.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
    Watch* watch = watch_;
    while ((seen & ~kCallerSleeps) != helpers) {
        futex_wait(&finished_, seen, watch != nullptr ? &kBetweenAsks : nullptr);
        if (watch != nullptr && watch->interrupted()) {
            fail(kInterrupted);
            watch = nullptr;
        }
        seen = finished_.load(std::memory_order_acquire);
    }
}

} // namespace tilewright::runtime
