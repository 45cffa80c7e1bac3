// translator/plan/steps.h: a program with loops or writes, cut into straight-line segments and the steps between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "dsl/runtime/plan.h"
#include "translator/ir/attributes.h"
#include "translator/ir/program.h"
#include "translator/loops/access.h"
#include "translator/translate.h"

namespace tilewright::translator {

/// Memory of a call: an argument, a result or a temporary.
struct BufferPlan {
    enum class Kind { argument, written, result, temporary };
    std::string name;
    Type type;
    Kind kind = Kind::temporary;
    bool swapped = false; ///< exchanges its memory with another temporary
    bool local = false;   ///< known from its step on, in that block alone
};

/// Where a yield of a segment goes.
struct Target {
    std::string buffer;
    Type type;                      ///< of the buffer
    bool fresh = true;              ///< the whole buffer, which has the value's own name
    std::vector<IndexEntry> region; ///< otherwise the part of the buffer that is written: no newaxis
    int line = 0;
};

/// Every element of an array.
inline std::vector<IndexEntry> whole_region(std::size_t rank) {
    return {rank, IndexEntry::all()};
}

/// Straight-line code. Its arguments are those of the whole program and the buffers that it reads; loop symbols are
/// integer scalars.
struct Segment {
    Program program;
    std::vector<Target> targets;    ///< of the yields, in order
    std::vector<MovingSize> moving; ///< sizes of the loops around, and those that were read
    /// Which elements of buffers it reads. Known inside of loops alone.
    std::vector<Access> reads;
    bool lanes_apart = false; ///< of the one buffer that it writes it reads the same indices along all sliced axes
    std::string copied;       ///< the temporary that it copies and that nothing else reads, "" if it does more
};

/// How the rows of a nest may be under way together. The body of its range are ranges over columns, which run as one:
/// element by element, all of them in a column before the next column.
struct Wavefront {
    std::int64_t skew = 0;           ///< columns by which each row is behind the one before it, at least
    std::vector<std::int64_t> first; ///< of each range of the body: the column of its first iteration
    std::string why;                 ///< the dependence that forbids that rows run in any order
};

/// A step of the plan before its kernels have names: a call is a segment.
struct Step : runtime::StepOf<Step> {
    Segment segment;                             ///< of a call
    std::optional<std::pair<Size, Size>> limits; ///< of a read: its smallest and largest value
    /// Of a loop or branch; null where columns of an array are meant.
    const Operation* operation = nullptr;
    std::optional<Wavefront> wavefront; ///< of a range over rows

    bool is_range() const { return kind == Kind::for_range; }
    /// Of a range.
    const Size& first() const { return arguments[0]; }
    const Size& stop() const { return arguments[1]; }
    const Size& step() const { return arguments[2]; }
    /// Of a copy or a swap: from -> to. What a read or a branch looks at.
    const std::string& from() const { return arguments[0].name(); }
    const std::string& to() const { return arguments[1].name(); }
    /// A branch on memory, not on sizes.
    bool looks_at_memory() const { return kind == Kind::branch && arguments[0].op() == Size::Op::symbol; }
};

/// The memory that a step names, without its blocks: arrays and what it writes of a call.
std::set<std::string> memory_of(const Step& step);

struct Stepped {
    std::vector<Step> steps;
    std::vector<BufferPlan> buffers;   ///< all but arguments that are only read
    std::vector<std::string> returned; ///< buffers or arguments
    /// Of loops: the buffers of their checked_flags().
    std::map<const Operation*, std::set<std::string>> flags;

    std::set<std::string> flags_of(const Step& loop) const {
        const auto found = flags.find(loop.operation);
        return found == flags.end() ? std::set<std::string>() : found->second;
    }
    /// Null for other memory.
    const BufferPlan* buffer(const std::string& name) const {
        const auto found = std::ranges::find(buffers, name, &BufferPlan::name);
        return found == buffers.end() ? nullptr : &*found;
    }
};

/// Cuts `program`, which must outlive the steps. In-place updates write into the memory of the version that they
/// replace where nobody needs that version any more, and into a copy elsewhere. Throws TranslateError for what has no
/// translation. For a device there are no wavefronts, and what sizes decide is decided by the plan.
Stepped cut_into_steps(const Program& program, bool device = false);

/// Temporaries of no dimensions that each iteration of a loop writes before it reads them, and that nothing else needs:
/// each iteration may have its own.
std::set<std::string> own_of_each_iteration(const Stepped& stepped, const Step& loop);

/// Why the iterations of a range cannot run at the same time, "" where they can: every buffer that it writes has an
/// axis along which each iteration keeps to one position, in all that it writes and reads.
std::string why_not_independent(const Stepped& stepped, const Step& range);

/// Marks the ranges over rows whose iterations need each other and may overlap all the same, each row some columns
/// behind the one before it, and makes their bodies ranges over columns, element by element:
///   for i { A[i, 1:-1] = …; for j { A[i, j] = … } }   ->   for i, several at once { for j { A[i, j] = …; A[i, j] = … }
///   }
/// Where the dependence test cannot decide, a range stays as it is.
void find_wavefronts(Stepped& stepped);

} // namespace tilewright::translator
