// autotune/space/gpu_nest.cpp: blocks and threads.
#include "autotune/space/gpu_nest.h"

#include <algorithm>
#include <bit>

#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"
#include "dsl/base/size_expression.h"
#include "dsl/check/device_limits.h"

namespace tilewright::autotune {
namespace {

using dsl::kMostThreads;
using dsl::kWarp; // threads along the contiguous axis come in so many

constexpr std::int64_t kThreads = 256; ///< of a block, to begin with
// Up to so many operations an element, a thread has four elements; up to so many two, in smaller blocks.
constexpr double kCheapElement = 12;
constexpr double kMiddlingElement = 100;
constexpr std::int64_t kThreadsOfTwo = 128;
constexpr std::int64_t kMostItems = 8;
const std::string kGuard = "guard_with_if";

std::int64_t power_of_two_from(std::int64_t value) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1))));
}

/// The pure loops of a definition, outermost first.
std::vector<dsl::LoopInfo> pure_loops(const dsl::DefinitionInfo& definition) {
    std::vector<dsl::LoopInfo> loops;
    for (const dsl::LoopInfo& loop : definition.loops)
        if (!loop.reduced) loops.push_back(loop);
    return loops;
}

/// Fuses `loops` (outermost first) into one, and gives its name.
std::string fuse_all(Line& line, const std::vector<std::string>& loops, const std::string& name) {
    std::string fused = loops.back();
    for (std::size_t k = loops.size() - 1; k-- > 0;) {
        const std::string next = k == 0 ? name : name + std::to_string(k);
        line.add("fuse", fused, loops[k], next);
        fused = next;
    }
    return fused;
}

/// Threads along an axis, whose product dsl::kMostThreads limits.
Factor free_hole(const std::string& name, std::int64_t first, const std::vector<std::int64_t>& values) {
    return hole(name, first, values, 1, kMostThreads * kMostThreads);
}

Factor thread_hole(const std::string& name, std::int64_t first) {
    return hole(name, first, {64, 128, 256, 512, 1024}, kWarp, kMostThreads);
}

/// Leaves the last two of more than two loops, and gives the others: in a fused axis of three, Halide does not see that
/// a thread has one element, and what is computed for it would lie in memory that is allocated for the whole launch.
std::vector<std::string> take_outer(std::vector<std::string>& loops) {
    if (loops.size() <= 2) return {};
    std::vector<std::string> outer(loops.begin(), loops.end() - 2);
    loops.erase(loops.begin(), loops.end() - 2);
    return outer;
}

/// `outer` (outermost first) as blocks around the loops `inside` (innermost first); their loop `thread` is over
/// threads. Gives the loop over blocks.
std::string spread(Line& line, const std::vector<std::string>& inside, const std::string& thread,
                   const std::vector<std::string>& outer) {
    if (inside != std::vector{thread} || outer.size() > 1) line.add("reorder", inside, innermost_first(outer));
    const std::string block = fuse_all(line, outer, "blk");
    line.add("gpu_blocks", block).add("gpu_threads", thread);
    return block;
}

/// One long axis, or the last two as one: split into blocks and threads.
void long_axis(const dsl::StageInfo& stage, int definition, GpuNest& nest) {
    const dsl::DefinitionInfo& def = stage.definition(definition);
    std::vector<std::string> fused = names_of(pure_loops(def));
    std::vector<std::string> outer = take_outer(fused);
    Line line = line_of(stage.name, definition);
    const std::string all = fuse_all(line, fused, "t");
    nest.thread = all + "t";
    outer.push_back(all + "o");
    nest.threads = free_hole(stage.name + "_threads", kThreads, {64, 128, 256, 512, 1024});
    line.add("split", all, all + "o", nest.thread, nest.threads, kGuard);
    std::vector<std::string> inside = reduced_first(def);
    inside.push_back(nest.thread);
    nest.block = spread(line, inside, nest.thread, outer);
    nest.lines.push_back(line);
}

bool is_short(const std::vector<dsl::LoopInfo>& loops) {
    return loops.size() == 1 || extent_of(loops.back(), 1024) < kWarp;
}

