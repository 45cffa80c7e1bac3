// dsl/model/algorithm.h: stages and how they depend on each other, without a schedule.
//
// The translator makes an Algorithm (fresh Halide Funcs each time, since scheduling changes Funcs in
// place); check, apply and emit use it. What the search may know of it is AlgorithmInfo, plain data
// that needs no Halide.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::dsl {

/// A loop of a definition as a schedule may name it before any directive.
struct LoopInfo {
    std::string name; ///< i, j, k, l in NumPy's axis order (i is the first axis); r, r1, ... reduced
    bool reduced = false;
    bool ordered = false;          ///< reduced, and its iterations may not be reordered or run in parallel
    std::string extent;            ///< a size expression over program sizes: "X.0", "(X.0 + 1023) // 1024"
    std::int64_t extent_here = -1; ///< its value at the sizes translated for, -1 where unknown
    bool racing = false;           ///< iterations may touch the same element; set by Algorithm's constructor
    /// The extent changes from iteration to iteration of a loop of the program around the kernel: no condition can be
    /// asked of it before the call. Then `longest` is the most that it can be, as `extent` and `extent_here`: "" and -1
    /// where that is not known.
    bool follows = false;
    std::string longest = "";
    std::int64_t longest_here = -1;

    const std::string& most() const { return follows ? longest : extent; }
    std::int64_t most_here() const { return follows ? longest_here : extent_here; }
};

/// A read of another stage, exactly as the Funcs have it. Set by Algorithm's constructor.
struct CallInfo {
    std::string stage;
    /// Per axis of `stage` (NumPy order): the loop that alone is the index, "=" for what no loop moves, else "".
    std::vector<std::string> axes;
};

/// The pure definition (index -1 in schedules) or one update of a stage.
struct DefinitionInfo {
    std::vector<LoopInfo> loops; ///< outermost first, as an unscheduled definition runs them
    bool associative = false;    ///< an update that may run in any order and in parts; set by Algorithm's constructor
    std::vector<CallInfo> calls; ///< set by Algorithm's constructor
};

/// How a definition reads another stage or an argument.
struct ReadInfo {
    std::string from;       ///< stage or argument
    std::string innermost;  ///< the loop of the reader that moves along the contiguous axis, or ""
    bool broadcast = false; ///< some loop of the reader does not move the read at all
    int definition = -1;    ///< of the reader: -1 the pure one, k update(k)
    /// Per axis of `from` (NumPy order): the loop of the reader that alone indexes it (with stride one), "" where none
    /// or several do.
    std::vector<std::string> axes;
    int places = 1; ///< of `from` that are read so: x[:-2] + x[2:] reads two
    /// Along one axis it is read at the row that a stage of blocks of rows adds: row r of block b.
    bool by_block_rows = false;
};

/// What a stage is of a reduction or a loop that takes several stages.
enum class StagePart {
    whole, ///< no part of anything
    lanes, ///< of a blocked reduction: partial results side by side
    block, ///< the tree over the lanes
    rows,  ///< blocks of rows
    lane,  ///< on a device: the accumulators that the lanes are copies of
    fold,  ///< on a device: the first levels of the tree
    end,   ///< on a device: the copy of a sum that is added up one by one
    loop   ///< a loop inside its elements
};
/// "" for StagePart::whole.
constexpr const char* part_name(StagePart part) {
    constexpr const char* kNames[] = {"", "lanes", "block", "rows", "lane", "fold", "end", "loop"};
    return kNames[static_cast<int>(part)];
}

struct StageInfo {
    std::string name;
    std::vector<std::string> dtypes; ///< one, or one per Tuple element
    DefinitionInfo pure;
    std::vector<DefinitionInfo> updates;
    std::vector<ReadInfo> reads;
    bool output = false;
    bool inlinable = true; ///< has only a pure definition and is no output
    /// An output whose tails are guarded whatever a schedule says: its memory holds more than it writes, its elements
    /// are read before they are written, or its extents change from call to call of the kernel.
    bool guarded = false;
    /// Loops of the program around the whole kernel: how often it runs for each call, at the sizes translated for;
    /// whether they run inside the stage's outermost loop, one element after the other; whether they run in parallel
    /// themselves.
    double repeats = 1;
    bool scans = false;
    bool in_parallel = false;
    /// The last stage of a nest: so many of its rows are under way together unless a schedule says otherwise; 0: of
    /// none.
    int rows_together = 0;
    /// Of some array it reads three or more neighbours along the contiguous axis: most of its vectors begin at any
    /// byte.
    bool reads_neighbours = false;
    /// Vectors at the ends of an axis take each element from its own place: those of np.pad and np.roll.
    bool gathers_at_ends = false;
    int operations = 0; ///< arithmetic operations per element, transcendental ones counted as 20
    int line = 0;       ///< of the user's source, 0 where unknown
    std::string source; ///< the NumPy call it comes from, for people
    int kernel = 0;     ///< which kernel of the plan it belongs to
    StagePart part = StagePart::whole;

    /// -1: the pure one; k: update(k).
    const DefinitionInfo& definition(int update) const {
        return update < 0 ? pure : updates[static_cast<std::size_t>(update)];
    }
};

/// A program size and its value at the sizes that this algorithm is translated for.
struct SizeInfo {
    std::string name; ///< "X.0", or the name of an integer scalar argument
    std::int64_t here = -1;
};

struct AlgorithmInfo {
    std::string function;
    std::map<std::string, std::string> variant;
    std::vector<StageInfo> stages; ///< in an order in which each stage comes after what it reads
    std::vector<SizeInfo> sizes;

    /// nullptr for what is no stage.
    const StageInfo* find(const std::string& stage) const {
        const auto found = std::ranges::find(stages, stage, &StageInfo::name);
        return found == stages.end() ? nullptr : &*found;
    }
};

struct AlgorithmImpl; // Halide's part: dsl/model/algorithm_impl.h

/// Stages of one translation. Movable, not copyable: apply() uses it up.
class Algorithm {
  public:
    Algorithm();
    /// Completes `info` with what follows from the Funcs: order of loops, races, associativity, calls. Throws
    /// InternalError where a stage or a loop of `info` has no Func or no variable.
    explicit Algorithm(std::unique_ptr<AlgorithmImpl> impl, AlgorithmInfo info);
    ~Algorithm();
    Algorithm(Algorithm&&) noexcept;
    Algorithm& operator=(Algorithm&&) noexcept;

    const AlgorithmInfo& info() const { return info_; }
    AlgorithmImpl& impl() { return *impl_; }
    const AlgorithmImpl& impl() const { return *impl_; }

  private:
    std::unique_ptr<AlgorithmImpl> impl_;
    AlgorithmInfo info_;
};

} // namespace tilewright::dsl
