// dsl/directives/gpu.cpp: directives that spread loops over the blocks and threads of a CUDA device.
//
// What can be said of one loop is said here; how the loops of a kernel nest, and how many threads a block has, only
// when every directive is known (ScheduleModel::finish, dsl/check/gpu_rules.cpp).
#include <algorithm>

#include "dsl/directives/directives.h"

namespace tilewright::dsl {

void refuse_on_cpu(CheckContext& context) {
    if (context.model.device) return;
    context.refuse(context.directive.verb + " needs target cuda, and this schedule is for " +
                       (context.model.target.empty() ? "a CPU" : context.model.target) + ".",
                   "Use parallel and vectorize, or write 'for cuda' in the second line.");
}

void refuse_on_device(CheckContext& context, const std::string& hint) {
    if (!context.model.device) return;
    context.refuse(context.directive.verb + " is for CPUs, and this schedule is for " + context.model.target + ".",
                   hint);
}

namespace {

/// CUDA counts blocks and threads in three dimensions.
constexpr std::size_t kDimensions = 3;

void need_few_loops(CheckContext& context, std::size_t count, const char* what) {
    if (count <= kDimensions) return;
    context.refuse(context.directive.verb + " names " + std::to_string(count) +
                       " loops, and a kernel has three dimensions of " + what + ".",
                   "Fuse some of them first: fuse(inner, outer, fused).");
}

template <Run run> void check_loops(CheckContext& context) {
    refuse_on_cpu(context);
    const std::size_t count = context.directive.arguments.size();
    need_few_loops(context, count, run == Run::gpu_block ? "blocks" : "threads");
    for (std::size_t k = 0; k < count; ++k)
        check_run(context, context.loop(k), run);
}

template <Run run> void apply_loops(ApplyContext& context) {
    for (const Argument& argument : context.check.directive.arguments)
        run_in_halide(context, argument.name, run);
}

// ---- gpu_single_thread ----------------------------------------------------------------------------------------------

void check_gpu_single_thread(CheckContext& context) {
    refuse_on_cpu(context);
    context.need_outside_block("Write it outside, before specialize.");
    if (context.definition.single_thread) {
        context.refuse("gpu_single_thread stands there twice.", "Take one of them away.");
    }
    context.definition.single_thread = true;
    context.definition.single_thread_at = context.directive.at;
    context.touch();
}
void at_the_end(ApplyContext&) {} // its loops have no names, so apply() makes them when all others stand

// ---- gpu_single_block -----------------------------------------------------------------------------------------------

/// A loop of one iteration around all others, over blocks: what is computed at it has the threads of that block.
void check_gpu_single_block(CheckContext& context) {
    refuse_on_cpu(context);
    context.need_outside_block("Write it outside, before specialize.");
    context.need_free_name(0, {});
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
    refuse_on_cpu(context);
    const auto& arguments = context.directive.arguments;
    const bool names = std::all_of(arguments.begin(), arguments.end(),
                                   [](const Argument& each) { return each.kind == Argument::Kind::name; });
    if (!names || arguments.size() % 2 != 0) {
        context.refuse("gpu takes as many loops of blocks as of threads.",
                       "Write gpu(io, ii), or gpu(jo, io, ji, ii).");
    }
    const std::size_t half = arguments.size() / 2;
    need_few_loops(context, half, "blocks and threads");
    for (std::size_t k = 0; k < arguments.size(); ++k)
        check_run(context, context.loop(k), k < half ? Run::gpu_block : Run::gpu_thread);
}
void apply_gpu(ApplyContext& context) {
    const std::size_t count = context.check.directive.arguments.size();
    for (std::size_t k = 0; k < count; ++k)
        run_in_halide(context, context.name(k), k < count / 2 ? Run::gpu_block : Run::gpu_thread);
}

// ---- gpu_tile -------------------------------------------------------------------------------------------------------

/// For one to three loops: gpu_tile(x, bx, tx, 8), gpu_tile(x, tx, 8), gpu_tile(x, y, bx, by, tx, ty, 8, 8), ...
void check_gpu_tile(CheckContext& context) {
    refuse_on_cpu(context);
    const TileArguments tile = tile_arguments(context.directive);
    if (tile.loops == 0 || tile.loops > kDimensions) {
        context.refuse("gpu_tile takes one to three loops, names for their blocks (or none, "
                       "where these keep the loops' names) and threads, and as many factors.",
                       "Write gpu_tile(i, io, ii, 128), or gpu_tile(j, i, jo, io, ji, ii, 32, 8).");
    }
    context.different_loops(tile.loops);
    for (std::size_t k = 0; k < tile.loops; ++k)
        context.factor(tile.first_factor + k);
    // Splits follow each other: each name must be free when its turn comes.
    std::vector<std::string> made;
    for (std::size_t k = 0; k < tile.loops; ++k) {
        for (const std::size_t argument : {tile.first_outer + k, tile.first_inner + k}) {
            const std::string& name = context.name(argument);
            const bool own = argument == k || name == context.name(k);
            const bool twice = std::find(made.begin(), made.end(), name) != made.end();
            if (twice || (!own && context.definition.nest.find(name) >= 0)) {
                context.refuse_at(argument, "there already is a loop " + name + ".", "Choose another name.");
            }
            made.push_back(name);
        }
    }
    split_tiles(context, tile);
    const LoopNest& nest = context.definition.nest;
    for (std::size_t k = 0; k < tile.loops; ++k) {
        check_run(context, nest.find(context.name(tile.first_outer + k)), Run::gpu_block);
        check_run(context, nest.find(context.name(tile.first_inner + k)), Run::gpu_thread);
    }
}

void apply_gpu_tile(ApplyContext& context) {
    const TileArguments tile = tile_arguments(context.check.directive);
    split_tiles_in_halide(context, tile);
    for (std::size_t k = 0; k < tile.loops; ++k) {
        run_in_halide(context, context.name(tile.first_outer + k), Run::gpu_block);
        run_in_halide(context, context.name(tile.first_inner + k), Run::gpu_thread);
    }
}

} // namespace

std::vector<DirectiveRow> gpu_rows() {
    return {
        {"gpu", "gpu_blocks of the first half of the loops named, gpu_threads of the others     (gpu(io, ii))",
         check_gpu, apply_gpu},
        {"gpu_blocks",
         "for io: for ii: s   ->   a kernel on the device, one block an io: for ii: s     (gpu_blocks(io))",
         check_loops<Run::gpu_block>, apply_loops<Run::gpu_block>},
        {"gpu_threads",
         "in each block: for ii in 0..128: s(ii)   ->   128 threads a block: s(thread)     (gpu_threads(ii))",
         check_loops<Run::gpu_thread>, apply_loops<Run::gpu_thread>},
        {"gpu_lanes",
         "in each block: for ii in 0..32: s(ii)   ->   the 32 threads of a warp: s(lane)     (gpu_lanes(ii))",
         check_loops<Run::gpu_lane>, apply_loops<Run::gpu_lane>},
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
