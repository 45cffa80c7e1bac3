// translator/stages/searches.cpp: argmin and argmax: first occurrence, NaN first, in any order of evaluation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/base/error.h"
#include "dsl/passes/rare_path.h"
#include "translator/stages/reductions.h"

namespace tilewright::translator {

using Halide::Expr;
using Element = Halide::Type;

namespace {

/// Whether `x` beats `best` strictly; NaN beats all but NaN.
Expr beats(bool smallest, const Expr& x, const Expr& best) {
    if (!x.type().is_float()) return smallest ? x < best : x > best;
    // LLVM makes one unordered comparison of the first three.
    Expr wins = (smallest ? x < best : x > best) || (Halide::is_nan(x) || Halide::is_nan(best));
    return wins && !Halide::is_nan(best);
}

/// The same for roots; `x` and `best` are their squares. Roots are ordered as their squares are, except that
/// neighbours may round to one root: only squares that close need their roots taken.
///
/// With e the precision's unit roundoff, x < best (1 - 8e) gives sqrt(x) < sqrt(best) (1 - 4e), further apart than the
/// two roundings can bring together; where the bound itself is rounded among subnormals, one step is more than that.
/// An infinite square has an infinite root, and no other has: the value that a search begins with needs no root.
Expr root_beats(bool smallest, const Expr& x, const Expr& best) {
    const Element type = x.type();
    const double nearly_one = 1 - std::ldexp(1.0, type.bits() == 64 ? -50 : -21);
    const Expr bound = float_constant(type, nearly_one);
    const Expr fast = beats(smallest, x, best);
    const Expr clearly = smallest ? x < best * bound : best < x * bound;
    const Expr is_finite = (smallest ? best : x) < float_constant(type, std::numeric_limits<double>::infinity());
    return dsl::rare(fast && !clearly && is_finite, beats(smallest, Halide::sqrt(x), Halide::sqrt(best)), fast);
}

/// Whether no element can be below zero; NaN may be among them.
bool is_nonnegative(const Analysis& analysis, const std::string& value) {
    const Operation* operation = analysis.value(value).operation;
    if (!operation || !storage_type(analysis.value(value).type.dtype).is_float()) return false;
    const auto& operands = operation->operands;
    const Op op = operation->op;
    auto all_operands = [&] {
        return std::all_of(operands.begin(), operands.end(),
                           [&](const std::string& operand) { return is_nonnegative(analysis, operand); });
    };
    if (op == Op::square || op == Op::absolute || op == Op::exp || op == Op::sqrt) return true;
    if (op == Op::multiply) return operands[0] == operands[1] || all_operands();
    return (op == Op::add || op == Op::sum) && all_operands();
}

/// The elements of a stage, by its storage's indices.
Best found_at(const Halide::Func& stage, const Exprs& at) {
    const Halide::FuncRef found = stage(at);
    return {found[0], found[1]};
}

/// The best of all lanes: first the value, then the smallest index that has it. Comparing pairs instead would read each
/// lane several times a level, and the expression would grow with a power of the lanes.
std::vector<Expr> best_of(bool smallest, const std::vector<Best>& lanes) {
    std::vector<Expr> values;
    std::vector<Expr> nans;
    for (const Best& lane : lanes)
        values.push_back(lane.value);
    const Element type = values[0].type();
    auto better = [smallest](const Expr& a, const Expr& b) { return smallest ? Halide::min(a, b) : Halide::max(a, b); };
    Expr value = pairwise(values, better);
    Expr any_nan = Halide::Internal::const_false();
    if (type.is_float()) {
        for (const Best& lane : lanes)
            nans.push_back(Halide::is_nan(lane.value));
        any_nan = pairwise(nans, [](const Expr& a, const Expr& b) { return a || b; });
    }
    std::vector<Expr> indices;
    for (std::size_t k = 0; k < lanes.size(); ++k) {
        Expr has_it = lanes[k].value == value;
        if (type.is_float()) has_it = (any_nan && nans[k]) || (!any_nan && has_it);
        indices.push_back(Halide::select(has_it, lanes[k].index, highest(lanes[k].index.type())));
    }
    Expr index = pairwise(indices, [](const Expr& a, const Expr& b) { return Halide::min(a, b); });
    if (type.is_float())
        value = Halide::select(any_nan, float_constant(type, std::numeric_limits<double>::quiet_NaN()), value);
    return {value, index};
}

/// The same for a fold, which has lanes as pairs of a value and an index.
auto best_of_pairs(bool smallest) {
    return [smallest](const std::vector<Exprs>& pairs) {
        std::vector<Best> lanes;
        for (const Exprs& pair : pairs)
            lanes.push_back({pair[0], pair[1]});
        return best_of(smallest, lanes);
    };
}

/// The same for a stage of lanes: its values at (lane, at...).
std::vector<Expr> best_of_stage(bool smallest, const Halide::Func& stage, int lane_count, const Exprs& at) {
    std::vector<Best> lanes;
    for (int lane = 0; lane < lane_count; ++lane) {
        Exprs of_lane{Expr(lane)};
        of_lane.insert(of_lane.end(), at.begin(), at.end());
        lanes.push_back(found_at(stage, of_lane));
    }
    return best_of(smallest, lanes);
}

/// What an update leaves of the best so far and a candidate.
std::vector<Expr> better_of(const Expr& take, const Best& candidate, const StageDraft& stage) {
    return {Halide::select(take, candidate.value, stage.current(0)),
            Halide::select(take, candidate.index, stage.current(1))};
}

} // namespace

ReductionBuilder::Searched ReductionBuilder::searched() const {
    Searched out;
    const Operation& operation = *plan_.operation;
    out.smallest = operation.op == Op::argmin;
    const std::string& dtype = shared_.analysis.value(operation.operands[0]).type.dtype;
    out.type = storage_type(dtype);
    out.index_type = Halide::Int(out.type.bits() == 64 ? 64 : 32);
    out.dtypes = {dtype, out.type.bits() == 64 ? "int64" : "int32"};
    out.start = out.smallest ? highest(out.type) : lowest(out.type);
    return out;
}

void ReductionBuilder::search_result(const std::string& best, std::size_t rank) {
    StageDraft result = draft(plan_.name, "int64");
    std::vector<std::string> names;
    std::vector<Size> extents;
    for (const Size& extent : plan_.operation->type.shape)
        extents.push_back(extent);
    Exprs kept = kept_index(result, extents, names);
    if (kept.size() != rank) throw InternalError("stage " + plan_.name + ": its search has another rank.");
    Halide::Func func = table_.impls.at(best).func;
    Halide::FuncRef ref = func(Exprs(kept.rbegin(), kept.rend()));
    result.define({names.rbegin(), names.rend()}, {Halide::cast<int64_t>(ref[1])}, 1);
    finish(std::move(result), {plan_.name, true});
}

void ReductionBuilder::search() {
    const ReductionShape shape = shared_.analysis.reduction_shape(*plan_.operation);
    const std::string& choice = shared_.analysis.chosen(plan_.name);
    const std::string& operand = plan_.operation->operands[0];
    const Operation* from = shared_.analysis.value(operand).operation;
    const bool of_roots =
        choice == "serial" && from && from->op == Op::sqrt && is_nonnegative(shared_.analysis, from->operands[0]);
    Source source = value_source(of_roots ? from->operands[0] : operand, shape.axes, false);
    // Truth as bytes compares and stores like any number.
    auto inner = source.at;
    source.at = [inner](const Exprs& kept, const Expr& position) {
        Expr x = inner(kept, position);
        return x.type().is_bool() ? Halide::cast<uint8_t>(x) : x;
    };
    if (const int levels = lane_levels(choice); levels > 0) return search_lanes(source, levels > 1);
    search_rows(source, row_levels(choice), of_roots);
}

StageDraft ReductionBuilder::search_draft(const std::string& suffix, dsl::StagePart part) {
    const std::vector<std::string> dtypes = searched().dtypes;
    StageDraft stage = draft(helper(suffix), dtypes[0]);
    stage.dtypes = dtypes;
    stage.part = part;
    return stage;
}

void ReductionBuilder::search_lanes(const Source& source, bool blocks) {
    const Searched of = searched();
    const LaneShape shape = shared_.analysis.lane_shape(*plan_.operation);
    Size rows_count = floor_div(source.extent, Size::integer(shape.lanes));
    Size rest = floor_mod(source.extent, Size::integer(shape.lanes));
    Size block_count = ceil_div(source.extent, shape.block());

    const bool device = shared_.options.device;
    StageDraft stage =
        device ? search_draft("_lane", dsl::StagePart::lane) : search_draft("_lanes", dsl::StagePart::lanes);
    std::vector<std::string> names;
    Exprs kept = kept_index(stage, source.kept, names);
    Expr block = 0;
    if (blocks) block = stage.pure("b", block_count);
    Halide::Var u = stage.pure("u", Size::integer(shape.lanes));
    std::vector<std::string> storage{"u"};
    if (blocks) storage.push_back("b");
    storage.insert(storage.end(), names.rbegin(), names.rend());
    // A lane starts at its own first position: where nothing beats the start, that is its first occurrence.
    Expr first = Halide::cast(of.index_type, block * static_cast<int32_t>(shape.block()) + u);
    stage.define(storage, {of.start, first}, 0);
    Expr extent = shared_.size(source.extent);
    Expr row_extent = shared_.size(rows_count);
    auto add_update = [&](const std::vector<Loop>& loops, const Halide::RDom& domain, const Expr& position,
                          const std::vector<Expr>& conditions) {
        evaluator_.begin_definition();
        Expr x = source.at(kept, Halide::unsafe_promise_clamped(position, 0, extent - 1));
        Expr take = beats(of.smallest, x, stage.current(0));
        stage.update(domain, loops, better_of(take, {x, Halide::cast(of.index_type, position)}, stage), conditions,
                     evaluator_.operations() + 3);
    };
    {
        std::vector<Loop> loops{{"r", blocks ? Size::integer(shape.per_lane) : rows_count, true, true}};
        Halide::RDom domain = stage.reduce(loops);
        Expr row = blocks ? block * shape.per_lane + domain[0] : Expr(domain[0]);
        add_update(loops, domain, row * shape.lanes + u,
                   blocks ? std::vector<Expr>{row < row_extent} : std::vector<Expr>());
    }
    {
        std::vector<Loop> loops{{"r", Size::integer(1), true, true}};
        Halide::RDom domain = stage.reduce(loops);
        std::vector<Expr> conditions;
        if (blocks) conditions.push_back(block == row_extent / shape.per_lane);
        conditions.push_back(u < shared_.size(rest));
        // The position has to name the loop, or Halide drops its condition.
        add_update(loops, domain, row_extent * shape.lanes + u + domain[0], conditions);
    }
    Halide::Func partial = stage.func();
    table_.finish(std::move(stage));
    int lane_count = shape.lanes;
    if (device) {
        lane_count = std::min(lane_count, kFolded);
        partial = fold("", "", of.dtypes, partial, shape.lanes, source.kept,
                       blocks ? std::optional<Size>(block_count) : std::nullopt, best_of_pairs(of.smallest));
    }

    // A tree over the lanes of a block, then one pass over the blocks.
    StageDraft tree = search_draft(blocks ? "_block" : "_best", dsl::StagePart::block);
    std::vector<std::string> tree_names;
    Exprs tree_kept = kept_index(tree, source.kept, tree_names);
    Exprs reversed(tree_kept.rbegin(), tree_kept.rend());
    storage.assign(tree_names.rbegin(), tree_names.rend());
    if (blocks) {
        reversed.insert(reversed.begin(), tree.pure("b", block_count));
        storage.insert(storage.begin(), "b");
    }
    tree.define(storage, best_of_stage(of.smallest, partial, lane_count, reversed), 3 * lane_count);
    std::string best = tree.name();
    Halide::Func block_best = tree.func();
    table_.finish(std::move(tree));
    if (blocks && device) best = search_blocks_in_lanes(block_best, source.kept, block_count);
    if (blocks && !device)
        best = search_candidates({source.kept, block_count, [&](const Exprs& index, const Expr& position) {
                                      Exprs at{position};
                                      at.insert(at.end(), index.rbegin(), index.rend());
                                      return found_at(block_best, at);
                                  }});
    search_result(best, source.kept.size());
}

void ReductionBuilder::search_rows(const Source& source, int levels, bool of_roots) {
    const Element index_type = searched().index_type;
    Candidates candidates{source.kept, source.extent, [&](const Exprs& kept, const Expr& position) {
                              return Best{source.at(kept, position), Halide::cast(index_type, position)};
                          }};
    for (int level = 1; level <= levels; ++level)
        candidates = best_of_rows(candidates, level);
    search_result(search_candidates(candidates, of_roots), source.kept.size());
}

ReductionBuilder::Candidates ReductionBuilder::best_of_rows(const Candidates& source, int level) {
    const Searched of = searched();
    StageDraft stage = search_draft(level == 1 ? "_rows" : "_rows" + std::to_string(level), dsl::StagePart::rows);
    const Size blocks = ceil_div(source.extent, kRowsPerBlock);
    const Halide::Var b = stage.pure("b", blocks);
    std::vector<std::string> names;
    const Exprs kept = kept_index(stage, source.kept, names);
    std::vector<std::string> storage(names.rbegin(), names.rend());
    storage.push_back("b");
    // A block starts at its own first position: where nothing beats the start, that is its first occurrence.
    int32_t rows = 1;
    for (int k = 0; k < level; ++k)
        rows *= kRowsPerBlock;
    stage.define(storage, {of.start, Halide::cast(of.index_type, b * rows)}, 0);
    evaluator_.begin_definition();
    const BlockRows in_block = rows_of_block(stage, b, source.extent, true);
    const Best candidate = source.at(kept, in_block.position);
    Expr take = beats(of.smallest, candidate.value, stage.current(0));
    if (in_block.is_there.defined()) take = in_block.is_there && take;
    stage.update(in_block.domain, in_block.loops, better_of(take, candidate, stage), in_block.conditions,
                 evaluator_.operations() + 3);
    const Halide::Func best = stage.func();
    table_.finish(std::move(stage));
    return {source.kept, blocks, [best](const Exprs& index, const Expr& block) {
                Exprs at(index.rbegin(), index.rend());
                at.push_back(block);
                return found_at(best, at);
            }};
}

std::string ReductionBuilder::search_candidates(const Candidates& source, bool of_roots) {
    const Searched of = searched();
    StageDraft stage = search_draft("_best", dsl::StagePart::whole);
    std::vector<std::string> names;
    const Exprs kept = kept_index(stage, source.kept, names);
    // An element equal to the start never replaces it, and 0 is then the first index anyway. The start of a search
    // among squares has to have a root, or it would pass for NaN, which nothing beats.
    const Expr start = of_roots && !of.smallest ? Halide::Internal::make_zero(of.type) : of.start;
    stage.define({names.rbegin(), names.rend()}, {start, Halide::Internal::make_zero(of.index_type)}, 0);
    evaluator_.begin_definition();
    // In order, so that only what is strictly better replaces an earlier one.
    const std::vector<Loop> loops{{"r", source.extent, true, true}};
    const Halide::RDom domain = stage.reduce(loops);
    const Best candidate = source.at(kept, domain[0]);
    const auto wins = of_roots ? root_beats : beats;
    stage.update(domain, loops, better_of(wins(of.smallest, candidate.value, stage.current(0)), candidate, stage), {},
                 evaluator_.operations() + 3);
    const std::string name = stage.name();
    table_.finish(std::move(stage));
    return name;
}

std::string ReductionBuilder::search_blocks_in_lanes(const Halide::Func& block_best,
                                                     const std::vector<Size>& kept_extents, const Size& block_count) {
    const Searched of = searched();
    const int lanes = shared_.analysis.lane_shape(*plan_.operation).lanes;
    // A lane that has no block yet takes its first one, whatever it holds; one that has none loses every tie.
    const Expr none = highest(of.index_type);

    StageDraft stage = search_draft("_lane2", dsl::StagePart::lane);
    std::vector<std::string> names;
    const Exprs kept = kept_index(stage, kept_extents, names);
    const Halide::Var u = stage.pure("u", Size::integer(lanes));
    std::vector<std::string> storage{"u"};
    storage.insert(storage.end(), names.rbegin(), names.rend());
    stage.define(storage, {of.start, none}, 0);
    const std::vector<Loop> loops{{"r", ceil_div(block_count, lanes), true, true}};
    const Halide::RDom domain = stage.reduce(loops);
    const Expr block = domain[0] * lanes + u, count = shared_.size(block_count);
    Exprs at{Halide::unsafe_promise_clamped(block, 0, count - 1)};
    at.insert(at.end(), kept.rbegin(), kept.rend());
    const Best candidate = found_at(block_best, at);
    const Expr take = stage.current(1) == none || beats(of.smallest, candidate.value, stage.current(0));
    stage.update(domain, loops, better_of(take, candidate, stage), {block < count}, 4);
    const Halide::Func lane = stage.func();
    table_.finish(std::move(stage));

    const Halide::Func folded_lanes =
        fold("", "2", of.dtypes, lane, lanes, kept_extents, std::nullopt, best_of_pairs(of.smallest));
    StageDraft last = search_draft("_best", dsl::StagePart::block);
    std::vector<std::string> last_names;
    const Exprs last_kept = kept_index(last, kept_extents, last_names);
    last.define(
        {last_names.rbegin(), last_names.rend()},
        best_of_stage(of.smallest, folded_lanes, std::min(lanes, kFolded), {last_kept.rbegin(), last_kept.rend()}),
        3 * kFolded);
    const std::string name = last.name();
    table_.finish(std::move(last));
    return name;
}

} // namespace tilewright::translator