/// Tiles of the last two axes; `fused`: the last one is two.
void tile_of(const dsl::StageInfo& stage, int definition, bool uneven, bool fused, GpuNest& nest) {
    const dsl::DefinitionInfo& def = stage.definition(definition);
    std::vector<dsl::LoopInfo> loops = pure_loops(def);
    std::int64_t width = extent_of(loops.back(), 1024);
    Line head = line_of(stage.name, definition);
    std::string x = loops.back().name;
    if (fused) {
        width *= extent_of(loops[loops.size() - 2], 1024);
        x = fuse_all(head, {loops[loops.size() - 2].name, x}, "t");
        loops.pop_back();
    }
    const std::string y = loops[loops.size() - 2].name;
    // Neighbours in both directions end at about the same time.
    const std::int64_t across = uneven && !fused ? 8
                                : stage.reads_neighbours && !fused
                                    ? kWarp
                                    : std::min<std::int64_t>(kThreads, power_of_two_from(width));
    const std::int64_t down = uneven && !fused ? 8 : std::max<std::int64_t>(1, kThreads / across);
    const Factor x_threads = free_hole(stage.name + "_x", across, {8, 16, 32, 64, 128, 256});
    const Factor y_threads = free_hole(stage.name + "_y", down, {1, 2, 4, 8, 16});
    std::vector<std::string> blocks = names_of({loops.begin(), loops.end() - 2});
    blocks.push_back(y + "o");
    blocks.push_back(x + "o");
    const auto in_blocks = [&](Line& line) {
        nest.block = fuse_all(line, blocks, "blk");
        line.add("gpu_blocks", nest.block).add("gpu_threads", x + "t", y + "t");
    };
    head.add("split", x, x + "o", x + "t", x_threads, kGuard);
    Line line = head;
    line.add("split", y, y + "o", y + "t", y_threads, kGuard)
        .add("reorder", reduced_first(def), x + "t", y + "t", innermost_first(blocks));
    in_blocks(line);
    nest.lines.push_back(line);
    if (definition < 0 && !uneven && stage.updates.empty() && extent_of(loops[loops.size() - 2], 1024) >= 2) {
        nest.tile_rows = hole(stage.name + "_rows", 4 * down, {2 * down, 8 * down}, 1, 1024);
        nest.tile_height = y_threads;
        nest.tile = head;
        nest.tile.add("split", y, y + "o", y + "i", nest.tile_rows, kGuard)
            .add("split", y + "i", y + "m", y + "t", y_threads, kGuard)
            .add("reorder", y + "m", x + "t", y + "t", innermost_first(blocks));
        in_blocks(nest.tile);
        nest.tile.add("unroll", y + "m");
    }
    nest.thread = x + "t";
    nest.threads = x_threads;
    if (definition < 0)
        nest.lines.push_back(
            where(x_threads * y_threads >= number(64) && x_threads * y_threads <= number(kMostThreads)));
}

} // namespace

GpuNest element_nest(const dsl::StageInfo& stage, bool uneven) {
    GpuNest nest;
    nest.axes = names_of(stage.pure.loops);
    for (int definition = -1; definition < static_cast<int>(stage.updates.size()); ++definition) {
        const std::vector<dsl::LoopInfo> loops = pure_loops(stage.definition(definition));
        if (loops.empty())
            nest.lines.push_back(line_of(stage.name, definition).add("gpu_single_thread"));
        else if (is_short(loops) && loops.size() > 2 &&
                 extent_of(loops.back(), 1024) * extent_of(loops[loops.size() - 2], 1024) < kWarp)
            tile_of(stage, definition, uneven, true, nest);
        else if (is_short(loops))
            long_axis(stage, definition, nest);
        else
            tile_of(stage, definition, uneven, false, nest);
    }
    return nest;
}

namespace {

/// Splits `x` into a loop NAMEt over threads and what each of them does, as lanes are, or in turns. Gives the loops of
/// that, innermost first.
std::vector<std::string> share_out(Line& line, const std::string& x, const Factor& threads, const LaneMap& map) {
    if (map.lanes == 0) {
        line.add("split", x, x + "o", x + "t", threads, kGuard);
        return {x + "o"};
    }
    // Serial loops around unrolled elements are partitioned: whole rounds ask nothing.
    line.add("split", x, x + "o", x + "r", number(map.per_lane) * threads, kGuard)
        .add("split", x + "r", x + "b", x + "q", map.lanes * map.per_lane)
        .add("split", x + "q", x + "s", x + "u", map.lanes)
        .add("fuse", x + "u", x + "b", x + "t");
    return {x + "s", x + "o"};
}

} // namespace

