// translator/stages/searches.cpp: argmin and argmax: first occurrence, NaN first, in any order of evaluation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/passes/markers.h"
#include "translator/stages/reductions.h"

namespace tilewright::translator {

using Halide::Expr;
using Element = Halide::Type;

namespace {

/// Of the positions of such elements.
Element index_type_of(const Element& value) {
    return Halide::Int(value.bits() == 64 ? 64 : 32);
}

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
    if (!operation || !value_type(analysis.value(value).type.dtype).is_float()) return false;
    const auto& operands = operation->operands;
    const Op op = operation->op;
    auto all_operands = [&] {
        return std::ranges::all_of(operands,
                                   [&](const std::string& operand) { return is_nonnegative(analysis, operand); });
    };
    if (op == Op::square || op == Op::absolute || op == Op::exp || op == Op::sqrt) return true;
    if (op == Op::multiply) return operands[0] == operands[1] || all_operands();
    return (op == Op::add || op == Op::sum) && all_operands();
}

/// The best of all lanes: first the value, then the smallest index that has it. Comparing pairs instead would read each
/// lane several times a level, and the expression would grow with a power of the lanes.
Exprs best_of(bool smallest, const std::vector<Exprs>& lanes) {
    Exprs values;
    for (const Exprs& lane : lanes)
        values.push_back(lane[0]);
    const Element type = values[0].type();
    const bool is_float = type.is_float();
    Expr value = pairwise(values, extreme(!smallest));
    const Expr has_nan = is_float ? any_nan(values) : Halide::Internal::const_false();
    Exprs indices;
    for (const Exprs& lane : lanes) {
        Expr has_it = lane[0] == value;
        if (is_float) has_it = (has_nan && Halide::is_nan(lane[0])) || (!has_nan && has_it);
        indices.push_back(Halide::select(has_it, lane[1], highest(lane[1].type())));
    }
    const Expr index = pairwise(indices, extreme(false));
    if (is_float)
        value = Halide::select(has_nan, float_constant(type, std::numeric_limits<double>::quiet_NaN()), value);
    return {value, index};
}

/// What an update leaves of the best so far and a candidate.
Exprs better_of(const Expr& take, const Exprs& candidate, const Exprs& best) {
    return {Halide::select(take, candidate[0], best[0]), Halide::select(take, candidate[1], best[1])};
}

} // namespace

ReductionBuilder::Reduction ReductionBuilder::search_step(bool of_roots) const {
    const Operation& operation = *plan_.operation;
    const bool smallest = operation.op == Op::argmin;
    const DTypeInfo& dtype = accumulator(*find_dtype(shared_.analysis.value(operation.operands[0]).type.dtype));
    const Element type = storage_type(dtype);
    const Element index_type = index_type_of(type);
    const Expr worst = smallest ? highest(type) : lowest(type); // beats no element
    // An element equal to the start never replaces it, and 0 is then the first index anyway. The start of a search
    // among squares has to have a root, or it would pass for NaN, which nothing beats.
    const Expr start = of_roots && !smallest ? Halide::Internal::make_zero(type) : worst;
    Reduction out{{std::string(dtype.name), type.bits() == 64 ? "int64" : "int32"},
                  3,
                  true, // so that only what is strictly better replaces an earlier one
                  true,
                  {start, Halide::Internal::make_zero(index_type)},
                  {},
                  {},
                  {},
                  {},
                  {}};
    // It starts at its own first position: where nothing beats the start, that is its first occurrence.
    out.identity = [worst, index_type](const Expr& first) { return Exprs{worst, Halide::cast(index_type, first)}; };
    out.step = [smallest, wins = of_roots ? root_beats : beats](const Exprs& best, const Exprs& x,
                                                                const Expr& is_there) {
        const Expr take = wins(smallest, x[0], best[0]);
        return better_of(is_there.defined() ? is_there && take : take, x, best);
    };
    out.tree = out.combine = [smallest](const std::vector<Exprs>& lanes) { return best_of(smallest, lanes); };
    out.finish = [](const Exprs& x) { return x; };
    return out;
}

void ReductionBuilder::search() {
    const ReductionShape shape = shared_.analysis.reduction_shape(*plan_.operation);
    const std::string& choice = shared_.analysis.chosen(plan_.name);
    const std::string& operand = plan_.operation->operands[0];
    const Operation* from = shared_.analysis.value(operand).operation;
    // Roots of float16 are rounded to it, and then equal more often than their squares say.
    const bool of_roots = choice == "serial" && from && from->op == Op::sqrt && from->type.dtype != "float16" &&
                          is_nonnegative(shared_.analysis, from->operands[0]);
    Source source = source_of(of_roots ? from->operands[0] : operand, shape.axes, false);
    source.at = [values = source.at](const Exprs& kept, const Expr& position) {
        Expr x = values(kept, position)[0];
        // Truth as bytes compares and stores like any number.
        if (x.type().is_bool()) x = Halide::cast<uint8_t>(x);
        return Exprs{x, Halide::cast(index_type_of(x.type()), Halide::Internal::remove_promises(position))};
    };
    const Reduction op = search_step(of_roots);
    const Ends best{helper("_best"), false};
    const int levels = lane_levels(choice);
    if (levels == 1) {
        lanes(source, op, levels, best);
    } else if (levels == 0) {
        rows(source, op, row_levels(choice), best);
    } else {
        const Source blocks = blocks_of_lanes(source, op, 1, "");
        if (shared_.options.device)
            finish(tree_of(lanes_of_blocks(blocks, op), blocks.kept, op, 2, std::nullopt, "", best.name), best);
        else
            serial(blocks, op, best);
    }
    StageDraft result = draft(plan_.name, {"int64"});
    const Exprs kept = result.axes(plan_.operation->type.shape);
    const Exprs found = elements_of(table_.impls.at(best.name).func, kept);
    result.define({Halide::cast<int64_t>(found[1])}, 1);
    finish(std::move(result), {plan_.name});
}

Halide::Func ReductionBuilder::lanes_of_blocks(const Source& blocks, const Reduction& op) {
    const int lanes = lane_count();
    // A lane that has no block yet takes its first one, whatever it holds; one that has none loses every tie.
    const Element index_type = op.start[1].type();
    const Expr none = highest(index_type);
    StageDraft stage = draft(helper("_lane2"), op.dtypes, dsl::StagePart::lane);
    const Exprs kept = stage.axes(blocks.kept);
    const Halide::Var u = stage.pure("u", Size::integer(lanes));
    stage.define({op.start[0], none}, 0);
    const std::vector<Loop> loops{{"r", ceil_div(blocks.extent, lanes), true, true}};
    const Halide::RDom domain = stage.reduce(loops);
    const Expr block = domain[0] * lanes + u, count = shared_.size(blocks.extent);
    const Exprs candidate = blocks.at(kept, Halide::unsafe_promise_clamped(block, 0, count - 1));
    const Exprs best = stage.current();
    const Expr take = best[1] == none || beats(plan_.operation->op == Op::argmin, candidate[0], best[0]);
    stage.update(domain, loops, better_of(take, candidate, best), {block < count}, 4);
    return finish(std::move(stage));
}

} // namespace tilewright::translator
