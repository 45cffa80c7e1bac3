// autotune/space/gpu_nest.cpp: blocks and threads.
#include "autotune/space/gpu_nest.h"

#include <algorithm>

#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"
#include "dsl/base/size_expression.h"
#include "dsl/device_limits.h"

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
constexpr const char* kGuard = ", guard_with_if)";

std::int64_t power_of_two_from(std::int64_t value) {
    std::int64_t power = 1;
    while (power < value)
        power *= 2;
    return power;
}

/// The pure loops of a definition, outermost first.
std::vector<dsl::LoopInfo> pure_loops(const dsl::DefinitionInfo& definition) {
    std::vector<dsl::LoopInfo> loops;
    for (const dsl::LoopInfo& loop : definition.loops)
        if (!loop.reduced) loops.push_back(loop);
    return loops;
}

/// "r1, r0, " : the reduced loops of a definition as reorder() wants them, innermost first.
std::string reduced_first(const dsl::DefinitionInfo& definition) {
    std::string text;
    for (auto loop = definition.loops.rbegin(); loop != definition.loops.rend(); ++loop)
        if (loop->reduced) text += loop->name + ", ";
    return text;
}

/// Fuses `loops` (outermost first) into one: ".fuse(j, i, t)", and its name.
std::string fuse_all(const std::vector<std::string>& loops, const std::string& name, std::string* fused) {
    *fused = loops.back();
    std::string text;
    for (std::size_t k = loops.size() - 1; k-- > 0;) {
        const std::string next = k == 0 ? name : name + std::to_string(k);
        text += ".fuse(" + *fused + ", " + loops[k] + ", " + next + ")";
        *fused = next;
    }
    return text;
}

std::vector<std::string> names_of(const std::vector<dsl::LoopInfo>& loops) {
    std::vector<std::string> names;
    for (const dsl::LoopInfo& loop : loops)
        names.push_back(loop.name);
    return names;
}

std::string head_of(const dsl::StageInfo& stage, int definition) {
    return definition < 0 ? stage.name : stage.name + ".update(" + std::to_string(definition) + ")";
}

const dsl::DefinitionInfo& definition_of(const dsl::StageInfo& stage, int definition) {
    return definition < 0 ? stage.pure : stage.updates[static_cast<std::size_t>(definition)];
}

/// Values of a hole when it stands first, its name alone later.
class Holes {
  public:
    std::string operator()(const std::string& name, std::int64_t first, const std::vector<std::int64_t>& values) {
        if (std::find(known_.begin(), known_.end(), name) != known_.end()) return "?" + name;
        known_.push_back(name);
        return hole(name, first, values, 1, kMostThreads * kMostThreads);
    }

  private:
    std::vector<std::string> known_;
};

/// Leaves the last two of more than two loops, and gives the others: in a fused axis of three, Halide does not see that
/// a thread has one element, and what is computed for it would lie in memory that is allocated for the whole launch.
std::vector<std::string> take_outer(std::vector<std::string>& loops) {
    if (loops.size() <= 2) return {};
    std::vector<std::string> outer(loops.begin(), loops.end() - 2);
    loops.erase(loops.begin(), loops.end() - 2);
    return outer;
}

/// `outer` (outermost first) as blocks around the loops `inside` (innermost first), of which `thread` is over threads.
std::string over_blocks(const std::string& inside, const std::string& thread, const std::vector<std::string>& outer,
                        std::string* block) {
    std::string text;
    if (inside != thread || outer.size() > 1) {
        text = ".reorder(" + inside;
        for (auto loop = outer.rbegin(); loop != outer.rend(); ++loop)
            text += ", " + *loop;
        text += ")";
    }
    text += fuse_all(outer, "blk", block);
    return text + ".gpu_blocks(" + *block + ").gpu_threads(" + thread + ")";
}

