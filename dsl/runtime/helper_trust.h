// dsl/runtime/helper_trust.h: whether a loop should ask for helpers at once, or work alone first.
#pragma once

#include <algorithm>
#include <cstdint>

#include <x86intrin.h>

namespace tilewright::runtime {

/// The processor's clock, at about three ticks a nanosecond: cheap enough to read in each of a million short loops.
inline std::uint64_t ticks() {
    return __rdtsc();
}

/// What one calling thread has seen of its helpers. On a busy machine the scheduler takes a helper's processor away in
/// the middle of an iteration, and the caller waits milliseconds for microseconds of work; or it gives a helper that
/// looks for work the caller's processor. After that loops begin alone for a while: short ones end so, long ones ask
/// for helpers then.
class HelperTrust {
  public:
    /// How long a loop works alone first while helpers are slow.
    static constexpr std::uint64_t kAlone = 150'000;
    /// Work after which sleeping helpers are woken, be it of one loop or of many in a row: waking one costs more than
    /// less work is worth.
    static constexpr std::uint64_t kAsleep = 100'000;

    /// Ticks that a loop which begins now should work alone.
    std::uint64_t alone(std::uint64_t now) const { return now < until_ ? kAlone : 0; }

    /// And where helpers sleep.
    std::uint64_t alone_while_asleep(std::uint64_t now) {
        if (now > last_ + kInARow) missed_ = 0;
        return kAsleep - std::min(missed_, kAsleep);
    }
    /// A loop that would have had helpers, had they not slept, has ended at `now` after so much work.
    void missed(std::uint64_t now, std::uint64_t worked) {
        missed_ += worked;
        last_ = now;
    }
    void woken() { missed_ = 0; }

    /// A loop has ended at `now`: its caller worked for so long, and then waited for helpers.
    void note(std::uint64_t now, std::uint64_t worked, std::uint64_t waited) {
        if (waited >= kLongWait && waited / 2 >= worked) disturbed(now);
    }

    /// Whether it is time to ask how often the caller has lost its processor.
    bool looks_at(std::uint64_t now) {
        if (now < looked_ + kShortestPause) return false;
        looked_ = now;
        return true;
    }
    /// It has lost it so many times since it began.
    void lost_processor(std::uint64_t now, long times) {
        if (times != lost_) disturbed(now);
        lost_ = times;
    }

  private:
    void disturbed(std::uint64_t now) {
        if (now < until_) return;
        const bool again = pause_ != 0 && now < until_ + kMemory * pause_;
        pause_ = again ? std::min(2 * pause_, kLongestPause) : kShortestPause;
        until_ = now + pause_;
    }

    static constexpr std::uint64_t kLongWait = 60'000;          // a helper that runs is back in less
    static constexpr std::uint64_t kShortestPause = 3'000'000;  // a millisecond
    static constexpr std::uint64_t kLongestPause = 150'000'000; // a wait of some milliseconds in so many is no loss
    static constexpr std::uint64_t kMemory = 16;                // pauses after which a wait is a new one
    static constexpr std::uint64_t kInARow = 300'000;           // between loops; helpers stay awake for longer
    std::uint64_t until_ = 0, pause_ = 0;
    std::uint64_t missed_ = 0, last_ = 0;
    std::uint64_t looked_ = 0;
    long lost_ = 0;
};

} // namespace tilewright::runtime
