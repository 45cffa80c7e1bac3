// dsl/directives/gpu.cpp: directives that spread loops over the blocks and threads of a CUDA device.
//
// What can be said of one loop is said here; how the loops of a kernel nest, and how many threads a block has, only
// when every directive is known (ScheduleModel::finish, dsl/check/gpu_rules.cpp).
#include <algorithm>

#include "dsl/directives/directives.h"

namespace tilewright::dsl {

bool refuse_on_cpu(CheckContext& context) {
    if (context.model.device) return false;
    context.refuse(context.where() + ": " + context.directive.verb + " needs target cuda, and this schedule is for " +
                       (context.model.target.empty() ? "a CPU" : context.model.target) + ".",
                   "Use parallel and vectorize, or write 'for cuda' in the second line.");
    return true;
}

bool refuse_on_device(CheckContext& context, const std::string& hint) {
    if (!context.model.device) return false;
    context.refuse(context.where() + ": " + context.directive.verb + " is for CPUs, and this schedule is for " +
                       context.model.target + ".",
                   hint);
    return true;
}

namespace {

/// CUDA counts blocks and threads in three dimensions.
constexpr std::size_t kDimensions = 3;

bool few_loops(CheckContext& context, std::size_t count, const char* what) {
    if (count <= kDimensions) return true;
    return context.deny(context.where() + ": " + context.directive.verb + " names " + std::to_string(count) +
                            " loops, and a kernel has three dimensions of " + what + ".",
                        "Fuse some of them first: fuse(inner, outer, fused).");
}

template <Run run> void check_loops(CheckContext& context) {
    if (refuse_on_cpu(context)) return;
    const std::size_t count = context.directive.arguments.size();
    if (!few_loops(context, count, run == Run::gpu_block ? "blocks" : "threads")) return;
    for (std::size_t k = 0; k < count; ++k) {
        const auto loop = context.loop(k);
        if (!loop || !check_run(context, *loop, run)) return;
    }
}

void apply_gpu_blocks(ApplyContext& context) {
    for (const Argument& argument : context.check.directive.arguments)
        context.definition.stage.gpu_blocks(context.loop(argument.name));
}

void apply_gpu_threads(ApplyContext& context) {
    for (const Argument& argument : context.check.directive.arguments)
        context.definition.stage.gpu_threads(context.loop(argument.name));
}
void apply_gpu_lanes(ApplyContext& context) {
    context.definition.stage.gpu_lanes(context.loop(context.name(0)));
}

// ---- gpu_single_thread ----------------------------------------------------------------------------------------------

void check_gpu_single_thread(CheckContext& context) {
    if (refuse_on_cpu(context) || !context.outside_block("Write it outside, before specialize.")) return;
    if (context.definition.single_thread) {
        return context.refuse(context.where() + ": gpu_single_thread stands there twice.", "Take one of them away.");
    }
    context.definition.single_thread = true;
    context.definition.single_thread_at = context.directive.at;
    context.touch();
}
void at_the_end(ApplyContext&) {} // its loops have no names, so apply() makes them when all others stand

// ---- gpu_single_block -----------------------------------------------------------------------------------------------

/// A loop of one iteration around all others, over blocks: what is computed at it has the threads of that block.
void check_gpu_single_block(CheckContext& context) {
    if (refuse_on_cpu(context) || !context.outside_block("Write it outside, before specialize.")) return;
    if (!context.free_name(0, {})) return;
    LoopNest& nest = context.definition.nest;
    LoopInfo loop;
    loop.name = context.name(0);
    loop.extent = "1";
    nest.add(loop, true);
    // It came in as the innermost one.
    std::rotate(nest.order.begin(), nest.order.end() - 1, nest.order.end());
    check_run(context, nest.order.front(), Run::gpu_block);
    context.touch();
}
void apply_gpu_single_block(ApplyContext& context) {
    const Halide::Var block(context.name(0));
    context.definition.stage.split(Halide::Var::outermost(), Halide::Var::outermost(), block, 1);
    context.definition.stage.gpu_blocks(block);
    context.definition.loops.insert_or_assign(context.name(0), block);
}

// ---- gpu ------------------------------------------------------------------------------------------------------------

/// gpu(block, thread), gpu(block, block, thread, thread): the first half are blocks.
void check_gpu(CheckContext& context) {
    if (refuse_on_cpu(context)) return;
    const auto& arguments = context.directive.arguments;
    const bool names = std::all_of(arguments.begin(), arguments.end(),
                                   [](const Argument& each) { return each.kind == Argument::Kind::name; });
    if (!names || arguments.size() % 2 != 0) {
        return context.refuse(context.where() + ": gpu takes as many loops of blocks as of threads.",
                              "Write gpu(io, ii), or gpu(jo, io, ji, ii).");
    }
    const std::size_t half = arguments.size() / 2;
    if (!few_loops(context, half, "blocks and threads")) return;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const auto loop = context.loop(k);
        if (!loop || !check_run(context, *loop, k < half ? Run::gpu_block : Run::gpu_thread)) return;
    }
}
void apply_gpu(ApplyContext& context) {
    const std::size_t count = context.check.directive.arguments.size();
    for (std::size_t k = 0; k < count; ++k) {
        const Halide::VarOrRVar loop = context.loop(context.name(k));
        if (k < count / 2) {
            context.definition.stage.gpu_blocks(loop);
        } else {
            context.definition.stage.gpu_threads(loop);
        }
    }
}

// ---- gpu_tile -------------------------------------------------------------------------------------------------------

/// The ways to write it, for one to three loops: gpu_tile(x, bx, tx, 8), gpu_tile(x, tx, 8) where the blocks keep the
/// loop's name, gpu_tile(x, y, bx, by, tx, ty, 8, 8), ..., each with a tail strategy at the end or without.
struct GpuTile {
    std::size_t loops = 0;        ///< 0: written in no way that there is
    std::size_t first_block = 0;  ///< argument
    std::size_t first_thread = 0; ///< argument
    std::size_t first_factor = 0; ///< argument
    std::size_t tail = 0;         ///< argument, perhaps missing
};

GpuTile gpu_tile(const Directive& directive) {
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
    if (factors == 0 || factors > kDimensions || rest > 1) return {};
    if (rest == 1 && !tail_by_name(arguments[end].name)) return {};
    if (names == 2 * factors) return {factors, 0, factors, names, end};
    if (names == 3 * factors) return {factors, factors, 2 * factors, names, end};
    return {};
}

void check_gpu_tile(CheckContext& context) {
    if (refuse_on_cpu(context)) return;
    const GpuTile tile = gpu_tile(context.directive);
    if (tile.loops == 0) {
        return context.refuse(context.where() + ": gpu_tile takes one to three loops, names for their blocks (or none, "
                                                "where these keep the loops' names) and threads, and as many factors.",
                              "Write gpu_tile(i, io, ii, 128), or gpu_tile(j, i, jo, io, ji, ii, 32, 8).");
    }
    if (!context.different_loops(tile.loops)) return;
    std::vector<std::int64_t> factors;
    for (std::size_t k = 0; k < tile.loops; ++k) {
        const auto factor = context.factor(tile.first_factor + k);
        if (!factor) return;
        factors.push_back(*factor);
    }
    // Splits follow each other: each name must be free when its turn comes.
    std::vector<std::string> made;
    for (std::size_t k = 0; k < tile.loops; ++k) {
        for (const std::size_t argument : {tile.first_block + k, tile.first_thread + k}) {
            const std::string& name = context.name(argument);
            const bool own = argument == k || name == context.name(k);
            const bool twice = std::find(made.begin(), made.end(), name) != made.end();
            if (twice || (!own && context.definition.nest.find(name) >= 0)) {
                return context.refuse_at(argument, context.where() + ": there already is a loop " + name + ".",
                                         "Choose another name.");
            }
            made.push_back(name);
        }
    }
    const Tail tail = tail_argument(context, tile.tail);
    for (std::size_t k = 0; k < tile.loops; ++k) {
        const int loop = context.definition.nest.find(context.name(k));
        if (!check_split(context, loop, context.name(tile.first_block + k), context.name(tile.first_thread + k),
                         factors[k], tail, tile.tail)) {
            return;
        }
    }
    const LoopNest& nest = context.definition.nest;
    if (tile.loops > 1) {
        std::vector<int> order;
        for (const std::size_t first : {tile.first_thread, tile.first_block}) {
            for (std::size_t k = 0; k < tile.loops; ++k)
                order.push_back(nest.find(context.name(first + k)));
        }
        if (!check_reorder(context, order)) return;
    }
    for (std::size_t k = 0; k < tile.loops; ++k) {
        if (!check_run(context, nest.find(context.name(tile.first_block + k)), Run::gpu_block)) return;
        if (!check_run(context, nest.find(context.name(tile.first_thread + k)), Run::gpu_thread)) return;
    }
}

void apply_gpu_tile(ApplyContext& context) {
    const GpuTile tile = gpu_tile(context.check.directive);
    std::vector<Halide::VarOrRVar> blocks;
    std::vector<Halide::VarOrRVar> threads;
    for (std::size_t k = 0; k < tile.loops; ++k) {
        const std::string& outer = context.name(tile.first_block + k);
        const std::string& inner = context.name(tile.first_thread + k);
        split_in_halide(context, context.name(k), outer, inner, context.check.numbers[k], k);
        blocks.push_back(context.loop(outer));
        threads.push_back(context.loop(inner));
    }
    if (tile.loops > 1) {
        std::vector<Halide::VarOrRVar> order = threads;
        order.insert(order.end(), blocks.begin(), blocks.end());
        context.definition.stage.reorder(order);
    }
    for (std::size_t k = 0; k < tile.loops; ++k) {
        context.definition.stage.gpu_blocks(blocks[k]);
        context.definition.stage.gpu_threads(threads[k]);
    }
}

} // namespace

