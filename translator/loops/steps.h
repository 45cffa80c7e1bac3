// translator/loops/steps.h: a program with loops or writes, cut into straight-line segments and the steps between them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/attributes.h"
#include "translator/loops/access.h"
#include "translator/program.h"
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
    return {rank, IndexEntry{IndexEntry::Kind::slice, Size::integer(0), Size::integer(1)}};
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
    std::vector<std::int64_t> first; ///< of each range of the body: the column of its first trip
    std::string why;                 ///< the dependence that forbids that rows run in any order
};

struct Step {
    enum class Kind {
        segment,
        copy,     ///< from -> to
        swap,     ///< from <-> to
        range,    ///< body for index in range(first, stop, step)
        loop,     ///< body again and again, until `leave`
        leave,    ///< the loop, unless `from` is true
        branch,   ///< body if `condition`, one on sizes, or `from` is true, else other
        at_most,  ///< body if the size `first` is at most the number `stop`, else other
        check,    ///< that `from` is true; else the call ends, and `text` says why
        read,     ///< the size `index` from `from`
        temporary ///< `from`, whose shape changes from trip to trip, is known from here on
    };
    Kind kind = Kind::segment;
    Segment segment;
    std::string from, to;
    std::string text;
    std::string index;
    std::optional<Size> condition;
    Size first, stop, step; ///< of a read: its smallest and largest value
    bool limited = true;    ///< a read has these
    std::vector<Step> body, other;
    const Operation* operation =
        nullptr; ///< of a range, loop or branch; of a range null where columns of an array are meant
    std::optional<Wavefront> wavefront; ///< of a range over rows
};

struct Stepped {
    std::vector<Step> steps;
    std::vector<BufferPlan> buffers;   ///< all but arguments that are only read
    std::vector<std::string> returned; ///< buffers or arguments
};

/// Whether a program needs steps: it has loops or branches that stay, checks, sizes that it reads, or writes.
bool needs_steps(const Program& program);

/// Cuts `program`, which must outlive the steps. In-place updates write into the memory of the version that they
/// replace where nobody needs that version any more, and into a copy elsewhere. Throws TranslateError for what has no
/// translation. For a device there are no wavefronts, and what sizes decide is decided by the plan.
Stepped cut_into_steps(const Program& program, bool device = false);

} // namespace tilewright::translator
