// autotune/space/loop_rule.cpp: loop nests for loops that run inside their elements.
#include "autotune/space/loop_rule.h"

#include <algorithm>

#include "dsl/base/dtypes.h"

namespace tilewright::autotune {
namespace {

using dsl::StagePart;

// Iterations of many operations are unrolled less: compile time and instruction caches.
constexpr int kOperationsOfVisit = 400;
// Share of the vector registers that the state of one group may fill; the rest is for what is on its way.
constexpr double kStateShare = 0.6;
// Rows of a group at most: neighbours in both directions are done at about the same time.
constexpr int kMostRows = 3;
// What one parallel task should at least do, in operations.
constexpr double kTaskOps = 200'000;

bool narrow(const std::string& dtype) {
    const DTypeInfo* const known = find_dtype(dtype);
    return known != nullptr && known->is_narrow();
}

/// Vector registers for one vector of `lanes` elements.
double registers_of(const dsl::StageInfo& loop, int lanes, const Machine& machine) {
    double total = 0;
    for (const std::string& dtype : loop.dtypes)
        total += static_cast<double>(lanes) / std::max(1, machine.lanes(narrow(dtype) ? "int32" : dtype));
    return std::max(1.0, total);
}

} // namespace

const dsl::StageInfo* hosted_loop(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info) {
    if (!root.updates.empty() || root.pure.loops.empty()) return nullptr;
    for (const dsl::StageInfo& loop : info.stages) {
        if (loop.part != StagePart::loop || loop.kernel != root.kernel ||
            loop.pure.loops.size() != root.pure.loops.size())
            continue;
        const auto& uses = graph.uses(loop.name);
        const bool only = !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
            return use.reader == &root && use.read->axes == names_of(root.pure.loops);
        });
        if (only) return &loop;
    }
    return nullptr;
}

RootLoops loop_host_rule(const dsl::StageInfo& root, const dsl::StageInfo& loop, const StageGraph& graph,
                         const Machine& machine) {
    RootLoops result = RootLoops::of(root);
    const auto& loops = root.pure.loops;
    const std::string& name = root.name;
    const std::string& inner = loops.back().name;
    const std::int64_t width = extent_of(loops.back(), 1 << 20);
    const double iterations = static_cast<double>(extent_of(loop.updates.front().loops.back(), 1024));
    double iteration_count = 1;
    for (const dsl::LoopInfo& each : loop.updates.front().loops)
        if (each.reduced) iteration_count *= static_cast<double>(extent_of(each, 1024));
    const double element_ops = std::max(1.0, std::max(iterations, iteration_count) * std::max(1, loop.operations));
    int native = std::max(1, default_lanes(loop, graph, machine));
    while (native > 1 && native > width)
        native /= 2;

    // As many vectors at once as their state fits the registers: iterations wait for themselves otherwise. Blocks
    // rather than long rows, since neighbours are done at about the same time.
    const double registers = kStateShare * (machine.vector_bytes() >= 64 ? 32 : 16);
    const std::int64_t height = loops.size() > 1 ? extent_of(loops[loops.size() - 2], 1024) : 1;
    const int most_rows = static_cast<int>(std::min<std::int64_t>(kMostRows, height));
    int lanes = native;
    int group = 1;
    while (lanes < (most_rows > 1 ? 2 : 4) * native && registers_of(loop, lanes * 2, machine) <= registers &&
           lanes * 2 <= width)
        lanes *= 2;
    while (group < most_rows && registers_of(loop, lanes, machine) * (group + 1) <= registers)
        ++group;
    result.unrolled_rows = group;
    const bool vectorize = width > 1;

    Line line = line_of(name);
    std::string vectors = inner;
    auto vector_split = [&](const std::string& of) {
        result.vector_axis = inner;
        result.vector_lanes = lanes;
        result.vector_factor = hole(name + "_vec", lanes, {native / 2, native, native * 2, native * 4, native * 8}, 2,
                                    std::max<std::int64_t>(width, lanes));
        vectors = inner + "v";
        line.add("split", of, vectors, inner + "x", result.vector_factor);
    };
    const double elements = iterations_of(loops);
    const bool parallel = machine.cores > 1 && elements * element_ops > 2 * kTaskOps;
    if (loops.size() == 1) {
        std::string rest = inner;
        std::int64_t tile = 1;
        Factor tiles;
        while (tile < lanes ||
               (static_cast<double>(tile) * element_ops < kTaskOps && tile * 2 * machine.cores <= width))
            tile *= 2;
        if (parallel && vectorize && width >= 2 * tile) {
            tiles = hole(name + "_tile", tile, {tile / 4, tile / 2, tile * 2, tile * 4, tile * 16}, native,
                         std::max<std::int64_t>(tile, width / machine.cores));
            line.add("split", inner, inner + "o", inner + "i", tiles).add("parallel", inner + "o");
            rest = inner + "i";
            result.outermost = inner + "o";
        }
        if (vectorize) {
            vector_split(rest);
            line.add("vectorize", inner + "x");
            if (rest != inner) result.lines.push_back(where(tiles >= result.vector_factor));
        }
        if (result.outermost.empty()) result.outermost = vectors;
    } else {
        const std::string& row = loops[loops.size() - 2].name;
        const std::int64_t rows = extent_of(loops[loops.size() - 2], 1024);
        if (vectorize) vector_split(inner);
        if (vectorize && rows >= 2) {
            result.group_factor = hole(name + "_group", group, {1, 2, 3, 4, 6, 8}, 1, rows);
            line.add("split", row, row + "o", row + "i", result.group_factor)
                .add("reorder", inner + "x", row + "i", vectors, row + "o")
                .add("vectorize", inner + "x")
                .add("unroll", row + "i");
        } else if (vectorize) {
            line.add("vectorize", inner + "x");
        }
        const bool split_rows = vectorize && rows >= 2 && loops.size() == 2;
        const std::string outer = split_rows ? row + "o" : loops.front().name;
        const std::int64_t outer_extent =
            std::max<std::int64_t>(1, extent_of(loops.front(), 1024) / (split_rows ? group : 1));
        if (parallel && outer_extent >= 2) {
            const double of_one = elements / static_cast<double>(std::max<std::int64_t>(1, outer_extent)) * element_ops;
            std::int64_t task = 1;
            while (static_cast<double>(task) * of_one < kTaskOps && task * 8 * machine.cores < outer_extent)
                task *= 2;
            line.add("parallel", outer,
                     hole(name + "_task", task, {1, 2, 4, 8, 16, 32}, 1,
                          std::max<std::int64_t>(task, outer_extent / machine.cores)));
        }
        result.outermost = outer;
    }
    result.attach_at.back() = vectors;
    if (!line.empty()) result.lines.insert(result.lines.begin(), line);
    return result;
}

