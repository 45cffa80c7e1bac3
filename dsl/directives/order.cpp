// dsl/directives/order.cpp: directives that order loops and say how each runs.
#include <algorithm>

#include "dsl/directives/directives.h"

namespace tilewright::dsl {

void check_reorder(CheckContext& context, const std::vector<int>& innermost_first) {
    LoopNest& nest = context.definition.nest;
    // As in Halide: the loops named exchange places among themselves, the others stay.
    std::vector<int> places;
    for (int loop : innermost_first)
        places.push_back(nest.place(loop));
    for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = a + 1; b < places.size(); ++b) {
            const Loop& inner = nest.loops[innermost_first[a]];
            const Loop& outer = nest.loops[innermost_first[b]];
            if (places[a] > places[b]) continue; // they keep their order
            if (!context.definition.keeps_order(inner, outer)) continue;
            context.refuse(inner.name + " and " + outer.name +
                               " cannot change places: both run over a reduction whose order decides its rounding.",
                           "Keep " + inner.name + " outside " + outer.name + "; other loops may move freely.");
        }
    }
    std::vector<int> sorted = places;
    std::sort(sorted.rbegin(), sorted.rend());
    for (std::size_t k = 0; k < innermost_first.size(); ++k)
        nest.order[sorted[k]] = innermost_first[k];
    context.touch();
}

void check_run(CheckContext& context, int loop, Run run) {
    Loop& node = context.definition.nest.loops[loop];
    if (runs_spread(run) &&
        (node.ordered || (node.racing && !(context.definition.atomic && context.definition.associative)))) {
        const std::string pure = context.other_loop([](const Loop& other) { return !other.racing && !other.ordered; });
        const std::string what = run == Run::parallel     ? "run in parallel"
                                 : run == Run::vectorized ? "be vectorized"
                                 : run == Run::gpu_block  ? "run over blocks"
                                                          : "run over threads";
        std::string hint = pure.empty() ? "" : "Use a pure loop instead: " + pure + ".";
        if (!node.ordered && context.definition.associative) {
            hint += (hint.empty() ? "" : " ") + std::string("Or write atomic() before it.");
        } else if (pure.empty()) {
            hint = "Only serial and unroll are possible here.";
        }
        context.refuse_loop(node.name, "cannot " + what + ": iterations of a reduction write the same element.", hint);
    }
    if (runs_spread(run) && run != Run::vectorized) {
        const LoopNest& nest = context.definition.nest;
        const std::set<int> roots = nest.roots(loop);
        for (const Loop& other : nest.loops) {
            if (other.tail != Tail::shift_inwards_and_blend && other.tail != Tail::round_up_and_blend) continue;
            const std::set<int> theirs = nest.roots(static_cast<int>(&other - nest.loops.data()));
            const bool shared = std::any_of(theirs.begin(), theirs.end(), [&](int root) { return roots.count(root); });
            if (!shared) continue;
            context.refuse_loop(node.name,
                                std::string("cannot run ") +
                                    (run == Run::parallel ? "in parallel" : "over blocks or threads") + ": " +
                                    tail_name(other.tail) + " reads and writes elements of other iterations.",
                                "Split with guard_with_if.");
        }
    }
    node.run = run;
    node.run_at = context.directive.at;
    context.touch();
}

void run_in_halide(ApplyContext& context, const std::string& loop, Run run) {
    Halide::Stage& stage = context.definition.stage;
    const Halide::VarOrRVar variable = context.loop(loop);
    switch (run) {
    case Run::serial:
        stage.serial(variable);
        break;
    case Run::parallel:
        stage.parallel(variable);
        break;
    case Run::vectorized:
        stage.vectorize(variable);
        break;
    case Run::unrolled:
        stage.unroll(variable);
        break;
    case Run::gpu_block:
        stage.gpu_blocks(variable);
        break;
    case Run::gpu_thread:
        stage.gpu_threads(variable);
        break;
    case Run::gpu_lane:
        stage.gpu_lanes(variable);
        break;
    }
}