/// One long axis, or the last two as one: split into blocks and threads.
void line_of(const dsl::StageInfo& stage, int definition, Holes& holes, GpuNest& nest) {
    const dsl::DefinitionInfo& def = definition_of(stage, definition);
    std::vector<std::string> fused = names_of(pure_loops(def));
    std::vector<std::string> outer = take_outer(fused);
    std::string all;
    const std::string head = head_of(stage, definition) + fuse_all(fused, "t", &all);
    nest.thread = all + "t";
    outer.push_back(all + "o");
    nest.lines.push_back(head + ".split(" + all + ", " + all + "o, " + nest.thread + ", " +
                         holes(stage.name + "_threads", kThreads, {64, 128, 256, 512, 1024}) + kGuard +
                         over_blocks(reduced_first(def) + nest.thread, nest.thread, outer, &nest.block));
    nest.threads = "?" + stage.name + "_threads";
}

bool is_short(const std::vector<dsl::LoopInfo>& loops) {
    return loops.size() == 1 || extent_of(loops.back(), 1024) < kWarp;
}

/// Tiles of the last two axes; `fused`: the last one is two.
void tile_of(const dsl::StageInfo& stage, int definition, bool uneven, bool fused, Holes& holes, GpuNest& nest) {
    const dsl::DefinitionInfo& def = definition_of(stage, definition);
    std::vector<dsl::LoopInfo> loops = pure_loops(def);
    std::int64_t width = extent_of(loops.back(), 1024);
    std::string head = head_of(stage, definition), x = loops.back().name;
    if (fused) {
        width *= extent_of(loops[loops.size() - 2], 1024);
        head += fuse_all({loops[loops.size() - 2].name, x}, "t", &x);
        loops.pop_back();
    }
    const std::string y = loops[loops.size() - 2].name;
    // Neighbours in both directions end at about the same time.
    const std::int64_t across = uneven && !fused ? 8
                                : stage.reads_neighbours && !fused
                                    ? kWarp
                                    : std::min<std::int64_t>(kThreads, power_of_two_from(width));
    const std::int64_t down = uneven && !fused ? 8 : std::max<std::int64_t>(1, kThreads / across);
    std::string line = head + ".split(" + x + ", " + x + "o, " + x + "t, " +
                       holes(stage.name + "_x", across, {8, 16, 32, 64, 128, 256}) + kGuard + ".split(" + y + ", " + y +
                       "o, " + y + "t, " + holes(stage.name + "_y", down, {1, 2, 4, 8, 16}) + kGuard;
    std::vector<std::string> blocks = names_of({loops.begin(), loops.end() - 2});
    blocks.push_back(y + "o");
    blocks.push_back(x + "o");
    line += ".reorder(" + reduced_first(def) + x + "t, " + y + "t";
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
        line += ", " + *block;
    line += ")" + fuse_all(blocks, "blk", &nest.block);
    const std::string spread = ".gpu_blocks(" + nest.block + ").gpu_threads(" + x + "t, " + y + "t)";
    nest.lines.push_back(line + spread);
    if (definition < 0 && !uneven && stage.updates.empty() && extent_of(loops[loops.size() - 2], 1024) >= 2) {
        const std::string factors = ", ?" + stage.name;
        nest.tile = head + ".split(" + x + ", " + x + "o, " + x + "t" + factors + "_x" + kGuard + ".split(" + y + ", " +
                    y + "o, " + y + "i, " + hole(stage.name + "_rows", 4 * down, {2 * down, 8 * down}, 1, 1024) +
                    kGuard + ".split(" + y + "i, " + y + "m, " + y + "t" + factors + "_y" + kGuard + ".reorder(" + y +
                    "m, " + x + "t, " + y + "t";
        for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
            nest.tile += ", " + *block;
        nest.tile += ")" + fuse_all(blocks, "blk", &nest.block) + spread + ".unroll(" + y + "m)";
    }
    nest.thread = x + "t";
    nest.threads = "?" + stage.name + "_x";
    if (definition < 0)
        nest.lines.push_back("where ?" + stage.name + "_x * ?" + stage.name + "_y >= 64 and ?" + stage.name + "_x * ?" +
                             stage.name + "_y <= " + std::to_string(kMostThreads));
}

} // namespace

