// translator/stages/reductions.h: reductions and products as stages whose order is part of the algorithm.
#pragma once

#include <optional>

#include "translator/stages/stage_table.h"

namespace tilewright::translator {

/// Pairs (k, k + half), then again: each level of the tree is one vector operation.
template <class F> Halide::Expr pairwise(std::vector<Halide::Expr> values, F&& combine) {
    while (values.size() > 1) {
        std::size_t half = values.size() / 2;
        for (std::size_t k = 0; k < half; ++k)
            values[k] = combine(values[k], values[k + half]);
        values.resize(half);
    }
    return values[0];
}

/// On a device, a tree over lanes is cut where so many values are left: that many threads run the levels before.
inline constexpr int kFolded = 8;

/// The best element so far of a search, or a candidate for it.
struct Best {
    Halide::Expr value;
    Halide::Expr index;
};

/// Builds the stages of one reduction or matmul under the chosen variant. The last one is named as `plan`; the ones
/// before it NAME_lanes, NAME_block, NAME_rows, NAME_best, NAME_axisK; on a device NAME_lane and NAME_fold too.
class ReductionBuilder {
  public:
    ReductionBuilder(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan)
        : shared_(shared), table_(table), evaluator_(evaluator), plan_(plan) {}
    void build();

  private:
    /// What is reduced along one axis: the kept axes and the element at a position.
    struct Source {
        std::vector<Size> kept;
        Size extent;
        std::function<Halide::Expr(const Exprs& kept, const Halide::Expr& position)> at;
    };
    struct Monoid {
        Halide::Type type;     ///< in memory
        Halide::Expr identity; ///< pads lanes: identity (+) x is x, bit by bit
        Halide::Expr start;    ///< of a serial reduction, and its answer for no elements
        bool ordered = false;
        std::function<Halide::Expr(const Halide::Expr& sum, const Halide::Expr& x)> step;
        std::function<Halide::Expr(const std::vector<Halide::Expr>& lanes)> tree;
        /// Two partial results; pairs of pairs give what `tree` gives.
        std::function<Halide::Expr(const Halide::Expr& a, const Halide::Expr& b)> pair;
        std::function<Halide::Expr(const Halide::Expr& x)> finish; ///< of the last tree
    };
    struct Ends {
        std::string name; ///< of the last stage
        bool last = true; ///< whether that is the result itself
    };

    Monoid monoid() const;
    Source operand_source(const std::vector<int>& axes, bool collapsed);
    /// `value`, which has the operand's shape, in place of the operand.
    Source value_source(const std::string& value, const std::vector<int>& axes, bool collapsed);
    Halide::Expr operand_at(const Exprs& index);
    void serial(const Source& source, const Monoid& op, const Ends& ends);
    void serial_over_axes(const Monoid& op);
    void rows(Source source, const Monoid& op, int levels, const Ends& ends);
    Source blocks_of_rows(const Source& source, const Monoid& op, int level);
    /// The loop over the rows of a block.
    struct BlockRows {
        std::vector<Loop> loops;
        Halide::RDom domain;
        std::vector<Halide::Expr> conditions;
        Halide::Expr position; ///< of a row, inside the axis
        Halide::Expr is_there; ///< whether the row at that place is; undefined where the conditions say so
    };
    BlockRows rows_of_block(StageDraft& stage, const Halide::Expr& block, const Size& extent, bool ordered);
    void lanes(Source source, const Monoid& op, int levels, const Ends& ends);
    /// On a device: `lane`, the accumulators, as its block sees them, each stored once, and the first levels of the
    /// tree over them, down to kFolded values. `combine` takes pairs of values (or of Tuples) as `pairwise` does.
    using Combine = std::function<std::vector<Halide::Expr>(const std::vector<std::vector<Halide::Expr>>& values)>;
    Halide::Func fold(const std::string& base, const std::string& number, const std::vector<std::string>& dtypes,
                      const Halide::Func& lane, int lanes, const std::vector<Size>& kept_extents,
                      const std::optional<Size>& blocks, const Combine& combine);
    /// One stage of it: of `lanes` values `left`.
    Halide::Func folded(const std::string& name, dsl::StagePart part, const std::vector<std::string>& dtypes,
                        const Halide::Func& partial, int lanes, int left, const std::vector<Size>& kept_extents,
                        const std::optional<Size>& blocks, const Combine& combine);
    void axis_by_axis(const Monoid& op, int levels);
    void search();
    void search_lanes(const Source& source, bool blocks);
    /// In so many levels of blocks of rows; in none, one element after the other. `of_roots`: the source gives squares,
    /// and the search is among their roots.
    void search_rows(const Source& source, int levels, bool of_roots);
    struct Searched {
        bool smallest = false;
        Halide::Type type, index_type;   ///< in memory
        std::vector<std::string> dtypes; ///< of an element and of its index
        Halide::Expr start;              ///< beats no element
    };
    Searched searched() const;
    StageDraft search_draft(const std::string& suffix, dsl::StagePart part);
    /// Elements with their indices.
    struct Candidates {
        std::vector<Size> kept;
        Size extent;
        std::function<Best(const Exprs& kept, const Halide::Expr& position)> at;
    };
    /// The best of each kRowsPerBlock rows, one after the other.
    Candidates best_of_rows(const Candidates& source, int level);
    /// The best of all, one after the other; the name of a stage with its value and its index.
    std::string search_candidates(const Candidates& source, bool of_roots = false);
    /// The same of blocks, in lanes and a tree over them, for devices: a block after the other is one thread's.
    std::string search_blocks_in_lanes(const Halide::Func& block_best, const std::vector<Size>& kept_extents,
                                       const Size& block_count);
    void search_result(const std::string& best, std::size_t rank);
    void matmul();

    StageDraft draft(const std::string& name, const std::string& dtype);
    /// The name of a last stage that has updates; each takes so many terms.
    std::string with_updates(const Ends& ends, const Size& terms);
    std::string helper(const std::string& suffix);
    void finish(StageDraft draft, const Ends& ends);
    static Exprs kept_index(StageDraft& draft, const std::vector<Size>& kept, std::vector<std::string>& names);

    Shared& shared_;
    StageTable& table_;
    Evaluator& evaluator_;
    const StagePlan& plan_;
    bool copied_ = false; ///< the last stage has updates, and a pure one copies what they made
};

} // namespace tilewright::translator
