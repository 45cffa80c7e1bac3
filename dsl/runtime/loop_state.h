// dsl/runtime/loop_state.h: the iterations of one parallel loop, dealt out in contiguous ranges with stealing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/watch.h"

namespace tilewright::runtime {

/// Lives on the caller's stack. Each participant starts on its own contiguous range (neighbouring iterations touch
/// neighbouring memory) and, when that is done, takes the back half of the longest range left.
class LoopState {
  public:
    static constexpr int kMaxParticipants = 256;

    /// `watch`: of the caller, where an interrupt may end the loop; else null.
    LoopState(void* context, LoopBody body, int first, int count, std::uint8_t* closure, int participants,
              Watch* watch = nullptr)
        : context_(context), body_(body), first_(first), closure_(closure), participants_(participants), watch_(watch) {
        for (int p = 0; p < participants; ++p) {
            auto begin = static_cast<std::uint32_t>(static_cast<std::int64_t>(count) * p / participants);
            auto end = static_cast<std::uint32_t>(static_cast<std::int64_t>(count) * (p + 1) / participants);
            ranges_[p].packed = pack(begin, end);
        }
    }

    /// Works until no iteration is left anywhere. Others may still be in their last one.
    void participate(int self) {
        participate_while(self, [] { return true; });
    }
    /// The same, but ends where `goes_on()`, asked between iterations now and then, is false. Whether iterations may be
    /// left.
    template <class GoesOn> bool participate_while(int self, GoesOn goes_on) {
        const Entered entered(this);
        do {
            std::uint32_t index = 0, end = 0;
            while (take(self, index, end)) {
                for (; index < end; ++index) {
                    if (error_.load(std::memory_order_relaxed) != 0) return false;
                    if (int rc = body_(context_, first_ + static_cast<int>(index), closure_)) {
                        fail(rc);
                        return false;
                    }
                }
                if (!goes_on()) return true;
            }
        } while (steal(self));
        return false;
    }

    /// The first error stays.
    void fail(int error) {
        int none = 0;
        error_.compare_exchange_strong(none, error);
    }
    int error() const { return error_.load(std::memory_order_acquire); }
    int participants() const { return participants_; }
    bool is_watched() const { return watch_ != nullptr; }

    /// Of a helper that has participated: its last touch, behind which the caller may leave and this may be gone.
    void finish();
    /// Returns to the caller when so many helpers have finished. Asks for an interrupt meanwhile, which fails the loop.
    void wait_for(std::uint32_t helpers);

    /// The one that this thread participates in, or null.
    static const LoopState* of_thread() { return entered(); }

  private:
    static const LoopState*& entered() {
        static thread_local const LoopState* loop = nullptr;
        return loop;
    }
    struct Entered {
        const LoopState* before;
        explicit Entered(const LoopState* loop) : before(std::exchange(entered(), loop)) {}
        ~Entered() { entered() = before; }
        Entered(const Entered&) = delete;
        Entered& operator=(const Entered&) = delete;
    };

    // Plain words behind atomic_ref: std::atomic would clear all of them for every loop.
    struct alignas(64) Range {
        std::uint64_t packed;
    };
    static std::uint64_t pack(std::uint32_t begin, std::uint32_t end) { return std::uint64_t{begin} << 32 | end; }

    bool take(int self, std::uint32_t& begin, std::uint32_t& end) {
        std::atomic_ref<std::uint64_t> range(ranges_[self].packed);
        std::uint64_t now = range.load(std::memory_order_relaxed);
        for (;;) {
            auto from = static_cast<std::uint32_t>(now >> 32), to = static_cast<std::uint32_t>(now);
            if (from >= to) return false;
            // A sixteenth of what is left: few atomics for many small iterations, single ones near the end.
            std::uint32_t n = std::max(1u, (to - from) / 16);
            if (range.compare_exchange_weak(now, pack(from + n, to), std::memory_order_acq_rel)) {
                begin = from;
                end = from + n;
                return true;
            }
        }
    }

    bool steal(int self) {
        for (;;) {
            int victim = -1;
            std::uint64_t seen = 0;
            std::uint32_t most = 0;
            for (int p = 0; p < participants_; ++p) {
                std::uint64_t now = std::atomic_ref<std::uint64_t>(ranges_[p].packed).load(std::memory_order_relaxed);
                auto from = static_cast<std::uint32_t>(now >> 32), to = static_cast<std::uint32_t>(now);
                if (from < to && to - from > most) {
                    most = to - from;
                    victim = p;
                    seen = now;
                }
            }
            if (victim < 0) return false;
            auto from = static_cast<std::uint32_t>(seen >> 32), to = static_cast<std::uint32_t>(seen);
            std::uint32_t middle = from + (to - from) / 2;
            std::atomic_ref<std::uint64_t> range(ranges_[victim].packed);
            if (range.compare_exchange_strong(seen, pack(from, middle), std::memory_order_acq_rel)) {
                std::atomic_ref<std::uint64_t>(ranges_[self].packed).store(pack(middle, to), std::memory_order_release);
                return true;
            }
        }
    }

    void* context_;
    LoopBody body_;
    int first_;
    std::uint8_t* closure_;
    int participants_;
    Watch* const watch_;
    std::atomic<int> error_{0};
    std::atomic<std::uint32_t> finished_{0}; ///< helpers, and a bit that says whether the caller sleeps
    Range ranges_[kMaxParticipants];
};

} // namespace tilewright::runtime