GpuNest element_nest(const dsl::StageInfo& stage, bool uneven) {
    GpuNest nest;
    nest.axes = names_of(stage.pure.loops);
    Holes holes;
    for (int definition = -1; definition < static_cast<int>(stage.updates.size()); ++definition) {
        const std::vector<dsl::LoopInfo> loops = pure_loops(definition_of(stage, definition));
        if (loops.empty())
            nest.lines.push_back(head_of(stage, definition) + ".gpu_single_thread()");
        else if (is_short(loops) && loops.size() > 2 &&
                 extent_of(loops.back(), 1024) * extent_of(loops[loops.size() - 2], 1024) < kWarp)
            tile_of(stage, definition, uneven, true, holes, nest);
        else if (is_short(loops))
            line_of(stage, definition, holes, nest);
        else
            tile_of(stage, definition, uneven, false, holes, nest);
    }
    return nest;
}

namespace {

/// ".split(...)" of `x` into a loop NAMEt over threads and what each of them does, and the loops of that, innermost
/// first: as lanes are, or in turns.
std::string shared_out(const std::string& x, const std::string& threads, const LaneMap& map, std::string* inside) {
    if (map.lanes == 0) {
        *inside = x + "o";
        return ".split(" + x + ", " + x + "o, " + x + "t, " + threads + kGuard;
    }
    // Serial loops around unrolled elements are partitioned: whole rounds ask nothing.
    *inside = x + "s, " + x + "o";
    return ".split(" + x + ", " + x + "o, " + x + "r, " + std::to_string(map.per_lane) + " * " + threads + kGuard +
           ".split(" + x + "r, " + x + "b, " + x + "q, " + std::to_string(map.lanes * map.per_lane) + ").split(" + x +
           "q, " + x + "s, " + x + "u, " + std::to_string(map.lanes) + ").fuse(" + x + "u, " + x + "b, " + x + "t)";
}

} // namespace

GpuNest row_nest(const dsl::StageInfo& stage, const LaneMap& map) {
    GpuNest nest;
    nest.cooperative = true;
    nest.axes = names_of(stage.pure.loops);
    const std::string x = nest.axes.back();
    nest.shared_axis = x;
    nest.threads = "?" + stage.name + "_threads";
    const std::int64_t width = extent_of(stage.pure.loops.back(), 1024);
    // A thread for each lane, or for every few elements of rows that are one block of lanes.
    const std::int64_t each = map.lanes > 0 ? map.per_lane : width > kThreads ? 4 : 1;
    const std::int64_t threads = std::clamp<std::int64_t>(power_of_two_from(width / each), 2 * kWarp, kThreads);
    const std::vector<std::string> outer(nest.axes.begin(), nest.axes.end() - 1);
    const auto line_for = [&](const LaneMap& one, const std::string& factor) {
        std::string inside;
        std::string line = stage.name + shared_out(x, factor, one, &inside) + ".reorder(" + inside + ", " + x + "t";
        for (auto axis = outer.rbegin(); axis != outer.rend(); ++axis)
            line += ", " + *axis;
        line += ")" + fuse_all(outer, "blk", &nest.block) + ".gpu_blocks(" + nest.block + ").gpu_threads(" + x + "t)";
        return line + (one.lanes > 0 ? ".unroll(" + x + "s)" : "");
    };
    const std::string first =
        line_for(map, hole(stage.name + "_threads", threads, {64, 128, 256, 512, 1024}, kWarp, kMostThreads));
    if (map.lanes == 0) {
        nest.lines.push_back(first);
    } else {
        nest.lines.push_back("choose { " + first + " | " + line_for({}, nest.threads) + " }");
        nest.lines.push_back("where " + nest.threads + " % " + std::to_string(map.lanes) + " == 0");
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
    nest.threads = "?" + stage.name + "_threads";
    std::string line = stage.name + ".split(" + x + ", " + x + "o, " + x + "t, " +
                       hole(stage.name + "_rows", rows, {1, 2, 4, 8, 16, 32}, whole ? rows : 1,
                            whole ? rows : std::max<std::int64_t>(rows, 32)) +
                       kGuard;
    std::vector<std::string> blocks(nest.axes.begin(), nest.axes.end() - 1);
    blocks.push_back(x + "o");
    line += ".reorder(" + x + "t";
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)
        line += ", " + *block;
    line += ")" + fuse_all(blocks, "blk", &nest.block);
    nest.lines.push_back(line + ".gpu_blocks(" + nest.block + ").gpu_threads(" + x + "t)");
    nest.thread = x + "t";
    // Declared where stages in the block use it.
    nest.threads = hole(stage.name + "_threads", threads, {64, 128, 256, 512, 1024}, kWarp, kMostThreads);
    return nest;
}