namespace {

// ---- reorder --------------------------------------------------------------------------------------------------------

void check_reorder_directive(CheckContext& context) {
    check_reorder(context, context.different_loops(context.directive.arguments.size()));
}

void apply_reorder(ApplyContext& context) {
    std::vector<Halide::VarOrRVar> loops;
    for (const Argument& argument : context.check.directive.arguments)
        loops.push_back(context.loop(argument.name));
    context.definition.stage.reorder(loops);
}

// ---- serial, parallel, vectorize, unroll ---------------------------------------------------------------------------

/// A name for the inner loop that vectorize(i, 8) makes: never one that a person writes by accident.
std::string unnamed(const LoopNest& nest, const std::string& loop, const char* suffix) {
    std::string name = loop + suffix;
    while (nest.find(name) >= 0)
        name += "_";
    return name;
}

/// vectorize(i, 8) is split(i, i, i__v, 8) and vectorize(i__v); parallel(i, 8) leaves the inner part serial.
template <Run run> void check_run_directive(CheckContext& context) {
    if (run == Run::parallel) refuse_on_device(context, "Use gpu_blocks and gpu_threads.");
    const int loop = context.loop(0);
    if (run == Run::vectorized && !context.definition.branches.empty()) {
        context.refuse("vectorize after specialize does not reach the specialized copy.",
                       "Write vectorize before specialize.");
    }
    if (!context.has(1)) return check_run(context, loop, run);
    const std::int64_t factor = context.factor(1);
    const char* const suffix = run == Run::parallel ? "__t" : run == Run::vectorized ? "__v" : "__u";
    context.made_loop = unnamed(context.definition.nest, context.name(0), suffix);
    check_split(context, loop, context.name(0), context.made_loop, factor, tail_argument(context, 2), 2);
    const std::string& running = run == Run::parallel ? context.name(0) : context.made_loop;
    check_run(context, context.definition.nest.find(running), run);
}

template <Run run> void apply_run_directive(ApplyContext& context) {
    const std::string& loop = context.name(0);
    const std::string& made = context.check.made_loop;
    if (context.check.has(1)) split_in_halide(context, loop, loop, made, context.check.numbers[0], 0);
    run_in_halide(context, context.check.has(1) && run != Run::parallel ? made : loop, run);
}

// ---- races ----------------------------------------------------------------------------------------------------------

void check_atomic(CheckContext& context) {
    if (context.definition.update < 0) {
        context.refuse("atomic() is for updates; the pure definition has no reduction.",
                       "Take it away, or write " + context.stage.name + ".update(0).atomic().");
    }
    for (int loop : context.definition.nest.order) {
        if (!context.definition.nest.loops[loop].ordered) continue;
        context.refuse_loop(context.definition.nest.loops[loop].name,
                            "atomic() would let the reduction run in any order, which changes its rounding.",
                            "Use a variant whose sum is written in blocks, and run the blocks in parallel.");
    }
    if (!context.definition.associative) {
        context.refuse("atomic() needs an update that is associative, and this one is not known to be.",
                       "Take it away.");
    }
    context.definition.atomic = true;
    context.touch();
}
void apply_atomic(ApplyContext& context) {
    context.definition.stage.atomic(false);
}

void check_allow_race_conditions(CheckContext& context) {
    context.touch();
}
void apply_allow_race_conditions(ApplyContext& context) {
    context.definition.stage.allow_race_conditions();
}

// ---- loop partitioning ----------------------------------------------------------------------------------------------

/// partition(loop, policy) names one loop, the others as many as there are arguments.
void check_partition(CheckContext& context) {
    const bool one = context.directive.verb == "partition";
    for (std::size_t k = 0; k < (one ? 1 : context.directive.arguments.size()); ++k)
        context.definition.nest.loops[context.loop(k)].partitioned = true;
    context.touch();
}

void check_partition_all(CheckContext& context) {
    for (const int loop : context.definition.nest.order)
        context.definition.nest.loops[loop].partitioned = true;
    context.touch();
}

void apply_partition(ApplyContext& context) {
    const std::string& policy = context.name(1);
    context.definition.stage.partition(context.loop(context.name(0)), policy == "always"  ? Halide::Partition::Always
                                                                      : policy == "never" ? Halide::Partition::Never
                                                                                          : Halide::Partition::Auto);
}
template <Halide::Partition policy> void apply_partition_list(ApplyContext& context) {
    for (const Argument& argument : context.check.directive.arguments) {
        context.definition.stage.partition(context.loop(argument.name), policy);
    }
}
void apply_always_partition_all(ApplyContext& context) {
    context.definition.stage.always_partition_all();
}
void apply_never_partition_all(ApplyContext& context) {
    context.definition.stage.never_partition_all();
}

// ---- rows_together --------------------------------------------------------------------------------------------------

/// Each row of a wavefront is separate code.
constexpr std::int64_t kMostRowsTogether = 16;

void check_rows_together(CheckContext& context) {
    refuse_on_device(context, "Take it away.");
    context.need_whole_stage();
    if (context.stage.rows_together == 0) {
        const auto& stages = context.model.stages;
        const auto other =
            std::find_if(stages.begin(), stages.end(), [](const auto& each) { return each.second.rows_together != 0; });
        context.refuse("rows_together on a stage that ends no wavefront.",
                       other == stages.end() ? "Take it away: no loop of this program is a wavefront."
                                             : "Use it on " + other->first + ".");
    }
    const std::int64_t rows = context.factor(0, "the number of rows");
    if (rows > kMostRowsTogether) {
        context.refuse_at(
            0, "rows_together(" + std::to_string(rows) + "): more than " + std::to_string(kMostRowsTogether) + " rows.",
            "Write a number such as 8.");
    }
}
void apply_rows_together(ApplyContext& context) {
    const auto kernel = static_cast<std::size_t>(context.check.stage.kernel);
    context.algorithm.kernels.at(kernel).rows_together = static_cast<int>(context.check.numbers.at(0));
}

} // namespace