std::vector<DirectiveRow> gpu_rows() {
    return {
        {"gpu", "gpu_blocks of the first half of the loops named, gpu_threads of the others     (gpu(io, ii))",
         check_gpu, apply_gpu},
        {"gpu_blocks",
         "for io: for ii: s   ->   a kernel on the device, one block an io: for ii: s     (gpu_blocks(io))",
         check_loops<Run::gpu_block>, apply_gpu_blocks},
        {"gpu_threads",
         "in each block: for ii in 0..128: s(ii)   ->   128 threads a block: s(thread)     (gpu_threads(ii))",
         check_loops<Run::gpu_thread>, apply_gpu_threads},
        {"gpu_lanes",
         "in each block: for ii in 0..32: s(ii)   ->   the 32 threads of a warp: s(lane)     (gpu_lanes(ii))",
         check_loops<Run::gpu_lane>, apply_gpu_lanes},
        {"gpu_single_thread", "for i: s   ->   a kernel of one block of one thread: for i: s", check_gpu_single_thread,
         at_the_end},
        {"gpu_single_block",
         "for i: s   ->   a kernel of one block blk, where one thread runs for i: s     (gpu_single_block(blk))",
         check_gpu_single_block, apply_gpu_single_block},
        {"gpu_tile",
         "for i in 0..n: s(i)   ->   n/128 blocks of 128 threads: s(128*block + thread)     (gpu_tile(i, io, ii, 128))",
         check_gpu_tile, apply_gpu_tile},
    };
}

} // namespace tilewright::dsl