GpuNest row_nest(const dsl::StageInfo& stage, const LaneMap& map) {
    GpuNest nest;
    nest.cooperative = true;
    nest.axes = names_of(stage.pure.loops);
    const std::string x = nest.axes.back();
    nest.shared_axis = x;
    const std::int64_t width = extent_of(stage.pure.loops.back(), 1024);
    // A thread for each lane, or for every few elements of rows that are one block of lanes.
    const std::int64_t each = map.lanes > 0 ? map.per_lane : width > kThreads ? 4 : 1;
    const std::int64_t threads = std::clamp<std::int64_t>(power_of_two_from(width / each), 2 * kWarp, kThreads);
    const std::vector<std::string> outer(nest.axes.begin(), nest.axes.end() - 1);
    nest.threads = thread_hole(stage.name + "_threads", threads);
    nest.counts_threads = true;
    const auto line_for = [&](const LaneMap& one) {
        Line line = line_of(stage.name);
        const std::vector<std::string> inside = share_out(line, x, nest.threads, one);
        line.add("reorder", inside, x + "t", innermost_first(outer));
        nest.block = fuse_all(line, outer, "blk");
        line.add("gpu_blocks", nest.block).add("gpu_threads", x + "t");
        if (one.lanes > 0) line.add("unroll", x + "s");
        return line;
    };
    if (map.lanes == 0) {
        nest.lines.push_back(line_for(map));
    } else {
        nest.lines.push_back(choose({{line_for(map)}, {line_for({})}}));
        nest.lines.push_back(where(nest.threads % number(map.lanes) == number(0)));
    }
    nest.thread = x + "t";
    return nest;
}

GpuNest tree_nest(const dsl::StageInfo& stage, std::int64_t rows, std::int64_t threads, bool whole) {
    GpuNest nest;
    nest.cooperative = true;
    nest.axes = names_of(stage.pure.loops);
    const std::string x = nest.axes.back();
    nest.shared_axis = x;
    // Declared where stages in the block use it.
    nest.threads = thread_hole(stage.name + "_threads", threads);
    nest.thread = x + "t";
    std::vector<std::string> blocks(nest.axes.begin(), nest.axes.end() - 1);
    blocks.push_back(x + "o");
    Line line = line_of(stage.name);
    line.add("split", x, x + "o", nest.thread,
             hole(stage.name + "_rows", rows, {1, 2, 4, 8, 16, 32}, whole ? rows : 1,
                  whole ? rows : std::max<std::int64_t>(rows, 32)),
             kGuard)
        .add("reorder", nest.thread, innermost_first(blocks));
    nest.block = fuse_all(line, blocks, "blk");
    nest.lines.push_back(line.add("gpu_blocks", nest.block).add("gpu_threads", nest.thread));
    return nest;
}

GpuNest single_nest(const dsl::StageInfo& stage, std::int64_t threads) {
    GpuNest nest;
    nest.cooperative = true;
    nest.block = "blk";
    nest.lines.push_back(line_of(stage.name).add("gpu_single_block", nest.block));
    nest.threads = thread_hole(stage.name + "_threads", threads);
    return nest;
}

