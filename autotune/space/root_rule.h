// autotune/space/root_rule.h: the loop nest of a stage that stands on its own (an output, or computed once for all).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "autotune/machine.h"
#include "autotune/space/stage_graph.h"
#include "autotune/space/statements.h"

namespace tilewright::autotune {

/// Operations per element from which one vector at a time waits for itself.
inline constexpr int kLongChainOps = 20;

/// Vectors are as wide as this call's axes allow: for who tunes it, or for a version that serves calls of other sizes
/// too; a narrow vector then may ask for no elements.
enum class Widths { of_call, of_machine };

/// A root's loops after its directives, and where other stages may be computed in them.
struct RootLoops {
    std::vector<std::string> axes; ///< the pure loops in nest order, outermost first
    std::vector<std::string>
        attach_at;           ///< attach_at[k]: the innermost loop in which the first k axes are fixed; "" for none
    std::string vector_axis; ///< the pure loop that is vectorized, or ""
    /// attach_at[vector_depth], and what is further in, are loops in which one vector of that axis is fixed.
    std::size_t vector_depth = 0;
    Factor vector_factor;       ///< its factor, a hole: ?argmin_vec
    std::int64_t task_rows = 0; ///< rows of a task to begin with, elements of the one axis; 0: there are no tasks
    std::int64_t all_rows = 1;  ///< the same of the root
    int vector_lanes = 1;       ///< the default value of that factor
    int unrolled_rows = 1;
    std::string grouped_axis; ///< a few rows of this axis run inside of each vector; "" for none
    Factor group_factor;      ///< how many: ?sum_group
    std::string outermost;    ///< the outermost loop after splits and fusions
    std::string streams;      ///< the loop over tasks in which columns of a matrix are added up row by row; "" for none
    std::vector<Line> lines;

    /// Before any directive, with no place for other stages.
    static RootLoops of(const dsl::StageInfo& root) {
        RootLoops result;
        result.axes = names_of(root.pure.loops);
        result.attach_at.assign(result.axes.size() + 1, "");
        result.vector_depth = result.axes.size();
        return result;
    }
    /// Whether what is computed at `loop` is for one vector of the root's elements along its axis.
    bool is_for_one_vector(const std::string& loop) const {
        return !vector_axis.empty() && std::find(attach_at.begin() + static_cast<std::ptrdiff_t>(vector_depth),
                                                 attach_at.end(), loop) != attach_at.end();
    }
};

/// Which loop of `root` its vectors go along: the last one, or the next one before it that is long enough, where the
/// last one is too short to fill a vector, as of points and colours. Rows of broadcast operands, with gaps between
/// them, or written in place then cost what elements in a row do.
std::size_t vector_place(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info,
                         const Machine& machine, double chain_ops);

/// Whether the rows that vectors of `root` go across, those of the axis at `place`, have a length of their own: a size
/// of a few elements, or a constant.
bool knows_row(const dsl::StageInfo& root, std::size_t place, const dsl::AlgorithmInfo& info);

/// Loops for stage `root`: rows or tiles in parallel, the axis at `vector_place` in vectors.
/// `element_ops` is the work per element of everything that will run inside, `chain_ops` what of it is one chain.
/// `grouped_axis`: several rows of this axis are to run side by side; "" for none (see grouped_axis()).
/// `least_task`: the elements that a parallel task has at least (see least_task()).
/// `streamed_tile`: the columns of a task of a root with one axis, in whose tasks columns of a matrix are added up row
/// by row; 0 for none.
RootLoops root_rule(const dsl::StageInfo& root, const StageGraph& graph, const Machine& machine, double element_ops,
                    double chain_ops, Widths widths, std::size_t vector_place, const std::string& grouped_axis = "",
                    std::int64_t least_task = 0, std::int64_t streamed_tile = 0);

/// 0, or how many elements of `root` a task should have at least: what fills the cache of one core. Between the steps
/// of a loop that also writes borders and the like, which one thread does, whatever a second core has touched travels
/// back and forth, line by line, and takes longer than the work. One schedule serves all sizes: large arrays are more
/// than one task.
std::int64_t least_task(const dsl::StageInfo& root, const dsl::AlgorithmInfo& info, const Machine& machine,
                        double element_ops);

/// The axis of `root` whose rows should be reduced several at once, or "". A sum whose terms are added one by one
/// waits for each addition; with a vector of several rows at a time the additions overlap, and what the rows share is
/// loaded once.
std::string grouped_axis(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info);

/// `lanes`, or fewer where the axis is shorter at the sizes translated for: a schedule of wider vectors serves other
/// calls only.
int fitting_lanes(int lanes, const dsl::LoopInfo& axis, Widths widths);

/// The vector width a stage starts with: the lanes of its narrowest value of at least 32 bits.
int default_lanes(const dsl::StageInfo& stage, const StageGraph& graph, const Machine& machine);

} // namespace tilewright::autotune