namespace {

// Iterations of one visit to begin with: one test for this many iterations costs next to nothing, and at most one visit
// is wasted.
constexpr int kChunk = 10;

std::int64_t default_chunk(const dsl::StageInfo& loop, std::int64_t chunk = kChunk) {
    while (chunk > 1 && chunk * loop.operations > kOperationsOfVisit)
        chunk /= 2;
    const std::int64_t iterations = extent_of(loop.updates.front().loops.back(), 1 << 20);
    return std::max<std::int64_t>(1, std::min(chunk, iterations));
}

Factor chunk_hole(const dsl::StageInfo& loop, std::int64_t first = kChunk) {
    const std::int64_t chunk = default_chunk(loop, first);
    return hole(loop.name + "_chunk", chunk, {1, 2, 4, 5, 8, 10, 16, 20, 50}, 1,
                std::max<std::int64_t>(chunk, loop.operations > 100 ? 10 : 50));
}

} // namespace

const std::string& add_chunks(Line& line, const dsl::StageInfo& loop, std::int64_t first) {
    const std::string& iteration = loop.updates.front().loops.back().name;
    line.add("split", iteration, iteration + "o", iteration + "i", chunk_hole(loop, first))
        .add("unroll", iteration + "i");
    return iteration;
}

std::vector<Line> hosted_loop_lines(const dsl::StageInfo& loop, const dsl::StageInfo& root, const RootLoops& loops) {
    std::vector<Line> lines;
    const auto& axes = loop.pure.loops;
    const bool vectorized = !loops.vector_axis.empty();
    const std::string& inner = axes.back().name;
    const bool grouped = vectorized && axes.size() >= 2 && extent_of(axes[axes.size() - 2], 1024) >= 2;
    const auto with_elements = [&](Line line) {
        if (vectorized) line.add("vectorize", inner, loops.vector_factor);
        if (grouped) line.add("unroll", axes[axes.size() - 2].name);
        return line;
    };
    lines.push_back(with_elements(line_of(loop.name).add("compute_at", root.name, loops.attach_at.back())));
    const std::string iteration = loop.updates.front().loops.back().name;
    const Factor chunk = chunk_hole(loop);
    std::vector<std::string> order;
    if (vectorized) order.push_back(inner);
    if (grouped) order.push_back(axes[axes.size() - 2].name);
    lines.push_back(with_elements(line_of(loop.name, 0)
                                      .add("split", iteration, iteration + "o", iteration + "i", chunk)
                                      .add("reorder", order, iteration + "i", iteration + "o"))
                        .add("unroll", iteration + "i"));
    // All of it is one run of code: compilers take more than twice as long for twice as much.
    if (grouped)
        lines.push_back(where(chunk * loops.vector_factor * loops.group_factor <=
                              number(2 * default_chunk(loop) * loops.vector_lanes * loops.unrolled_rows)));
    return lines;
}

} // namespace tilewright::autotune