std::vector<DirectiveRow> order_rows() {
    return {
        {"reorder", "for i: for j: s   ->   for j: for i: s     (reorder(i, j): innermost first)",
         check_reorder_directive, apply_reorder},
        {"serial", "parallel for i: s   ->   for i: s     (serial(i))", check_run_directive<Run::serial>,
         apply_run_directive<Run::serial>},
        {"parallel",
         "for i: s   ->   parallel for i: s     (parallel(i));  for i in 0..n: s   ->   parallel for i in 0..n/8: for "
         "0..8: s"
         "     (parallel(i, 8))",
         check_run_directive<Run::parallel>, apply_run_directive<Run::parallel>},
        {"vectorize",
         "for i in 0..8: s(i)   ->   s(0..8 at once)     (vectorize(i));  for i in 0..n: s(i)   ->   for i in 0..n/8: "
         "s(8*i .. 8*i+8 at once)     (vectorize(i, 8))",
         check_run_directive<Run::vectorized>, apply_run_directive<Run::vectorized>},
        {"unroll",
         "for i in 0..2: s(i)   ->   s(0); s(1)     (unroll(i));  for i in 0..n: s(i)   ->   for i in 0..n/2: s(2*i); "
         "s(2*i+1)     (unroll(i, 2))",
         check_run_directive<Run::unrolled>, apply_run_directive<Run::unrolled>},
        {"atomic",
         "for r: a += b(r)   ->   the same, where r may be vectorized or run in parallel     (update(0).atomic())",
         check_atomic, apply_atomic},
        {"allow_race_conditions", "as before; changes nothing that these checks refuse", check_allow_race_conditions,
         apply_allow_race_conditions},
        {"partition",
         "for i: if likely(c) s else t   ->   for i in steady: s; for i in rest: t     (partition(i, always))",
         check_partition, apply_partition},
        {"always_partition", "partition(i, always) for each loop named", check_partition,
         apply_partition_list<Halide::Partition::Always>},
        {"never_partition", "partition(i, never) for each loop named", check_partition,
         apply_partition_list<Halide::Partition::Never>},
        {"always_partition_all", "partition(i, always) for every loop of the definition", check_partition_all,
         apply_always_partition_all},
        {"never_partition_all", "partition(i, never) for every loop of the definition", check_partition_all,
         apply_never_partition_all},
        {"rows_together",
         "for i: for j: s(i, j)   ->   for i in 0..n/8: for j: s(8*i, j); s(8*i + 1, j - skew); …     "
         "(rows_together(8), "
         "on a wavefront's last stage)",
         check_rows_together, apply_rows_together},
    };
}

} // namespace tilewright::dsl
