// translator/stages/reductions.h: reductions and products as stages whose order is part of the algorithm.
#pragma once

#include <functional>
#include <optional>

#include "translator/stages/stage_table.h"

namespace tilewright::translator {

/// Pairs (k, k + half), then again: each level of the tree is one vector operation.
template <class F> Halide::Expr pairwise(Exprs values, F&& combine) {
    while (values.size() > 1) {
        std::size_t half = values.size() / 2;
        for (std::size_t k = 0; k < half; ++k)
            values[k] = combine(values[k], values[k + half]);
        values.resize(half);
    }
    return values[0];
}

/// The larger of two values, or the smaller one.
inline auto extreme(bool largest) {
    return [largest](const Halide::Expr& a, const Halide::Expr& b) {
        return largest ? Halide::max(a, b) : Halide::min(a, b);
    };
}

inline Halide::Expr any_nan(Exprs values) {
    for (Halide::Expr& value : values)
        value = Halide::is_nan(value);
    return pairwise(std::move(values), [](const Halide::Expr& a, const Halide::Expr& b) { return a || b; });
}

/// On a device, a tree over lanes is cut where so many values are left: that many threads run the levels before.
inline constexpr int kFolded = 8;

/// Builds the stages of one reduction or matmul under the chosen variant. The last one is named as `plan`; the ones
/// before it NAME_lanes, NAME_block, NAME_rows, NAME_best, NAME_axisK; on a device NAME_lane and NAME_fold too.
class ReductionBuilder {
  public:
    ReductionBuilder(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan)
        : shared_(shared), table_(table), evaluator_(evaluator), plan_(plan) {}
    void build();

  private:
    /// What is reduced along one axis: the kept axes and the element at a position; in a search its value and its
    /// index.
    struct Source {
        std::vector<Size> kept;
        Size extent;
        std::function<Exprs(const Exprs& kept, const Halide::Expr& position)> at;
    };
    /// What is done with the elements. A partial result is one value, or in a search a value and its index.
    struct Reduction {
        std::vector<std::string> dtypes; ///< of a partial result
        int operations = 1;              ///< of a step
        bool ordered = false;
        bool searches = false;
        Exprs start; ///< of a serial reduction, and its answer for no elements
        /// Pads a lane or block that begins at this position: with x it gives x, bit by bit.
        std::function<Exprs(const Halide::Expr& first)> identity;
        /// A partial result and an element, where that `is_there`; undefined: it is.
        std::function<Exprs(const Exprs& sum, const Exprs& x, const Halide::Expr& is_there)> step;
        std::function<Exprs(const std::vector<Exprs>& lanes)> tree;
        /// The same of some lanes; pairs of pairs give what `tree` gives.
        std::function<Exprs(const std::vector<Exprs>& values)> combine;
        std::function<Exprs(const Exprs& x)> finish; ///< of the last tree
    };
    struct Ends {
        std::string name;      ///< of the last stage
        bool last = true;      ///< whether that is the result itself
        std::string stem = ""; ///< with which the names of the stages before it begin
    };

    Reduction reduction(Op op) const;
    /// `value`, which has the operand's shape, in place of the operand.
    Source source_of(const std::string& value, const std::vector<int>& axes, bool collapsed);
    Exprs operand_at(const Exprs& index);
    void serial(const Source& source, const Reduction& op, const Ends& ends);
    void serial_over_axes(const Reduction& op, const Ends& ends);
    using ElementAt = std::function<Exprs(const Exprs& kept, const Halide::RDom& domain)>;
    /// One by one over reduced loops, `terms` elements in all.
    void one_by_one(const std::vector<Size>& kept, const std::vector<Loop>& loops, const Size& terms,
                    const ElementAt& at, const Reduction& op, const Ends& ends);
    void rows(Source source, const Reduction& op, int levels, const Ends& ends);
    Source blocks_of_rows(const Source& source, const Reduction& op, int level);
    /// The loop over the rows of a block.
    struct BlockRows {
        std::vector<Loop> loops;
        Halide::RDom domain;
        std::vector<Halide::Expr> conditions;
        Halide::Expr position; ///< of a row, inside the axis
        Halide::Expr is_there; ///< whether the row at that place is; undefined where the conditions say so
    };
    BlockRows rows_of_block(StageDraft& stage, const Halide::Expr& block, const Size& extent, bool ordered);
    void lanes(Source source, const Reduction& op, int levels, const Ends& ends);
    /// The results of one level's blocks.
    Source blocks_of_lanes(const Source& source, const Reduction& op, int level, const std::string& stem);
    /// The lanes of one level as a stage, of one block or of several.
    Halide::Func lanes_of(const Source& source, const Reduction& op, int level, const std::optional<Size>& blocks,
                          const std::string& stem);
    /// The tree over lanes, which is the end of a level.
    StageDraft tree_of(Halide::Func lanes, const std::vector<Size>& kept, const Reduction& op, int level,
                       const std::optional<Size>& blocks, const std::string& stem, const std::string& name);
    /// On a device: `left` values of each of a stage's `count` lanes; their accumulators as their block sees them, each
    /// stored once (left is count), or the first levels of the tree over them.
    Halide::Func folded(const std::string& name, dsl::StagePart part, const Reduction& op, const Halide::Func& lanes,
                        int count, int left, const std::vector<Size>& kept, const std::optional<Size>& blocks);
    void axis_by_axis(const Reduction& op, int levels, const Ends& end);
    void search();
    /// `of_roots`: the source gives squares, and the search is among their roots.
    Reduction search_step(bool of_roots) const;
    /// The lanes of a second level, for devices: one block after the other would be one thread's.
    Halide::Func lanes_of_blocks(const Source& blocks, const Reduction& op);
    void matmul(const Ends& ends);
    /// What is no search, in the dtype that partial results have.
    void reduce(const Ends& ends);

    int lane_count() const { return shared_.analysis.lane_shape(*plan_.operation).lanes; }
    StageDraft draft(const std::string& name, const std::vector<std::string>& dtypes,
                     dsl::StagePart part = dsl::StagePart::whole);
    /// The name of a last stage that has updates; each takes so many terms.
    std::string with_updates(const Ends& ends, const Size& terms);
    std::string helper(const std::string& suffix);
    void finish(StageDraft draft, const Ends& ends);
    /// Ends a stage that others read.
    Halide::Func finish(StageDraft draft);

    Shared& shared_;
    StageTable& table_;
    Evaluator& evaluator_;
    const StagePlan& plan_;
    bool copied_ = false; ///< the last stage has updates, and a pure one copies what they made
};

} // namespace tilewright::translator
