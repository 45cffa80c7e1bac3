// autotune/space/gpu_nest.cpp: blocks and threads.
#include "autotune/space/gpu_nest.h"

#include <algorithm>

#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"

namespace tilewright::autotune {
namespace {

constexpr std::int64_t kThreads = 256; ///< of a block, to begin with
constexpr std::int64_t kMostThreads = 1024;
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

/// One long axis: split into blocks and threads. Of more than two axes the last two: in a fused axis of three, Halide
/// does not see that a thread has one element, and what is computed for it would lie in memory that is allocated for
/// the whole launch.
void line_of(const dsl::StageInfo& stage, int definition, Holes& holes, GpuNest& nest) {
    const dsl::DefinitionInfo& def = definition_of(stage, definition);
    std::vector<std::string> fused = names_of(pure_loops(def)), outer;
    if (fused.size() > 2) {
        outer.assign(fused.begin(), fused.end() - 2);
        fused.erase(fused.begin(), fused.end() - 2);
    }
    std::string all;
    std::string line = head_of(stage, definition) + fuse_all(fused, "t", &all);
    const std::string thread = all + "t";
    std::string block = all + "o";
    line += ".split(" + all + ", " + block + ", " + thread + ", " +
            holes(stage.name + "_threads", kThreads, {64, 128, 256, 512, 1024}) + kGuard;
    const std::string reduced = reduced_first(def);
    outer.push_back(block);
    if (!reduced.empty() || outer.size() > 1) {
        line += ".reorder(" + reduced + thread;
        for (auto loop = outer.rbegin(); loop != outer.rend(); ++loop)
            line += ", " + *loop;
        line += ")";
    }
    if (outer.size() > 1) line += fuse_all(outer, "blk", &block);
    nest.lines.push_back(line + ".gpu_blocks(" + block + ").gpu_threads(" + thread + ")");
    nest.block = block;
    nest.thread = thread;
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
    const std::int64_t across = !fused && (uneven || stage.reads_neighbours)
                                    ? kWarp
                                    : std::min<std::int64_t>(kThreads, power_of_two_from(width));
    const std::int64_t down = uneven && !fused ? 4 : std::max<std::int64_t>(1, kThreads / across);
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
    nest.lines.push_back(line + ".gpu_blocks(" + nest.block + ").gpu_threads(" + x + "t, " + y + "t)");
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

GpuNest row_nest(const dsl::StageInfo& stage) {
    GpuNest nest;
    nest.cooperative = true;
    nest.axes = names_of(stage.pure.loops);
    const std::string x = nest.axes.back();
    nest.shared_axis = x;
    nest.threads = "?" + stage.name + "_threads";
    const std::int64_t width = extent_of(stage.pure.loops.back(), 1024);
    const std::int64_t threads = std::clamp<std::int64_t>(power_of_two_from(width / 8), 2 * kWarp, kThreads);
    std::string line = stage.name + ".split(" + x + ", " + x + "o, " + x + "t, " +
                       hole(stage.name + "_threads", threads, {64, 128, 256, 512, 1024}, kWarp, kMostThreads) + kGuard;
    const std::vector<std::string> outer(nest.axes.begin(), nest.axes.end() - 1);
    line += ".reorder(" + x + "o, " + x + "t";
    for (auto axis = outer.rbegin(); axis != outer.rend(); ++axis)
        line += ", " + *axis;
    line += ")" + fuse_all(outer, "blk", &nest.block);
    nest.lines.push_back(line + ".gpu_blocks(" + nest.block + ").gpu_threads(" + x + "t)");
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

void offer_items(GpuNest& nest, const dsl::StageInfo& stage, int item_bytes, bool hosts) {
    if (stage.pure.loops.size() != 1 || !stage.updates.empty() || nest.lines.size() != 1) return;
    const std::string x = stage.pure.loops.back().name, name = stage.name;
    const std::string blocks = ".gpu_blocks(" + x + "o).gpu_threads(" + x + "t)";
    // Neighbours stay neighbours: the elements of a thread are as far apart as the block has threads.
    const std::string apart = name + ".split(" + x + ", " + x + "o, " + x + "i, ?" + name +
                              "_span{1024, 512, 2048, 4096}" + kGuard + ".split(" + x + "i, " + x + "m, " + x + "t, ?" +
                              name + "_threads).reorder(" + x + "m, " + x + "t, " + x + "o).unroll(" + x + "m)" +
                              blocks;
    if (hosts) {
        // What is computed for one element runs at the innermost loop, which has the same name either way.
        nest.lines = {"choose { " + nest.lines.front() + " | " + name + ".split(" + x + ", " + x + "o, " + x + "i, ?" +
                          name + "_span{512, 1024, 2048}" + kGuard + ".split(" + x + "i, " + x + "t, " + x + "s, ?" +
                          name + "_threads).reorder(" + x + "t, " + x + "s, " + x + "o).gpu_blocks(" + x +
                          "o).gpu_threads(" + x + "s) }",
                      "where ?" + name + "_span > ?" + name + "_threads"};
        return;
    }
    std::string branches = nest.lines.front() + " | " + apart;
    if (item_bytes < 16 && !stage.guarded) {
        // Side by side, as one load: blocks that are whole, which calls of fewer elements than a block do not have.
        const std::string beside = name + ".split(" + x + ", " + x + "o, " + x + "i, ?" + name +
                                   "_wide{512, 1024, 2048}, shift_inwards).split(" + x + "i, " + x + "t, " + x +
                                   "v, ?" + name + (item_bytes >= 8 ? "_vec{2}" : "_vec{4, 2}") + ").vectorize(" + x +
                                   "v)" + ".gpu_blocks(" + x + "o).gpu_threads(" + x + "t)";
        branches += " | " + beside;
    }
    nest.lines = {"choose { " + branches + " }"};
    nest.lines.push_back("where ?" + name + "_span >= ?" + name + "_threads");
    if (item_bytes < 16 && !stage.guarded)
        nest.lines.push_back("where ?" + name + "_wide <= " + std::to_string(kMostThreads) + " * ?" + name + "_vec");
}

std::vector<std::string> in_block_lines(const dsl::StageInfo& stage, const std::vector<std::string>& fixed,
                                        const std::string& at, const std::string& threads) {
    std::vector<std::string> lines;
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
            std::string all;
            line += fuse_all(free, "t", &all);
            line += ".split(" + all + ", " + all + "o, " + all + "t, " + factor + kGuard + ".reorder(" +
                    reduced_first(def) + all + "o, " + all + "t";
            for (auto loop = kept.rbegin(); loop != kept.rend(); ++loop)
                line += ", " + *loop;
            line += ").gpu_threads(" + all + "t)";
            if (const auto values = factor.find('{'); values != std::string::npos) factor.resize(values);
        }
        if (definition >= 0) line += unrolled(def, 16);
        if (line != head) lines.push_back(line);
    }
    return lines;
}

std::string unrolled(const dsl::DefinitionInfo& update, std::int64_t most) {
    if (update.loops.empty() || !update.loops.back().reduced) return "";
    const dsl::LoopInfo& loop = update.loops.back();
    const bool is_number = !loop.extent.empty() && std::all_of(loop.extent.begin(), loop.extent.end(),
                                                               [](unsigned char c) { return std::isdigit(c); });
    if (!is_number || extent_of(loop, most + 1) > most || extent_of(loop, 1) < 2) return "";
    return ".unroll(" + loop.name + ")";
}

} // namespace tilewright::autotune
