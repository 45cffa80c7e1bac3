// autotune/space/root_rule.cpp: the loop nest of a stage that stands on its own.
#include "autotune/space/root_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "dsl/base/dtypes.h"
#include "dsl/base/size_expression.h"

namespace tilewright::autotune {
namespace {

using dsl::StagePart;

// Work below this (arithmetic operations in all) is over before a second thread has woken up.
constexpr double kParallelOps = 60'000;
// What one parallel task should at least do, so that handing it out costs nothing.
constexpr double kTaskOps = 100'000;
// With more tasks than this for a core it matters little who gets the last one.
constexpr int kManyTasks = 16;
// From so many elements on a stage touches lines enough to count.
constexpr double kFewElements = 32;
// Work on a byte that outweighs its way from another core's cache: a line takes some 80 ns.
constexpr double kOpsPerByte = 8;
// Rows that are reduced side by side: additions take three or four cycles, and two start in each.
constexpr std::int64_t kGroup = 8;
constexpr int kLineBytes = 64;
// Elements that a search compares one by one, each with the best before it: with fewer, others fill the gaps.
constexpr double kLongSearch = 16;
// Rows of a task of a scan: a share of the longest arrays would be a factor that no split takes
// (dsl/model/loop_nest.h).
constexpr std::int64_t kMostShare = 1 << 24;
// Vectors that such a group may hold at most; the rest of the registers is for what is added.
constexpr int kGroupVectors = 12;
// Shorter rows may have their vectors across them: from here on what loads and stores with gaps between the elements
// cost outweighs the empty part of vectors along a row.
constexpr std::int64_t kShortRow = 8;
// Terms of a sum whose rows a vector may read, where it could go along the results as well: more are more lines than a
// set of L1 holds where rows are a power of two apart.
constexpr double kManyTerms = 64;
// Elements between one row and the next that the vectors across rows may step over: the lines of a vector's rows stay
// in L1.
constexpr std::int64_t kLongestStep = 128;

std::int64_t power_of_two_below(double value) {
    return value < 1 ? 1 : std::int64_t{1} << static_cast<int>(std::floor(std::log2(value)));
}

/// Elements a task should take: enough work, several tasks a core, and no more than half of L2 at 8 bytes each.
std::int64_t task_elements(double elements, double ops, const Machine& machine, bool blocks) {
    double enough = kTaskOps / std::max(1.0, ops);
    double balanced = elements / (machine.cores * 8.0);
    // A block of a reduction stands for the many elements that it reads: about one for each operation.
    double cached = static_cast<double>(machine.l2_bytes) / (blocks ? 4.0 * std::max(1.0, ops) : 16.0);
    return std::max<std::int64_t>(1, power_of_two_below(std::min(cached, std::max(enough, balanced))));
}

/// About `tile` rows for a task, such that few tasks are shared out evenly: 100 rows for 2 cores are 8 tasks of 13
/// rather than 7 of 16.
std::int64_t even_tile(std::int64_t rows, std::int64_t tile, int cores) {
    const std::int64_t tasks = (rows + tile - 1) / tile;
    if (tasks > kManyTasks * cores) return tile;
    const std::int64_t rounds = std::max<std::int64_t>(1, (tasks + cores / 2) / cores);
    return (rows + rounds * cores - 1) / (rounds * cores);
}

/// A stage that a loop of the program runs through, inside of its outermost loop: tiles of the one long axis in
/// parallel.
std::optional<RootLoops> scan_rule(const dsl::StageInfo& root, const StageGraph& graph, const Machine& machine,
                                   double work) {
    const auto& loops = root.pure.loops;
    const auto is_long = [](const dsl::LoopInfo& loop) { return loop.extent != "1"; };
    const auto found = std::find_if(loops.begin(), loops.end(), is_long);
    if (found == loops.end() || std::count_if(loops.begin(), loops.end(), is_long) != 1) return std::nullopt;
    const std::string& axis = found->name;
    const std::int64_t extent = extent_of(*found, 1024);
    const int lanes = default_lanes(root, graph, machine);
    const bool contiguous = found + 1 == loops.end();
    // Down a column, neighbours lie in different rows: a vector would be put together and taken apart value by
    // value, at twice the cost of single values, and several rows of those keep the units busy. Long chains pay for it.
    const bool single = !contiguous && root.operations < kLongChainOps;
    // Each iteration touches the tile's elements: rows of lines that stay in L1, or a few lines of a row.
    const std::int64_t group = single ? kGroup : lanes;
    const std::int64_t share =
        std::clamp<std::int64_t>((extent + machine.cores - 1) / machine.cores, group, kMostShare);
    // From memory, fewer rows at a time arrive sooner.
    const bool from_memory = iterations_of(loops) * root.repeats * 2 * 8 > static_cast<double>(machine.l3_bytes) / 2;
    const std::int64_t groups = !single ? 4 : from_memory ? 1 : 2;
    const std::int64_t tile = std::min<std::int64_t>(share, contiguous ? 512 : groups * group);
    RootLoops result = RootLoops::of(root);
    const Factor vector = hole(root.name + "_vec", group, {group / 2, group * 2}, 2, 4 * group);
    const Factor tiles = hole(root.name + "_tile", tile, {group, 2 * group, 4 * group, 16 * group, 512, share}, group,
                              std::max<std::int64_t>(share, group));
    Line line = line_of(root.name).add("split", axis, axis + "o", axis + "i", tiles);
    if (machine.cores > 1 && work * root.repeats > kParallelOps) line.add("parallel", axis + "o");
    line.add("split", axis + "i", axis + "v", axis + "x", vector);
    if (!single) {
        result.vector_axis = axis;
        result.vector_lanes = lanes;
        result.vector_factor = vector;
        line.add("vectorize", axis + "x");
    }
    result.lines = {line, where(tiles >= vector)};
    if (single)
        result.lines.push_back(choose(
            {{line_of(root.name).add("unroll", axis + "x")}, {line_of(root.name).add("vectorize", axis + "x")}}));
    result.outermost = axis + "o";
    result.attach_at[static_cast<std::size_t>(found - loops.begin()) + 1] = axis + "v";
    return result;
}

/// The stages of the root's kernel that it reads, through others too.
std::set<const dsl::StageInfo*> stages_behind(const dsl::StageInfo& root, const StageGraph& graph) {
    std::set<const dsl::StageInfo*> found;
    std::vector<const dsl::StageInfo*> open{&root};
    while (!open.empty()) {
        const dsl::StageInfo& reader = *open.back();
        open.pop_back();
        for (const dsl::ReadInfo& read : reader.reads) {
            const dsl::StageInfo* stage = graph.find(read.from);
            if (stage != nullptr && stage->kernel == root.kernel && stage != &root && found.insert(stage).second)
                open.push_back(stage);
        }
    }
    return found;
}

/// Whether a stage compares many elements one after the other with the best so far, and keeps its position. Those of a
/// matrix in memory come too late for the units to be busy anyway.
bool is_long_search(const dsl::StageInfo& stage, const StageGraph& graph) {
    if (stage.part != StagePart::whole || stage.updates.size() != 1 || stage.dtypes.size() != 2 ||
        !stage.dtypes[1].starts_with("int"))
        return false;
    const auto& loops = stage.updates.front().loops;
    const auto moves_along = [](const dsl::ReadInfo& read, const dsl::LoopInfo& loop) {
        return std::ranges::find(read.axes, loop.name) != read.axes.end();
    };
    const bool from_memory = std::ranges::any_of(stage.reads, [&](const dsl::ReadInfo& read) {
        return read.definition == 0 && graph.find(read.from) == nullptr &&
               std::ranges::all_of(loops, [&](const dsl::LoopInfo& loop) { return moves_along(read, loop); });
    });
    return !from_memory && iterations_of(loops) >= kLongSearch * iterations_of(stage.pure.loops);
}

/// The lanes that a root's vectors have where its axis is long enough.
int wanted_lanes(const dsl::StageInfo& root, const StageGraph& graph, const Machine& machine, double chain_ops) {
    // Elementary functions are long chains of dependent steps, and so are the iterations of a loop inside of this one,
    // and the steps of a long search one by one: two vectors at a time keep the units busy.
    const bool chains = chain_ops >= kLongChainOps || root.scans ||
                        std::ranges::any_of(stages_behind(root, graph),
                                            [&](const dsl::StageInfo* stage) { return is_long_search(*stage, graph); });
    // Loads at any byte: of vectors as long as a cache line each one takes two lines, of halves every second one. Where
    // steps of a stencil are computed for each place, the work outweighs its loads.
    const bool halves = root.reads_neighbours && chain_ops < kLongChainOps &&
                        graph.operations_repeated(root) < kLongChainOps && machine.vector_bytes() >= kLineBytes;
    return default_lanes(root, graph, machine) * (chains ? 2 : 1) / (halves ? 2 : 1);
}

/// The rows of a nest, as tasks share them out.
struct RowTasks {
    std::string rows;           ///< their loop inside of a task
    std::string outermost;      ///< the loop over tasks, or over rows
    std::size_t behind = 0;     ///< the axis behind those that are rows
    std::optional<Factor> tile; ///< rows of a task, where there is more than one
    std::int64_t task_rows = 0; ///< its first value
    std::int64_t all_rows = 1;
};

/// Rows are the axis at `first`, which has too few iterations to share out perhaps: it is fused with those behind it
/// then, up to the axis at `end`. A task has `least_rows` at least.
RowTasks share_out(const dsl::StageInfo& root, std::size_t first, std::size_t end, const Machine& machine,
                   bool parallel, std::int64_t least_rows, double element_ops, std::int64_t least_task, Line* line) {
    const auto& loops = root.pure.loops;
    std::string rows = loops[first].name;
    std::int64_t row_count = extent_of(loops[first], 1024);
    RowTasks out;
    out.behind = first + 1;
    while (parallel && row_count < 4 * machine.cores && out.behind < end) {
        const dsl::LoopInfo& next = loops[out.behind];
        std::string both = rows + next.name;
        line->add("fuse", next.name, rows, both);
        rows = both;
        row_count *= extent_of(next, 1024);
        ++out.behind;
    }
    out.rows = out.outermost = rows;
    if (!parallel || row_count < 2 * least_rows || row_count < 2) return out;
    const double elements = iterations_of(loops);
    const double row_elements = elements / static_cast<double>(std::max<std::int64_t>(1, row_count));
    std::int64_t tile = task_elements(elements, element_ops, machine, root.part == StagePart::block) /
                        std::max<std::int64_t>(1, static_cast<std::int64_t>(row_elements));
    tile = std::max<std::int64_t>(
        1, std::min<std::int64_t>(power_of_two_below(static_cast<double>(tile)),
                                  power_of_two_below(static_cast<double>(row_count) / machine.cores)));
    const std::int64_t share = (row_count + machine.cores - 1) / machine.cores;
    const auto least = static_cast<std::int64_t>(static_cast<double>(least_task) / std::max(1.0, row_elements));
    const std::int64_t even = std::max(even_tile(row_count, tile, machine.cores), least);
    const std::int64_t rounded = (even + least_rows - 1) / least_rows * least_rows;
    // The last option is no threads.
    out.tile =
        hole(root.name + "_rows", rounded,
             {1, tile / 4, tile / 2, tile, tile * 2, tile * 4, tile * 16, share, row_count}, least_rows, row_count);
    const std::vector<std::string> tail(rounded > row_count ? 1 : 0, "guard_with_if");
    line->add("split", rows, rows + "o", rows + "i", *out.tile, tail).add("parallel", rows + "o");
    out.rows = rows + "i";
    out.outermost = rows + "o";
    out.task_rows = rounded;
    out.all_rows = row_count;
    return out;
}

/// Vectors along the axis at `place`, across the short rows behind it.
RootLoops across_rows(const dsl::StageInfo& root, const StageGraph& graph, const Machine& machine, std::size_t place,
                      bool parallel, double element_ops, double chain_ops, std::int64_t least_task) {
    RootLoops result = RootLoops::of(root);
    const auto& loops = root.pure.loops;
    const auto axis = loops.begin() + static_cast<std::ptrdiff_t>(place);
    const std::vector<std::string> before = names_of({loops.begin(), axis});
    const std::vector<std::string> behind = names_of({axis + 1, loops.end()});
    const std::int64_t lanes = wanted_lanes(root, graph, machine, chain_ops);
    Line line = line_of(root.name);
    // Where the axes before it are few iterations, tasks share out the axis of the vectors, and go along all of those.
    const bool in_tiles = iterations_of({loops.begin(), axis}) < 4 * machine.cores;
    const RowTasks tasks =
        in_tiles ? share_out(root, place, place + 1, machine, parallel, lanes, element_ops, least_task, &line)
                 : share_out(root, 0, place, machine, parallel, 1, element_ops, least_task, &line);
    result.vector_axis = axis->name;
    result.vector_depth = place + 1;
    result.vector_lanes = static_cast<int>(lanes);
    result.vector_factor =
        hole(root.name + "_vec", lanes, {lanes / 2, lanes * 2, lanes * 4, lanes * 8}, 2, extent_of(*axis, lanes));
    const std::string vectors = axis->name + "v";
    const std::string lane = axis->name + "x";
    line.add("split", in_tiles ? tasks.rows : axis->name, vectors, lane, result.vector_factor).add("vectorize", lane);
    if (in_tiles && tasks.tile)
        line.add("reorder", lane, innermost_first(behind), vectors, innermost_first(before), tasks.outermost);
    else
        line.add("reorder", lane, innermost_first(behind), vectors);
    result.lines = {line};
    if (in_tiles && tasks.tile) result.lines.push_back(where(*tasks.tile >= result.vector_factor));
    result.outermost = !in_tiles || tasks.tile ? tasks.outermost : place == 0 ? vectors : loops.front().name;
    for (std::size_t depth = in_tiles ? 1 : tasks.behind; depth <= loops.size(); ++depth)
        result.attach_at[depth] = depth == place + 1                   ? vectors
                                  : depth == tasks.behind && !in_tiles ? tasks.rows
                                                                       : loops[depth - 1].name;
    return result;
}

/// Whether a stage may run in the loops of a root whose vectors go across its rows. Not a sum with lanes, which run in
/// the loops of one result; nothing that is larger than the root, whose own rows lie in memory then; no sum of more
/// than `most_terms`, of which each vector reads as many rows.
bool may_run_across(const dsl::StageInfo& stage, const dsl::StageInfo& root, double most_terms) {
    const double elements = iterations_of(root.pure.loops);
    return stage.part != StagePart::lanes && iterations_of(stage.pure.loops) <= elements &&
           std::ranges::all_of(stage.updates, [&](const dsl::DefinitionInfo& update) {
               return iterations_of(update.loops) <= most_terms * elements;
           });
}

} // namespace

bool knows_row(const dsl::StageInfo& root, std::size_t place, const dsl::AlgorithmInfo& info) {
    const auto& loops = root.pure.loops;
    // Of an array that is no result, lowering has no better bounds than its readers'.
    if (!root.output || place + 2 != loops.size()) return false;
    const auto constant = constant_size(loops.back().extent);
    return is_short_size(loops.back(), info) || (constant && *constant > 1 && *constant <= kShortRow);
}

std::size_t vector_place(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info,
                         const Machine& machine, double chain_ops) {
    const auto& loops = root.pure.loops;
    const std::size_t last = loops.size() - 1;
    const std::int64_t row = extent_of(loops[last], 1 << 20);
    if (row >= kShortRow || root.part != StagePart::whole || !root.updates.empty() || root.scans) return last;
    // A column that is written into an array, from columns mostly: each vector would be put together and taken apart.
    if (row == 1 && root.guarded) return last;
    const int wanted = wanted_lanes(root, graph, machine, chain_ops);
    std::int64_t step = std::max<std::int64_t>(1, row);
    std::size_t place = last;
    while (place-- > 0 && step <= kLongestStep) {
        const std::int64_t extent = extent_of(loops[place], 1);
        if (extent >= wanted) break;
        step *= std::max<std::int64_t>(1, extent);
    }
    if (row >= wanted || place >= last || step > kLongestStep) return last;
    // Vectors along the row would have fewer than two elements each.
    const std::int64_t along = fitting_lanes(wanted, loops[last], Widths::of_call);
    const bool sparse = 2 * ((row + along - 1) / along) > row;
    const double most_terms = sparse ? std::numeric_limits<double>::infinity() : kManyTerms;
    const auto may = [&](const dsl::StageInfo* stage) { return may_run_across(*stage, root, most_terms); };
    if (!std::ranges::all_of(stages_behind(root, graph), may)) return last;
    // With gaps that only the call knows, elements are loaded and stored one by one, which costs cheap arithmetic more
    // than vectors that are half empty.
    return sparse || chain_ops >= kLongChainOps || knows_row(root, place, info) ? place : last;
}

int default_lanes(const dsl::StageInfo& stage, const StageGraph& graph, const Machine& machine) {
    int lanes = 0;
    auto take = [&](const std::vector<std::string>& dtypes) {
        for (const std::string& dtype : dtypes) {
            // Narrower values ride along: a bool beside float64 must not make vectors of 64.
            if (const DTypeInfo* known = find_dtype(dtype); known != nullptr && known->is_narrow()) continue;
            lanes = std::max(lanes, machine.lanes(dtype));
        }
    };
    take(stage.dtypes);
    for (const dsl::ReadInfo& read : stage.reads)
        if (const dsl::StageInfo* from = graph.find(read.from)) take(from->dtypes);
    return lanes ? lanes : std::max(1, machine.vector_bytes() / 4);
}

int fitting_lanes(int lanes, const dsl::LoopInfo& axis, Widths widths) {
    while (widths == Widths::of_call && lanes > 2 && lanes > extent_of(axis, lanes))
        lanes /= 2;
    return lanes;
}

std::int64_t least_task(const dsl::StageInfo& root, const dsl::AlgorithmInfo& info, const Machine& machine,
                        double element_ops) {
    const bool some_run_alone = std::any_of(info.stages.begin(), info.stages.end(), [&](const dsl::StageInfo& stage) {
        const double elements = iterations_of(stage.pure.loops);
        return stage.output && stage.guarded && stage.kernel != root.kernel && elements >= kFewElements &&
               elements * (1 + stage.operations) <= kParallelOps;
    });
    if (!some_run_alone || root.in_parallel || root.repeats <= 1) return 0;
    std::set<std::string> stages, arrays{root.name};
    for (const dsl::StageInfo& stage : info.stages)
        if (stage.kernel == root.kernel) stages.insert(stage.name);
    for (const dsl::StageInfo& stage : info.stages) {
        if (stage.kernel != root.kernel) continue;
        for (const dsl::ReadInfo& read : stage.reads)
            if (!read.broadcast && stages.count(read.from) == 0) arrays.insert(read.from);
    }
    const double bytes = 8.0 * static_cast<double>(arrays.size());
    if (element_ops > kOpsPerByte * bytes) return 0;
    const auto cached = static_cast<std::int64_t>(static_cast<double>(machine.l2_bytes) / bytes);
    return iterations_of(root.pure.loops) <= static_cast<double>(cached) ? cached : 0;
}

std::string grouped_axis(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info) {
    const auto& loops = root.pure.loops;
    // Under guarded tails a group is not always whole, so that its sums would lie in memory.
    if (loops.size() < 2 || !root.updates.empty() || root.guarded) return "";
    const dsl::StageInfo* sum = nullptr;
    for (const dsl::StageInfo& stage : info.stages) {
        if (&stage == &root || stage.kernel != root.kernel || stage.updates.empty()) continue;
        if (sum != nullptr) return "";
        sum = &stage;
    }
    if (sum == nullptr || sum->part != StagePart::whole || sum->updates.size() != 1 || sum->operations >= kLongChainOps)
        return "";
    // Terms that are separate stages have loops, and work enough.
    const auto is_stage = [&](const dsl::ReadInfo& read) { return graph.find(read.from) != nullptr; };
    if (std::any_of(sum->reads.begin(), sum->reads.end(), is_stage)) return "";
    const auto& uses = graph.uses(sum->name);
    if (uses.size() != 1 || uses.front().reader != &root) return "";
    const auto& follows = uses.front().read->axes;
    const auto followed = [&](const dsl::LoopInfo& loop) {
        return std::find(follows.begin(), follows.end(), loop.name) != follows.end();
    };
    if (!followed(loops.back()) || extent_of(loops.back(), 1024) < 2) return "";
    for (auto loop = loops.rbegin() + 1; loop != loops.rend(); ++loop) {
        if (loop->extent == "1") continue;
        return followed(*loop) && extent_of(*loop, 1024) >= 2 ? loop->name : "";
    }
    return "";
}

RootLoops root_rule(const dsl::StageInfo& root, const StageGraph& graph, const Machine& machine, double element_ops,
                    double chain_ops, Widths widths, std::size_t vector_place, const std::string& grouped_axis,
                    std::int64_t least_task, std::int64_t streamed_tile) {
    RootLoops result = RootLoops::of(root);
    const auto& loops = root.pure.loops;
    if (loops.empty()) return result;
    const double elements = iterations_of(loops);
    const double work = elements * std::max(1.0, element_ops);
    if (root.scans && !root.in_parallel) {
        if (const auto scan = scan_rule(root, graph, machine, work)) return *scan;
    }
    const bool parallel = machine.cores > 1 && work > kParallelOps && !root.in_parallel;
    if (vector_place + 1 < loops.size())
        return across_rows(root, graph, machine, vector_place, parallel, element_ops, chain_ops, least_task);
    const std::string& name = root.name;
    const std::string& inner = loops.back().name;
    const std::int64_t inner_extent = extent_of(loops.back(), 1 << 20);
    // The tree over lanes reads lanes one by one: its own axis has nothing to gain from vectors.
    const bool vectorize = root.part != StagePart::block && inner_extent > 1;
    const int wanted = wanted_lanes(root, graph, machine, chain_ops);
    const int lanes = fitting_lanes(wanted, loops.back(), Widths::of_call);
    // Guarded, a narrow vector asks for no more elements than a wide one, and serves every size. One that fills a
    // register is worth a version of its own: with a guard, rows of nine take three times as long.
    const bool is_narrow = lanes < (loops.size() == 1 ? wanted : std::min(wanted, default_lanes(root, graph, machine)));
    const bool guarded = widths == Widths::of_machine && is_narrow;
    Line line = line_of(name);

    const auto split = [&](const std::string& loop, const std::string& outer, const std::string& tag,
                           const Factor& factor, bool is_guarded) {
        const std::vector<std::string> tail(is_guarded ? 1 : 0, "guard_with_if");
        line.add("split", loop, outer, tag, factor, tail);
    };
    const auto vector_split = [&](const std::string& loop) {
        result.vector_axis = inner;
        result.vector_lanes = lanes;
        result.vector_factor = hole(name + "_vec", lanes, {lanes / 2, lanes * 2, lanes * 4, lanes * 8}, 2,
                                    std::max<std::int64_t>(inner_extent, lanes));
        split(loop, inner + "v", inner + "x", result.vector_factor, guarded);
        line.add("vectorize", inner + "x");
    };

    if (loops.size() == 1) {
        std::string tile_loop = inner;
        Factor tiles;
        const std::int64_t whole = power_of_two_below(elements);
        // A tile of less than one vector: Halide may fail to lower that, and it would be slower than no tiles.
        if (streamed_tile > 0) {
            tiles = hole(name + "_tile", streamed_tile, {128, 256, 512, 1024, 2048, 4096}, lanes, inner_extent);
            split(inner, inner + "o", inner + "i", tiles, false);
            if (parallel) line.add("parallel", inner + "o");
            tile_loop = inner + "i";
            result.outermost = result.streams = inner + "o";
        } else if (parallel && (!vectorize || whole >= wanted)) {
            std::int64_t tile = std::max<std::int64_t>(
                task_elements(elements, element_ops, machine, root.part == StagePart::block), vectorize ? lanes : 1);
            tile = std::min(tile, whole);
            const std::int64_t first = std::max(tile, power_of_two_below(static_cast<double>(least_task)));
            tiles = hole(name + "_tile", first, {tile / 16, tile / 4, tile / 2, tile, tile * 2, tile * 4, tile * 16},
                         vectorize ? lanes : 1, power_of_two_below(elements / machine.cores));
            split(inner, inner + "o", inner + "i", tiles, first > whole);
            line.add("parallel", inner + "o");
            tile_loop = inner + "i";
            result.outermost = inner + "o";
            result.task_rows = first;
            result.all_rows = inner_extent;
        }
        if (vectorize) {
            vector_split(tile_loop);
            if (tile_loop != inner) result.lines.push_back(where(tiles >= result.vector_factor));
            result.attach_at[1] = inner + "v";
        } else {
            result.attach_at[1] = tile_loop;
        }
        if (result.outermost.empty()) result.outermost = result.attach_at[1];
    } else {
        const RowTasks tasks =
            share_out(root, 0, loops.size() - 1, machine, parallel, 1, element_ops, least_task, &line);
        const std::string& row_loop = tasks.rows;
        const std::size_t fused = tasks.behind;
        result.outermost = tasks.outermost;
        result.task_rows = tasks.task_rows;
        result.all_rows = tasks.all_rows;
        for (std::size_t axis = fused; axis < loops.size(); ++axis)
            result.attach_at[axis] = axis == fused ? row_loop : loops[axis - 1].name;
        const auto grouped = std::find_if(loops.begin(), loops.end(),
                                          [&](const dsl::LoopInfo& loop) { return loop.name == grouped_axis; });
        const auto place = static_cast<std::size_t>(grouped - loops.begin());
        if (vectorize && grouped != loops.end() && (place >= fused || fused == 1)) {
            // An axis that is fused with another one has no separate loop.
            const std::string of = place == 0 ? row_loop : grouped_axis;
            const std::string group = grouped_axis + "u";
            const std::int64_t most = std::min(kGroup, extent_of(*grouped, 1024));
            result.group_factor =
                hole(name + "_group", most, {1, 2, 3, 4, 6, 8, 12}, 1, std::max(most, extent_of(*grouped, 1024)));
            line.add("split", of, grouped_axis + "g", group, result.group_factor);
            vector_split(inner);
            line.add("reorder", inner + "x", group, inner + "v", grouped_axis + "g");
            result.lines.push_back(where(result.group_factor * result.vector_factor <= number(kGroupVectors * lanes)));
            result.grouped_axis = grouped_axis;
            // Nothing but the vectors has a loop in which one row alone is fixed.
            for (std::size_t axis = place + 1; axis < loops.size(); ++axis)
                result.attach_at[axis] = "";
            result.attach_at[loops.size()] = inner + "v";
            if (result.outermost == grouped_axis) result.outermost = grouped_axis + "g";
        } else if (vectorize) {
            vector_split(inner);
            result.attach_at[loops.size()] = inner + "v";
        } else {
            result.attach_at[loops.size()] = inner;
        }
    }
    if (!line.empty()) result.lines.insert(result.lines.begin(), line);
    return result;
}

} // namespace tilewright::autotune
