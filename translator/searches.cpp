// translator/searches.cpp: argmin and argmax: first occurrence, NaN first, in any order of evaluation.
#include "dsl/base/error.h"
#include "translator/reductions.h"

namespace tilewright::translator {

using Halide::Expr;
using Element = Halide::Type;

namespace {

/// The value and index of the best element so far.
struct Best {
    Expr value;
    Expr index;
};

/// Whether `x` beats `best` strictly; NaN beats all but NaN.
Expr beats(bool smallest, const Expr& x, const Expr& best) {
    if (!x.type().is_float()) return smallest ? x < best : x > best;
    // LLVM makes one unordered comparison of the first three.
    Expr wins = (smallest ? x < best : x > best) || (Halide::is_nan(x) || Halide::is_nan(best));
    return wins && !Halide::is_nan(best);
}

/// Takes the better of two candidates, the smaller index where they are equal.
std::vector<Expr> better(bool smallest, const Best& best, const Best& other) {
    Expr equal = best.value == other.value;
    if (best.value.type().is_float()) equal = equal || (Halide::is_nan(best.value) && Halide::is_nan(other.value));
    Expr take = beats(smallest, other.value, best.value) || (equal && other.index < best.index);
    return {Halide::select(take, other.value, best.value), Halide::select(take, other.index, best.index)};
}

}  // namespace

void ReductionBuilder::search_result(const std::string& best, std::size_t rank) {
    StageDraft result = draft(plan_.name, "int64");
    std::vector<std::string> names;
    std::vector<SizeTree> extents;
    for (const Size& extent : plan_.operation->type.shape) extents.push_back(tree_of(extent));
    Exprs kept = kept_index(result, extents, names);
    if (kept.size() != rank) throw InternalError("stage " + plan_.name + ": its search has another rank.");
    Halide::Func func = table_.impls.at(best).func;
    Halide::FuncRef ref = func(Exprs(kept.rbegin(), kept.rend()));
    result.define({names.rbegin(), names.rend()}, {Halide::cast<int64_t>(ref[1])}, 1);
    finish(std::move(result), {plan_.name, true});
}

void ReductionBuilder::search() {
    const ReductionShape shape = shared_.analysis.reduction_shape(*plan_.operation);
    Source source = operand_source(shape.axes, false);
    // Truth as bytes compares and stores like any number.
    auto inner = source.at;
    source.at = [inner](const Exprs& kept, const Expr& position) {
        Expr x = inner(kept, position);
        return x.type().is_bool() ? Halide::cast<uint8_t>(x) : x;
    };
    const std::string& choice = shared_.analysis.chosen(plan_.name);
    if (choice == "serial") return search_serial(source);
    search_lanes(source, choice != "lanes1");
}

void ReductionBuilder::search_serial(const Source& source) {
    const Operation& operation = *plan_.operation;
    const std::string& dtype = shared_.analysis.value(operation.operands[0]).type.dtype;
    const bool smallest = operation.op == "argmin";
    const Element type = storage_type(dtype);
    const Element index_type = Halide::Int(type.bits() == 64 ? 64 : 32);
    StageDraft stage = draft(helper("_best"), dtype);
    stage.dtypes.push_back(index_type.bits() == 64 ? "int64" : "int32");
    std::vector<std::string> names;
    Exprs kept = kept_index(stage, source.kept, names);
    // An element equal to the start never replaces it, and 0 is then the first index anyway.
    stage.define({names.rbegin(), names.rend()},
                 {smallest ? highest(type) : lowest(type), Halide::Internal::make_zero(index_type)}, 0);
    evaluator_.begin_definition();
    std::vector<Loop> loops{{"r", source.extent, true, true}};
    Halide::RDom domain = stage.reduce(loops);
    Expr x = source.at(kept, domain[0]);
    Expr take = beats(smallest, x, stage.current(0));
    stage.update(domain, loops,
                 {Halide::select(take, x, stage.current(0)),
                  Halide::select(take, Halide::cast(index_type, domain[0]), stage.current(1))},
                 {}, evaluator_.operations() + 3);
    std::string name = stage.name();
    table_.finish(std::move(stage));
    search_result(name, source.kept.size());
}

void ReductionBuilder::search_lanes(const Source& source, bool blocks) {
    const Operation& operation = *plan_.operation;
    const LaneShape shape = shared_.analysis.lane_shape(operation);
    const std::string& dtype = shared_.analysis.value(operation.operands[0]).type.dtype;
    const bool smallest = operation.op == "argmin";
    const Element type = storage_type(dtype);
    const Element index_type = Halide::Int(type.bits() == 64 ? 64 : 32);
    const std::string index_dtype = index_type.bits() == 64 ? "int64" : "int32";
    const Expr start = smallest ? highest(type) : lowest(type);
    SizeTree rows_count = floor_div(source.extent, SizeTree::integer(shape.lanes));
    SizeTree rest = floor_mod(source.extent, SizeTree::integer(shape.lanes));
    SizeTree block_count = ceil_div(source.extent, shape.block());

    StageDraft stage = draft(helper("_lanes"), dtype);
    stage.part = "lanes";
    stage.dtypes.push_back(index_dtype);
    std::vector<std::string> names;
    Exprs kept = kept_index(stage, source.kept, names);
    Expr block = 0;
    if (blocks) block = stage.pure("b", block_count);
    Halide::Var u = stage.pure("u", SizeTree::integer(shape.lanes));
    std::vector<std::string> storage{"u"};
    if (blocks) storage.push_back("b");
    storage.insert(storage.end(), names.rbegin(), names.rend());
    // A lane starts at its own first position: where nothing beats the start, that is its first occurrence.
    Expr first = Halide::cast(index_type, block * static_cast<int32_t>(shape.block()) + u);
    stage.define(storage, {start, first}, 0);
    Expr extent = shared_.size(source.extent);
    Expr row_extent = shared_.size(rows_count);
    auto add_update = [&](const std::vector<Loop>& loops, const Halide::RDom& domain, const Expr& position,
                          const std::vector<Expr>& conditions) {
        evaluator_.begin_definition();
        Expr x = source.at(kept, Halide::unsafe_promise_clamped(position, 0, extent - 1));
        Expr take = beats(smallest, x, stage.current(0));
        stage.update(domain, loops,
                     {Halide::select(take, x, stage.current(0)),
                      Halide::select(take, Halide::cast(index_type, position), stage.current(1))},
                     conditions, evaluator_.operations() + 3);
    };
    {
        std::vector<Loop> loops{{"r", blocks ? SizeTree::integer(shape.per_lane) : rows_count, true, true}};
        Halide::RDom domain = stage.reduce(loops);
        Expr row = blocks ? block * shape.per_lane + domain[0] : Expr(domain[0]);
        add_update(loops, domain, row * shape.lanes + u,
                   blocks ? std::vector<Expr>{row < row_extent} : std::vector<Expr>());
    }
    {
        std::vector<Loop> loops{{"r", SizeTree::integer(1), true, true}};
        Halide::RDom domain = stage.reduce(loops);
        std::vector<Expr> conditions;
        if (blocks) conditions.push_back(block == row_extent / shape.per_lane);
        conditions.push_back(u < shared_.size(rest));
        // The position has to name the loop, or Halide drops its condition.
        add_update(loops, domain, row_extent * shape.lanes + u + domain[0], conditions);
    }
    Halide::Func partial = stage.func();
    table_.finish(std::move(stage));

    // One pass over the lanes of a block, then one over the blocks.
    auto compare = [&](const std::string& name, bool over_blocks, const Halide::Func& from, const SizeTree& count) {
        const bool keeps_block = blocks && !over_blocks;
        StageDraft combine = draft(name, dtype);
        combine.dtypes.push_back(index_dtype);
        std::vector<std::string> kept_names;
        Exprs index = kept_index(combine, source.kept, kept_names);
        Exprs reversed(index.rbegin(), index.rend());
        std::vector<std::string> order(kept_names.rbegin(), kept_names.rend());
        Expr start_index = Halide::Internal::make_zero(index_type);
        if (keeps_block) {
            Halide::Var b = combine.pure("b", block_count);
            order.insert(order.begin(), "b");
            reversed.insert(reversed.begin(), b);
            start_index = Halide::cast(index_type, b * static_cast<int32_t>(shape.block()));
        }
        combine.define(order, {start, start_index}, 0);
        std::vector<Loop> loops{{"r", count, true, true}};
        Halide::RDom domain = combine.reduce(loops);
        reversed.insert(reversed.begin(), domain[0]);
        Halide::FuncRef candidate = from(reversed);
        combine.update(domain, loops,
                       better(smallest, {combine.current(0), combine.current(1)}, {Expr(candidate[0]), Expr(candidate[1])}),
                       {}, 6);
        Halide::Func func = combine.func();
        table_.finish(std::move(combine));
        return func;
    };
    Halide::Func from = partial;
    if (blocks) from = compare(helper("_block"), false, partial, SizeTree::integer(shape.lanes));
    const std::string best = helper("_best");
    compare(best, true, from, blocks ? block_count : SizeTree::integer(shape.lanes));
    search_result(best, source.kept.size());
}

}  // namespace tilewright::translator
