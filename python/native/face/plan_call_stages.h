// python/native/face/plan_call_stages.h: runs the stages of one call that Python computes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "python/native/face/call_parts.h"
#include "python/native/face/held_results.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {

/// How often something ran, and how long in all.
struct RunTime {
    std::atomic<std::int64_t> calls{0}, ns{0};

    void add(std::int64_t took_ns) {
        calls.fetch_add(1, std::memory_order_relaxed);
        ns.fetch_add(took_ns, std::memory_order_relaxed);
    }
};

/// Of some calls of a plan, and of the stages in them. A look at the clock costs up to 40 ns, and a call has four of
/// them.
struct StageTimes {
    explicit StageTimes(std::size_t stages) : each(stages) {}

    /// Whether the next call is timed: the first ones, all that take long enough, and each sixteenth of the others.
    bool wanted() {
        const std::uint32_t number = seen.fetch_add(1, std::memory_order_relaxed);
        return number < 16 || number % 16 == 0 || last_ns.load(std::memory_order_relaxed) >= 20'000;
    }

    RunTime whole;
    std::vector<RunTime> each;
    std::atomic<std::uint32_t> seen{0};
    std::atomic<std::int64_t> last_ns{0};
};

/// What computes a stage. It is handed views of the plan's memory once it has been seen to keep nothing of a call, and
/// copies until then: what it kept would change and vanish under its hands.
struct Stage {
    explicit Stage(Ref computes) : callee(std::move(computes)), part(callee ? HeldPart::in(callee.get()) : nullptr) {}
    Stage(Stage&& other) noexcept : callee(std::move(other.callee)), part(other.part), keeps(other.keeps.load()) {}

    Ref callee;
    const HeldPart* part; ///< what it gives without a call; null: it is called
    mutable std::atomic<bool> keeps{true};
};

inline std::int64_t now_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// Lives as long as the call. Its thread may have given the GIL back; a stage takes it.
class StageCalls {
  public:
    StageCalls(const std::vector<Stage>& stages, StageTimes* times, RunningThread& thread)
        : stages_(stages), times_(times && times->wanted() ? times : nullptr), start_ns_(times_ ? now_ns() : 0),
          thread_(thread) {}

    runtime::StageRunner runner() {
        return {[](void* context, int stage, const runtime::StageArray* arrays, int count) {
                    return static_cast<StageCalls*>(context)->call(stage, arrays, count);
                },
                this};
    }
    /// What the stage holds whose result is `number`, an int64.
    Ref held(const void* number) const;
    /// The plan has run to its end.
    void ended() const {
        if (!times_) return;
        const std::int64_t took_ns = now_ns() - start_ns_;
        times_->whole.add(took_ns);
        times_->last_ns.store(took_ns, std::memory_order_relaxed);
    }
    /// What a stage raised; nothing where none did.
    Ref error() { return std::move(error_); }

  private:
    runtime::StageOutcome call(int stage, const runtime::StageArray* arrays, int count);
    runtime::StageOutcome compute(const Stage& stage, const runtime::StageArray* arrays, int count);
    runtime::StageOutcome call_python(const Stage& stage, const runtime::StageArray* arrays, int count);
    /// What became of a result that was stored, or was not.
    runtime::StageOutcome stored(bool is_done) {
        if (is_done) return runtime::StageOutcome::done;
        return PyErr_Occurred() ? raised() : runtime::StageOutcome::refused;
    }
    runtime::StageOutcome raised();

    const std::vector<Stage>& stages_;
    StageTimes* const times_; ///< null where nobody takes the time
    const std::int64_t start_ns_;
    RunningThread& thread_;
    Ref held_; ///< what calls that were opened gave, by the names that their stages have for it
    Ref error_;
};

} // namespace tilewright::face