void offer_items(GpuNest& nest, const dsl::StageInfo& stage, const ElementCost& cost) {
    if (!stage.updates.empty() || stage.pure.loops.empty()) return;
    const std::string name = stage.name;
    const bool is_tile = nest.lines.size() != 1;
    const std::int64_t items = cost.operations <= kCheapElement && !cost.repeated ? 4
                               : cost.operations <= kMiddlingElement              ? 2
                                                                                  : 1;
    const auto ordered = [&](const Line& plain, const Line& apart, const std::vector<std::vector<Line>>& beside) {
        std::vector<std::vector<Line>> branches{{plain}, {apart}};
        if (items > 1) std::swap(branches.front(), branches.back());
        branches.insert(branches.end(), beside.begin(), beside.end());
        return choose(branches);
    };
    if (is_tile) {
        // Further rows, as far apart as the tile is high.
        if (cost.hosts || nest.tile.empty()) return;
        nest.lines.front() = ordered(nest.lines.front(), nest.tile, {});
        nest.lines.push_back(
            where(nest.tile_rows >= nest.tile_height && nest.tile_rows <= number(kMostItems) * nest.tile_height));
        return;
    }
    std::vector<std::string> fused = names_of(stage.pure.loops);
    std::vector<std::string> outer = take_outer(fused);
    Line head = line_of(name);
    const std::string x = fuse_all(head, fused, "t");
    outer.push_back(x + "o");
    const std::int64_t first_threads = items == 2 ? kThreadsOfTwo : kThreads;
    const Factor threads = free_hole(name + "_threads", first_threads, {64, 128, 256, 512, 1024});
    const Factor span =
        free_hole(name + "_span", items > 1 ? items * first_threads : 1024, {256, 512, 1024, 2048, 4096});
    // Whole blocks of cheap elements test nothing; dear ones lose more by the registers of two copies.
    // Neighbours stay neighbours: the elements of a thread are as far apart as the block has threads. What is computed
    // for one element runs at the innermost loop, which has the same name either way.
    const std::string item = cost.hosts ? x + "t" : x + "m", thread = cost.hosts ? x + "s" : x + "t";
    Line plain = head;
    plain.add("split", x, x + "o", x + "t", threads, kGuard);
    spread(plain, {x + "t"}, x + "t", outer);
    Line apart = head;
    apart.add("split", x, x + "o", x + "i", span, kGuard).add("split", x + "i", item, thread, threads, kGuard);
    spread(apart, {item, thread}, thread, outer);
    // With loops of known lengths a thread's elements are one piece of straight code, which asks for all at once
    // (k-means of 20M float32 on an H200: 80 us, else 90).
    if (cost.lengths)
        apart.unroll_where(*cost.lengths, item);
    else
        apart.add("unroll", item);
    if (items == 4 && !cost.lengths && outer.size() == 1) apart.add("partition", x + "o", "auto");
    // Side by side, as one load: blocks that are whole, which calls of fewer elements than a block do not have. Of a
    // stage inside the kernel a last block that begins earlier would read what is not there.
    const bool wide = stage.output && stage.pure.loops.size() == 1 && cost.bytes < 16 && !stage.guarded && !cost.hosts;
    std::vector<std::vector<Line>> beside;
    const Factor width = hole_of(name + "_wide", {512, 1024, 2048});
    const Factor vector =
        hole_of(name + "_vec", cost.bytes >= 8 ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{4, 2});
    if (wide)
        beside = {{line_of(name)
                       .add("split", x, x + "o", x + "i", width, "shift_inwards")
                       .add("split", x + "i", x + "t", x + "v", vector)
                       .add("vectorize", x + "v")
                       .add("gpu_blocks", x + "o")
                       .add("gpu_threads", x + "t")}};
    nest.lines = {ordered(plain, apart, beside), where(span >= threads && span <= number(kMostItems) * threads)};
    if (wide) nest.lines.push_back(where(width <= number(kMostThreads) * vector));
}

BlockLines in_block_lines(const dsl::StageInfo& stage, const std::vector<std::string>& fixed, const Line& at,
                          const Factor& threads, const LaneMap& map) {
    BlockLines result;
    for (int definition = -1; definition < static_cast<int>(stage.updates.size()); ++definition) {
        const dsl::DefinitionInfo& def = stage.definition(definition);
        std::vector<std::string> free, kept;
        for (const std::string& loop : names_of(pure_loops(def)))
            (std::find(fixed.begin(), fixed.end(), loop) == fixed.end() ? free : kept).push_back(loop);
        Line line = line_of(stage.name, definition);
        if (definition < 0) line.add_all(at).add("store_in", "gpu_shared");
        if (!free.empty()) {
            const bool mapped = map.lanes > 0 && free.size() == 1 && stage.updates.empty();
            const std::string all = fuse_all(line, free, "t");
            const std::vector<std::string> inside = share_out(line, all, threads, mapped ? map : LaneMap{});
            line.add("reorder", reduced_first(def), inside, all + "t", innermost_first(kept))
                .add("gpu_threads", all + "t");
            if (mapped) line.add("unroll", all + "s");
            if (definition < 0) {
                result.thread = all + "t";
                result.inner = inside.front();
            }
            result.counts_threads = true;
        }
        if (const std::string loop = definition < 0 ? "" : short_reduction(def, 16); !loop.empty())
            line.add("unroll", loop);
        if (!line.empty()) result.lines.push_back(line);
    }
    return result;
}

std::string short_reduction(const dsl::DefinitionInfo& update, std::int64_t most) {
    if (update.loops.empty() || !update.loops.back().reduced) return "";
    const dsl::LoopInfo& loop = update.loops.back();
    if (!constant_size(loop.extent) || extent_of(loop, most + 1) > most || extent_of(loop, 1) < 2) return "";
    return loop.name;
}

} // namespace tilewright::autotune