GpuNest single_nest(const dsl::StageInfo& stage, std::int64_t threads) {
    GpuNest nest;
    nest.cooperative = true;
    nest.block = "blk";
    nest.lines.push_back(stage.name + ".gpu_single_block(blk)");
    nest.threads = hole(stage.name + "_threads", threads, {64, 128, 256, 512, 1024}, kWarp, kMostThreads);
    return nest;
}

namespace {

/// Lets the values of a hole stand in `to` instead of in `from`.
void move_values(const std::string& name, std::string& from, std::string& to) {
    const std::size_t at = from.find(name + "{"), there = to.find(name);
    if (at == std::string::npos || there == std::string::npos) return;
    const std::size_t end = from.find('}', at) + 1;
    to.replace(there, name.size(), from.substr(at, end - at));
    from.replace(at, end - at, name);
}

} // namespace

void offer_items(GpuNest& nest, const dsl::StageInfo& stage, const ElementCost& cost) {
    if (!stage.updates.empty() || stage.pure.loops.empty()) return;
    const std::string name = stage.name;
    const bool is_tile = nest.lines.size() != 1;
    const std::int64_t items = cost.operations <= kCheapElement && !cost.repeated ? 4
                               : cost.operations <= kMiddlingElement              ? 2
                                                                                  : 1;
    const auto ordered = [&](std::string plain, const std::string& apart, const std::string& beside) {
        if (items > 1) return "choose { " + apart + " | " + plain + beside + " }";
        return "choose { " + plain + " | " + apart + beside + " }";
    };
    if (is_tile) {
        // Further rows, as far apart as the tile is high.
        if (cost.hosts || nest.tile.empty()) return;
        if (items > 1)
            for (const char* hole : {"_x", "_y"})
                move_values("?" + name + hole, nest.lines.front(), nest.tile);
        nest.lines.front() = ordered(nest.lines.front(), nest.tile, "");
        nest.lines.push_back("where ?" + name + "_rows >= ?" + name + "_y and ?" + name +
                             "_rows <= " + std::to_string(kMostItems) + " * ?" + name + "_y");
        return;
    }
    std::vector<std::string> fused = names_of(stage.pure.loops);
    std::vector<std::string> outer = take_outer(fused);
    std::string x;
    const std::string head = name + fuse_all(fused, "t", &x);
    outer.push_back(x + "o");
    const auto spread = [&](const std::string& inside, const std::string& thread) {
        std::string block;
        return over_blocks(inside, thread, outer, &block);
    };
    const std::int64_t threads = items == 2 ? kThreadsOfTwo : kThreads;
    // Where the same hole stands in several branches its values are those of the first.
    const std::string free_threads =
        hole(name + "_threads", threads, {64, 128, 256, 512, 1024}, 1, kMostThreads * kMostThreads);
    const auto span_of = [&](std::int64_t first) {
        return hole(name + "_span", first, {256, 512, 1024, 2048, 4096}, 1, kMostThreads * kMostThreads);
    };
    const std::string span = span_of(items > 1 ? items * threads : 1024);
    // Whole blocks of cheap elements test nothing; dear ones lose more by the registers of two copies.
    // Neighbours stay neighbours: the elements of a thread are as far apart as the block has threads. What is computed
    // for one element runs at the innermost loop, which has the same name either way.
    const std::string item = cost.hosts ? x + "t" : x + "m", thread = cost.hosts ? x + "s" : x + "t";
    const auto plain = [&](const std::string& count) {
        return head + ".split(" + x + ", " + x + "o, " + x + "t, " + count + kGuard + spread(x + "t", x + "t");
    };
    // With loops of known lengths a thread's elements are one piece of straight code, which asks for all at once
    // (k-means of 20M float32 on an H200: 80 us, else 90).
    const std::string unroll =
        cost.lengths.empty() ? ".unroll(" + item + ")" : ".specialize(" + cost.lengths + ") { unroll(" + item + ") }";
    const auto apart = [&](const std::string& count) {
        return head + ".split(" + x + ", " + x + "o, " + x + "i, " + span + kGuard + ".split(" + x + "i, " + item +
               ", " + thread + ", " + count + kGuard + spread(item + ", " + thread, thread) + unroll +
               (items == 4 && cost.lengths.empty() && outer.size() == 1 ? ".partition(" + x + "o, auto)" : "");
    };
    const std::string known = "?" + name + "_threads";
    const bool wide = stage.pure.loops.size() == 1 && cost.bytes < 16 && !stage.guarded && !cost.hosts;
    // Side by side, as one load: blocks that are whole, which calls of fewer elements than a block do not have.
    const std::string beside = !wide ? ""
                                     : " | " + name + ".split(" + x + ", " + x + "o, " + x + "i, ?" + name +
                                           "_wide{512, 1024, 2048}, shift_inwards).split(" + x + "i, " + x + "t, " + x +
                                           "v, ?" + name + (cost.bytes >= 8 ? "_vec{2}" : "_vec{4, 2}") +
                                           ").vectorize(" + x + "v).gpu_blocks(" + x + "o).gpu_threads(" + x + "t)";
    nest.lines = {items > 1 ? ordered(plain(known), apart(free_threads), beside)
                            : ordered(plain(free_threads), apart(known), beside)};
    nest.lines.push_back("where ?" + name + "_span >= ?" + name + "_threads and ?" + name +
                         "_span <= " + std::to_string(kMostItems) + " * ?" + name + "_threads");
    if (wide)
        nest.lines.push_back("where ?" + name + "_wide <= " + std::to_string(kMostThreads) + " * ?" + name + "_vec");
}

