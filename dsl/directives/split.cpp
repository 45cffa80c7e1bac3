// dsl/directives/split.cpp: directives that divide and merge loops.
#include <algorithm>

#include "dsl/directives/directives.h"

namespace tilewright::dsl {
namespace {

/// The tail of a split where the text leaves it open, and the condition that it needs.
///
/// An output's pure loops are shifted inwards: no masks, no branches in the inner loop, and elements near the end are
/// computed twice to the same value. All else is guarded: an update would be applied twice, and a stage inside the
/// kernel whose region grows reads its inputs out of bounds.
Tail choose_tail(const CheckContext& context, int loop, std::int64_t factor) {
    const LoopNest& nest = context.definition.nest;
    // Blocks and threads cost nothing for what they leave out, and run at the same time: an element that two of them
    // compute is written by both.
    if (context.model.device || context.guards() || nest.loops[loop].reduced || !context.stage.output ||
        context.definition.update >= 0) {
        return Tail::guard_with_if;
    }
    const auto extent = nest.extent(loop);
    if (extent && (*extent % factor == 0 || *extent < factor)) return Tail::guard_with_if;
    return Tail::shift_inwards;
}

bool blends(Tail tail) {
    return tail == Tail::shift_inwards_and_blend || tail == Tail::round_up_and_blend;
}
bool shifts(Tail tail) {
    return tail == Tail::shift_inwards || tail == Tail::shift_inwards_and_blend;
}

/// Refuses a tail that would change results or leave the arrays, and records the condition it needs.
void need_safe_tail(CheckContext& context, int loop, std::int64_t factor, Tail tail, std::size_t argument) {
    const LoopNest& nest = context.definition.nest;
    const Loop& node = nest.loops[loop];
    if (tail == Tail::guard_with_if || tail == Tail::predicate) return;
    const std::string what = context.where(node.name) + ": " + tail_name(tail);
    if (node.reduced) {
        context.refuse_text_at(argument, what + " would visit iterations of a reduction that do not exist, or twice.",
                               "Use guard_with_if.");
    }
    if (context.definition.update >= 0 && tail == Tail::shift_inwards) {
        context.refuse_text_at(argument, what + " would apply an update twice to some elements.",
                               "Use guard_with_if or shift_inwards_and_blend.");
    }
    const bool inner = nest.from_inner(loop);
    if (inner && (tail == Tail::predicate_loads || (tail == Tail::round_up && context.definition.update >= 0))) {
        context.refuse_text_at(argument, what + " cannot split the inner part of another split.", "Use guard_with_if.");
    }
    if (blends(tail)) {
        const std::set<int> roots = nest.roots(loop);
        for (int other : nest.order) {
            const Run run = nest.loops[other].run;
            if (!runs_spread(run) || run == Run::vectorized) continue;
            for (int root : nest.roots(other)) {
                if (!roots.count(root)) continue;
                context.refuse_text_at(argument,
                                       what + " reads and writes elements of other iterations of the " +
                                           (run == Run::parallel ? "parallel loop " : "loop over blocks or threads ") +
                                           nest.loops[other].name + ".",
                                       "Use guard_with_if.");
            }
        }
    }
    const std::string extent = nest.extent_text(loop);
    // A constant extent of a stage inside the kernel only bounds the region that is computed, but inner parts are
    // exact.
    const bool exact = context.stage.output || inner;
    if (const auto constant = exact ? nest.extent(loop) : std::nullopt) {
        if (*constant % factor == 0 && *constant > 0) return;
        if (shifts(tail) && *constant >= factor && context.stage.output) return;
        context.refuse_text_at(argument,
                               what + " by " + std::to_string(factor) + " leaves the array: the extent is " +
                                   std::to_string(*constant) + ".",
                               "Use guard_with_if, or a factor that divides the extent.");
    }
    if (!context.stage.output || extent.empty()) {
        context.refuse_text_at(
            argument,
            what + " would grow the region that a stage inside the kernel computes, and so read its inputs "
                   "out of bounds.",
            "Use guard_with_if or predicate.");
    }
    Preconditions& conditions = context.model.preconditions[context.stage.kernel];
    if (shifts(tail))
        conditions.at_least(extent, factor);
    else
        conditions.divisible(extent, factor);
}

} // namespace

Tail tail_argument(const CheckContext& context, std::size_t argument) {
    if (!context.has(argument)) return Tail::automatic;
    return tail_by_name(context.name(argument)).value_or(Tail::automatic);
}

void check_split(CheckContext& context, int loop, const std::string& outer, const std::string& inner,
                 std::int64_t factor, Tail asked, std::size_t argument) {
    LoopNest& nest = context.definition.nest;
    if (nest.from_predicated(loop)) {
        context.refuse_loop(nest.loops[loop].name,
                            "cannot be split, since it comes from a split with predicated loads or stores.",
                            "Split it before, or use predicate.");
    }
    const std::int64_t step = nest.step(loop);
    if (factor > kMostRounded / step) {
        context.refuse_loop(
            nest.loops[loop].name,
            "split by " + std::to_string(factor) +
                (step > 1 ? " where each iteration stands for " + std::to_string(step) + " elements" : "") +
                " may go more than " + std::to_string(kMostRounded) +
                " elements beyond the end, where indices no longer fit 32 bits.",
            "Use a smaller factor.");
    }
    Tail tail = context.guards() && asked != Tail::predicate ? Tail::guard_with_if : asked;
    if (tail == Tail::automatic) tail = choose_tail(context, loop, factor);
    need_safe_tail(context, loop, factor, tail, argument);
    nest.split(loop, outer, inner, factor, tail);
    context.tails.push_back(tail);
    context.touch();
}

void split_in_halide(ApplyContext& context, const std::string& loop, const std::string& outer, const std::string& inner,
                     std::int64_t factor, std::size_t tail) {
    const Halide::VarOrRVar old = context.loop(loop);
    context.definition.loops.erase(loop);
    const Halide::VarOrRVar outer_variable = context.make_loop(outer, old);
    const Halide::VarOrRVar inner_variable = context.make_loop(inner, old);
    context.definition.stage.split(old, outer_variable, inner_variable, static_cast<int>(factor), context.tail(tail));
}

TileArguments tile_arguments(const Directive& directive) {
    const auto& arguments = directive.arguments;
    const auto is_name = [&](std::size_t k) { return arguments[k].kind == Argument::Kind::name; };
    std::size_t names = 0;
    while (names < arguments.size() && is_name(names))
        ++names;
    std::size_t end = names;
    while (end < arguments.size() && !is_name(end))
        ++end;
    const std::size_t factors = end - names;
    const std::size_t rest = arguments.size() - end;
    if (factors == 0 || rest > 1) return {};
    if (rest == 1 && !tail_by_name(arguments[end].name)) return {};
    if (names == 2 * factors) return {factors, 0, factors, names, end};
    if (names == 3 * factors) return {factors, factors, 2 * factors, names, end};
    return {};
}

void split_tiles(CheckContext& context, const TileArguments& tile) {
    const LoopNest& nest = context.definition.nest;
    const Tail tail = tail_argument(context, tile.tail);
    for (std::size_t k = 0; k < tile.loops; ++k) {
        check_split(context, nest.find(context.name(k)), context.name(tile.first_outer + k),
                    context.name(tile.first_inner + k), context.numbers[k], tail, tile.tail);
    }
    std::vector<int> order;
    for (const std::size_t first : {tile.first_inner, tile.first_outer}) {
        for (std::size_t k = 0; k < tile.loops; ++k)
            order.push_back(nest.find(context.name(first + k)));
    }
    if (tile.loops > 1) check_reorder(context, order);
}

void split_tiles_in_halide(ApplyContext& context, const TileArguments& tile) {
    for (std::size_t k = 0; k < tile.loops; ++k) {
        split_in_halide(context, context.name(k), context.name(tile.first_outer + k),
                        context.name(tile.first_inner + k), context.check.numbers[k], k);
    }
    std::vector<Halide::VarOrRVar> order;
    for (const std::size_t first : {tile.first_inner, tile.first_outer}) {
        for (std::size_t k = 0; k < tile.loops; ++k)
            order.push_back(context.loop(context.name(first + k)));
    }
    if (tile.loops > 1) context.definition.stage.reorder(order);
}

namespace {

// ---- split ----------------------------------------------------------------------------------------------------------

void check_split_directive(CheckContext& context) {
    const int loop = context.loop(0);
    const std::int64_t factor = context.factor(3);
    if (context.name(1) == context.name(2)) {
        context.refuse_at(2, "both parts of a split are called " + context.name(1) + ".",
                          "Give them different names, such as " + context.name(0) + "o and " + context.name(0) + "i.");
    }
    context.need_free_name(1, {loop});
    context.need_free_name(2, {loop});
    check_split(context, loop, context.name(1), context.name(2), factor, tail_argument(context, 4), 4);
}

void apply_split_directive(ApplyContext& context) {
    split_in_halide(context, context.name(0), context.name(1), context.name(2), context.check.numbers[0], 0);
}

// ---- tile -----------------------------------------------------------------------------------------------------------

void check_tile(CheckContext& context) {
    const TileArguments tile = tile_arguments(context.directive);
    const std::vector<int> loops = context.different_loops(2);
    context.factor(tile.first_factor);
    context.factor(tile.first_factor + 1);
    const std::string all[] = {context.name(tile.first_outer), context.name(tile.first_outer + 1),
                               context.name(tile.first_inner), context.name(tile.first_inner + 1)};
    for (const std::string& name : all) {
        const int taken = context.definition.nest.find(name);
        if ((taken >= 0 && taken != loops[0] && taken != loops[1]) || std::ranges::count(all, name) > 1)
            context.refuse("there already is a loop " + name + ".", "Choose another name.");
    }
    // Halide splits x first, so an outer part of x must not take the name of y meanwhile.
    if (all[0] == context.name(1) || all[2] == context.name(1)) {
        context.refuse(context.name(1) + " is still the name of the other loop.", "Choose another name.");
    }
    split_tiles(context, tile);
}

void apply_tile(ApplyContext& context) {
    split_tiles_in_halide(context, tile_arguments(context.check.directive));
}

// ---- fuse -----------------------------------------------------------------------------------------------------------

void check_fuse(CheckContext& context) {
    const int inner = context.loop(0);
    const int outer = context.loop(1);
    if (inner == outer) {
        context.refuse_at(1, "cannot fuse loop " + context.name(0) + " with itself.");
    }
    context.need_free_name(2, {inner, outer});
    LoopNest& nest = context.definition.nest;
    const int inner_place = nest.place(inner);
    const int outer_place = nest.place(outer);
    if (inner_place < outer_place && context.definition.keeps_order(nest.loops[inner], nest.loops[outer])) {
        context.refuse("fuse(" + context.name(0) + ", " + context.name(1) +
                           ") would change the order of a reduction, and so its rounding.",
                       "Name the inner loop first: fuse(" + context.name(1) + ", " + context.name(0) + ", " +
                           context.name(2) + ").");
    }
    for (int k = std::min(inner_place, outer_place) + 1; k < std::max(inner_place, outer_place); ++k) {
        const Loop& between = nest.loops[nest.order[k]];
        if (context.definition.keeps_order(between, nest.loops[outer])) {
            context.refuse("fuse would move " + context.name(1) + " past " + between.name +
                               ", which changes the order of a reduction.",
                           "Fuse neighbouring loops.");
        }
    }
    const Loop& kept = nest.loops[inner];
    const bool racing = kept.racing || nest.loops[outer].racing;
    if (kept.run != Run::serial && racing) {
        context.refuse(context.name(0) + " runs in parallel or as a vector, which a reduction fused into it cannot.",
                       "Fuse first.");
    }
    nest.fuse(inner, outer, context.name(2));
    context.touch();
}

void apply_fuse(ApplyContext& context) {
    const Halide::VarOrRVar inner = context.loop(context.name(0));
    const Halide::VarOrRVar outer = context.loop(context.name(1));
    context.definition.loops.erase(context.name(0));
    context.definition.loops.erase(context.name(1));
    context.definition.stage.fuse(inner, outer, context.make_loop(context.name(2), inner.is_rvar ? inner : outer));
}

// ---- rename ---------------------------------------------------------------------------------------------------------

void check_rename(CheckContext& context) {
    const int loop = context.loop(0);
    context.need_free_name(1, {});
    Loop& node = context.definition.nest.loops[loop];
    node.name = context.name(1);
    context.touch();
}

void apply_rename(ApplyContext& context) {
    const Halide::VarOrRVar old = context.loop(context.name(0));
    context.definition.loops.erase(context.name(0));
    context.definition.stage.rename(old, context.make_loop(context.name(1), old));
}

} // namespace

std::vector<DirectiveRow> split_rows() {
    return {
        {"split", "for i in 0..n: s(i)   ->   for io in 0..n/8: for ii in 0..8: s(8*io + ii)     (split(i, io, ii, 8))",
         check_split_directive, apply_split_directive},
        {"tile",
         "for i: for j: s   ->   for io: for jo: for ii in 0..4: for ji in 0..8: s     (tile(j, i, jo, io, ji, ii, 8, "
         "4))",
         check_tile, apply_tile},
        {"fuse", "for i in 0..m: for j in 0..n: s   ->   for f in 0..m*n: s     (fuse(j, i, f))", check_fuse,
         apply_fuse},
        {"rename", "for i: s(i)   ->   for x: s(x)     (rename(i, x))", check_rename, apply_rename},
    };
}

} // namespace tilewright::dsl
