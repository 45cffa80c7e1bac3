// dsl/model/loop_nest.h: the loops of one definition while directives change them, without Halide.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl {

/// What happens where a split's factor does not divide the extent; Halide's TailStrategy.
enum class Tail {
    automatic,
    guard_with_if,
    predicate,
    predicate_loads,
    predicate_stores,
    round_up,
    round_up_and_blend,
    shift_inwards,
    shift_inwards_and_blend
};
std::string tail_name(Tail tail);
std::optional<Tail> tail_by_name(const std::string& name);

/// Elements that a split may visit beyond the end of an axis, with the splits that it divides further: indices have 32
/// bits, and arrays leave twice as much of them free (runtime/element_count.h), for a split of the inner part too.
inline constexpr std::int64_t kMostRounded = std::int64_t{1} << 26;

enum class Run { serial, parallel, vectorized, unrolled, gpu_block, gpu_thread, gpu_lane };

/// Whether iterations run side by side in any order: parallel tasks, vectors, blocks, threads.
inline bool runs_spread(Run run) {
    return run != Run::serial && run != Run::unrolled;
}
/// Threads of a block; lanes are those of a warp.
inline bool runs_on_threads(Run run) {
    return run == Run::gpu_thread || run == Run::gpu_lane;
}

/// A loop, live or already split or fused away.
struct Loop {
    enum class Origin { base, outer, inner, fused };
    std::string name;
    std::string axis; ///< base: the name before any rename, as calls and conditions know it
    Origin origin = Origin::base;
    int parent = -1;        ///< outer, inner: what was split; fused: the inner one
    int second_parent = -1; ///< fused: the outer one
    int outer = -1;         ///< the parts that a split made of it
    int inner = -1;
    int fused = -1;          ///< what it was fused into
    std::int64_t factor = 0; ///< of the split that it was divided by
    Tail tail = Tail::automatic;
    bool reduced = false;
    bool ordered = false;
    bool racing = false;
    Run run = Run::serial;
    Position run_at;
    bool partitioned = false;             ///< a directive says how it is partitioned
    std::string extent;                   ///< base: size expression, empty where the stage's region decides
    std::optional<std::int64_t> constant; ///< base: known constant extent
};

/// Loops as a list of nodes (they keep their numbers) and the live ones in order, outermost first.
class LoopNest {
  public:
    std::vector<Loop> loops;
    std::vector<int> order;

    /// The live loop of that name, or -1.
    int find(const std::string& name) const;
    std::vector<std::string> names() const;
    int place(int loop) const; ///< index into order, -1 for a loop that is not live

    void add(const LoopInfo& info, bool full_region);
    void split(int loop, const std::string& outer, const std::string& inner, std::int64_t factor, Tail tail);
    int fuse(int inner, int outer, const std::string& name);

    /// The base loops that a loop is made from.
    std::set<int> roots(int loop) const;
    /// Number of iterations where it is known; `base` gives it for base loops without a constant.
    std::optional<std::int64_t> extent(int loop,
                                       const std::function<std::optional<std::int64_t>(const Loop&)>& base = {}) const;
    /// How many values of `loop` are visited while the live loops in `fixed` stand still: an upper bound.
    std::optional<std::int64_t> span(int loop, const std::function<bool(int)>& fixed,
                                     const std::function<std::optional<std::int64_t>(const Loop&)>& base) const;
    /// The size expression of a loop's extent; empty where a base has none.
    std::string extent_text(int loop) const;
    /// Elements of its axis that lie between two iterations of a loop, at most.
    std::int64_t step(int loop) const;
    /// Whether `loop` comes from the inner part of a split.
    bool from_inner(int loop) const;
    bool from_predicated(int loop) const;
};

} // namespace tilewright::dsl