BlockLines in_block_lines(const dsl::StageInfo& stage, const std::vector<std::string>& fixed, const std::string& at,
                          const std::string& threads, const LaneMap& map) {
    BlockLines result;
    std::string factor = threads;
    for (int definition = -1; definition < static_cast<int>(stage.updates.size()); ++definition) {
        const dsl::DefinitionInfo& def = definition_of(stage, definition);
        std::vector<std::string> free, kept;
        for (const std::string& loop : names_of(pure_loops(def)))
            (std::find(fixed.begin(), fixed.end(), loop) == fixed.end() ? free : kept).push_back(loop);
        const std::string head = head_of(stage, definition);
        std::string line = head;
        if (definition < 0) line += at + ".store_in(gpu_shared)";
        if (!free.empty()) {
            std::string all, inside;
            const bool mapped = map.lanes > 0 && free.size() == 1 && stage.updates.empty();
            line += fuse_all(free, "t", &all);
            line += shared_out(all, factor, mapped ? map : LaneMap{}, &inside) + ".reorder(" + reduced_first(def) +
                    inside + ", " + all + "t";
            for (auto loop = kept.rbegin(); loop != kept.rend(); ++loop)
                line += ", " + *loop;
            line += ").gpu_threads(" + all + "t)";
            if (mapped) line += ".unroll(" + all + "s)";
            if (definition < 0) {
                result.thread = all + "t";
                result.inner = mapped ? all + "s" : all + "o";
            }
            if (const auto values = factor.find('{'); values != std::string::npos) factor.resize(values);
        }
        if (definition >= 0) line += unrolled(def, 16);
        if (line != head) result.lines.push_back(line);
    }
    return result;
}

std::string unrolled(const dsl::DefinitionInfo& update, std::int64_t most) {
    if (update.loops.empty() || !update.loops.back().reduced) return "";
    const dsl::LoopInfo& loop = update.loops.back();
    if (!constant_size(loop.extent) || extent_of(loop, most + 1) > most || extent_of(loop, 1) < 2) return "";
    return ".unroll(" + loop.name + ")";
}

} // namespace tilewright::autotune
