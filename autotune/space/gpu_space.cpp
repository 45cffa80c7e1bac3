// autotune/space/gpu_space.cpp: the default space of a CUDA target. Stages are placed from the results backwards:
// inside expressions, in the registers of the thread that reads them, in the shared memory of a block, or in kernels of
// their own.
#include "autotune/space/gpu_space.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "autotune/space/gpu_nest.h"
#include "autotune/space/loop_rule.h"
#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"
#include "autotune/space/statements.h"

namespace tilewright::autotune {
namespace {

using dsl::StagePart;

// Operations that several readers may compute again: a value's way to memory and back takes as long as some hundred.
constexpr int kRepeatedOps = 150;
// Rows up to this long are one thread's.
constexpr std::int64_t kShortRow = 32;
// Blocks of a reduction that one GPU block reduces further, without a kernel in between.
constexpr std::int64_t kBlocksInBlock = 64;
// Threads of a block that reduces.
constexpr std::int64_t kThreads = 256;
// The same where only one block is left.
constexpr std::int64_t kThreadsOfLast = 1024;
/// Up to so many threads of a kernel hide no loads of each other.
constexpr std::int64_t kFewThreads = 16384;
// Iterations of a loop between two looks at who is alive.
constexpr std::int64_t kChunk = 20;
// What every device that a target names has for a block.
constexpr std::int64_t kSharedBytes = 96 * 1024;

class GpuSpace {
  public:
    GpuSpace(const dsl::AlgorithmInfo& info, const Machine& machine) : info_(info), machine_(machine), graph_(info) {}

    dsl::Schedule build() {
        for (auto stage = info_.stages.rbegin(); stage != info_.stages.rend(); ++stage)
            place(*stage);
        std::vector<Line> lines;
        for (const std::string& name : order_) {
            const dsl::StageInfo& stage = *graph_.find(name);
            if (const auto nest = nests_.find(name); nest != nests_.end()) {
                if (!nest->second.cooperative && !is_uneven(stage)) offer_items(nest->second, stage, cost_of(stage));
                if (!stage.output) lines.push_back(line_of(name).add("compute_root"));
                lines.insert(lines.end(), nest->second.lines.begin(), nest->second.lines.end());
            }
            lines.insert(lines.end(), lines_[name].begin(), lines_[name].end());
        }
        return space_of(info_, machine_, lines);
    }

  private:
    using Rule = bool (GpuSpace::*)(const dsl::StageInfo&);

    /// The first rule that fits a stage decides its place; what no rule takes gets a separate kernel.
    void place(const dsl::StageInfo& stage) {
        order_.push_back(stage.name);
        static constexpr Rule kRules[] = {
            &GpuSpace::place_result,    &GpuSpace::place_loop,     &GpuSpace::place_accumulator,
            &GpuSpace::place_inlined,   &GpuSpace::place_rows,     &GpuSpace::place_in_reduction,
            &GpuSpace::place_in_thread, &GpuSpace::place_tree_end, &GpuSpace::place_in_block};
        for (const Rule rule : kRules)
            if ((this->*rule)(stage)) return;
        place_root(stage);
    }

    bool place_result(const dsl::StageInfo& stage) {
        if (!stage.output && !graph_.uses(stage.name).empty()) return false;
        place_root(stage);
        return true;
    }

    /// A loop inside its elements runs in the registers of one thread an element.
    bool place_loop(const dsl::StageInfo& stage) {
        if (stage.part != StagePart::loop) return false;
        const auto& uses = graph_.uses(stage.name);
        const dsl::StageInfo& host = *uses.front().reader;
        if (stage.pure.loops.empty() || nests_.count(host.name) == 0 || hosted_loop(host, graph_, info_) != &stage) {
            place_root(stage);
            return true;
        }
        attach(stage, graph_.follow(stage, plans_), host.name, nests_.at(host.name).thread);
        lines_[stage.name] = {at_of(stage), chunked(stage, 0)};
        return true;
    }

    /// What a thread adds up before its block sees it lies in registers.
    bool place_accumulator(const dsl::StageInfo& stage) {
        const auto& uses = graph_.uses(stage.name);
        if (stage.updates.empty() || uses.size() != 1) return false;
        const dsl::StageInfo& reader = *uses.front().reader;
        const auto loops = in_block_.find(reader.name);
        if (loops == in_block_.end() || loops->second.inner.empty() || !reader.updates.empty()) return false;
        const std::vector<std::string>& axes = uses.front().read->axes;
        if (axes.size() != stage.pure.loops.size() || axes != names_of(reader.pure.loops)) return false;
        attach(stage, graph_.follow(stage, plans_), reader.name, loops->second.inner);
        in_thread_.insert(stage.name);
        thread_lines(stage);
        return true;
    }

    /// The result of a tree for a row, which each thread of the only stage that reads it works out by itself: a few
    /// values from shared memory, and no barrier.
    bool place_tree_end(const dsl::StageInfo& stage) {
        const auto& uses = graph_.uses(stage.name);
        if (stage.part != StagePart::block || uses.size() != 1 || !reads_shared_part(stage)) return false;
        const dsl::StageInfo& reader = *uses.front().reader;
        if (!reader.updates.empty() || is_shared_part(reader)) return false;
        const StagePlan plan = graph_.follow(stage, plans_);
        if (plan.root == nullptr || plan.in_update || nests_.count(plan.root->name) == 0) return false;
        const GpuNest& nest = nests_.at(plan.root->name);
        if (is_row_root_.count(plan.root->name) == 0) return false;
        for (const dsl::LoopInfo& loop : stage.pure.loops) {
            const auto axis = plan.to_root.find(loop.name);
            if (axis == plan.to_root.end() || axis->second == nest.shared_axis) return false;
        }
        std::string loop;
        if (&reader == plan.root)
            loop = nest.thread;
        else if (const auto found = in_block_.find(reader.name); found != in_block_.end())
            loop = found->second.thread;
        if (loop.empty()) return false;
        attach(stage, plan, reader.name, loop);
        // Where the reader is computed again by its own readers, the value is the block's.
        if (const auto choice = repeated_.find(reader.name); choice != repeated_.end())
            lines_[reader.name] = {choose(
                {{choice->second, at_of(stage)},
                 {line_of(reader.name).add("inline"),
                  line_of(stage.name).add("compute_at", plan.root->name, nest.block).add("store_in", "gpu_shared")}})};
        else
            lines_[stage.name].push_back(at_of(stage));
        return true;
    }

    bool place_inlined(const dsl::StageInfo& stage) {
        if (!stage.inlinable || stage.part == StagePart::lanes || stage.part == StagePart::fold ||
            stage.part == StagePart::end)
            return false;
        const auto& uses = graph_.uses(stage.name);
        const StagePlan plan = graph_.follow(stage, plans_);
        if (stage.part == StagePart::block) {
            // The only reader reduces no further and has the same elements: it is where the block ends.
            const bool ends = uses.size() == 1 && reads_tree(*uses.front().reader) && is_tree_end(*uses.front().reader);
            if (!ends && !is_read_once(stage)) return false;
        } else if (!inline_by_default(stage) || plan.most_copies() > kMostCopies) {
            return false;
        }
        plans_[stage.name] = plan;
        plans_[stage.name].placement = Placement::inlined;
        return true;
    }

    /// A few blocks in one block, each read by one lane of the next level.
    bool is_read_once(const dsl::StageInfo& stage) const {
        const auto& uses = graph_.uses(stage.name);
        return blocks_of(stage) <= kBlocksInBlock && !uses.empty() &&
               std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
                   return use.reader == uses.front().reader && use.reader->part == StagePart::lane &&
                          plans_.at(use.reader->name).placement == Placement::attached;
               });
    }

    bool inline_by_default(const dsl::StageInfo& stage) const {
        if (reads_tree(stage)) return false;
        if (stage.operations <= kCheapOps) return true;
        const auto& uses = graph_.uses(stage.name);
        for (const Use& use : uses) {
            if (use.read->broadcast) return false; // again for each step of a loop of its reader
            if (use.reader->part == StagePart::loop || use.reader->part == StagePart::lanes) {
                if (uses.size() > 1) return false;
            }
        }
        return uses.size() == 1 || static_cast<int>(uses.size()) * stage.operations <= kRepeatedOps;
    }

    /// Blocks of rows are what many threads can share out.
    bool place_rows(const dsl::StageInfo& stage) {
        if (stage.part != StagePart::rows || extent_of(stage.pure.loops.front(), 2) <= 1) return false;
        place_root(stage);
        return true;
    }

    /// In the loop of a thread's reduction that reads it, element by element.
    bool place_in_reduction(const dsl::StageInfo& stage) {
        if (is_shared_part(stage)) return false;
        std::string loop;
        const dsl::StageInfo* reducer = graph_.reducing_reader(stage, plans_, &loop);
        if (reducer == nullptr || !is_in_thread(*reducer) || split_loops_.count({reducer->name, loop}) != 0)
            return false;
        const StagePlan plan = graph_.follow(stage, plans_);
        if (plan.root == nullptr) return false;
        const Use& use = graph_.uses(stage.name).front();
        for (std::size_t axis = 0; axis < stage.pure.loops.size(); ++axis) {
            const std::string& own = stage.pure.loops[axis].name;
            const bool moves = axis < use.read->axes.size() && use.read->axes[axis] == loop;
            if (plan.to_root.count(own) == 0 && !moves && stage.pure.loops[axis].extent != "1") return false;
        }
        attach(stage, plan, reducer->name, loop);
        thread_lines(stage);
        return true;
    }

    /// In the registers of the thread whose elements it follows.
    bool place_in_thread(const dsl::StageInfo& stage) {
        if (is_shared_part(stage)) return false;
        const StagePlan plan = graph_.follow(stage, plans_);
        if (plan.root == nullptr || nests_.count(plan.root->name) == 0) return false;
        const GpuNest& nest = nests_.at(plan.root->name);
        if (nest.cooperative || nest.thread.empty()) return false;
        if (plan.in_update && plan.root->updates.size() != 1) return false;
        if (!plan.follows(nest.axes) || !is_one_element(stage, plan)) return false;
        attach(stage, plan, plan.root->name, nest.thread);
        thread_lines(stage);
        return true;
    }

    /// In shared memory, where a block needs all of it and no other block any.
    bool place_in_block(const dsl::StageInfo& stage) {
        const StagePlan plan = graph_.follow(stage, plans_);
        if (plan.root == nullptr || nests_.count(plan.root->name) == 0) return false;
        GpuNest& nest = nests_.at(plan.root->name);
        if (!nest.cooperative || plan.in_update) return false;
        const bool is_row = is_row_root_.count(plan.root->name) != 0;
        for (const std::string& axis : nest.axes)
            if (!(is_row && axis == nest.shared_axis) && !plan.follows({axis})) return false;
        // A single long sum would be one thread's.
        const bool single = std::all_of(stage.pure.loops.begin(), stage.pure.loops.end(), [&](const auto& loop) {
            const auto axis = plan.to_root.find(loop.name);
            return axis != plan.to_root.end() && axis->second != nest.shared_axis;
        });
        if (single && !stage.updates.empty() && reduced_elements(stage) > kShortRow) return false;
        if (stage.part == StagePart::block && blocks_of(stage) > kBlocksInBlock) return false;
        const std::int64_t bytes = block_bytes(stage, plan, nest, is_row);
        std::int64_t& taken = shared_[plan.root->name];
        if (taken + bytes > std::min(kSharedBytes, machine_.device->shared_bytes_per_block / 2)) return false;
        taken += bytes;
        attach(stage, plan, plan.root->name, nest.block);
        std::vector<std::string> fixed;
        for (const auto& [own, axis] : plan.to_root)
            if (axis != nest.shared_axis) fixed.push_back(own);
        const bool in_lanes = is_row && stage.part == StagePart::whole;
        BlockLines body = in_block_lines(stage, fixed, at_of(stage), nest.threads,
                                         in_lanes ? lane_map(stage, *plan.root) : LaneMap{});
        // A row of values may also be computed again by each reader; not what says how many threads a block has.
        const bool says_threads = body.counts_threads && !nest.counts_threads;
        nest.counts_threads = nest.counts_threads || body.counts_threads;
        auto& lines = lines_[stage.name];
        const bool may_repeat = stage.inlinable && stage.part == StagePart::whole && !reads_shared_part(stage) &&
                                body.lines.size() == 1 && !says_threads;
        if (may_repeat) {
            repeated_[stage.name] = body.lines.front();
            lines.push_back(choose({{body.lines.front()}, {line_of(stage.name).add("inline")}}));
        } else {
            lines = body.lines;
        }
        in_block_[stage.name] = std::move(body);
        for (std::size_t update = 0; stage.part == StagePart::whole && update < stage.updates.size(); ++update)
            if (short_reduction(stage.updates[update], 16).empty()) offer_unrolling(stage, update);
        return true;
    }

    void place_root(const dsl::StageInfo& stage) {
        plans_[stage.name] = StagePlan::own_root(stage);
        nests_[stage.name] = nest_of(stage);
        for (std::size_t update = 0; update < stage.updates.size(); ++update) {
            if (stage.part == StagePart::loop)
                lines_[stage.name].push_back(chunked(stage, update));
            else
                offer_unrolling(stage, update);
        }
    }

    GpuNest nest_of(const dsl::StageInfo& stage) {
        if (stage.updates.empty() && stage.pure.loops.empty() && reads_tree(stage))
            return single_nest(stage, kThreadsOfLast);
        if (stage.updates.empty() && !stage.pure.loops.empty() && !stage.guarded) {
            if (const dsl::StageInfo* tree = row_tree(stage); tree != nullptr) {
                is_row_root_.insert(stage.name);
                return row_nest(stage, lane_map(stage, stage));
            }
            if (reads_shared_part(stage) || (reads_tree(stage) && is_tree_end(stage))) return tree_of(stage);
        }
        return element_nest(stage, is_uneven(stage));
    }

    /// Whether some elements take longer than others.
    bool is_uneven(const dsl::StageInfo& stage) const {
        return stage.part == StagePart::loop || hosted_loop(stage, graph_, info_) != nullptr;
    }

    /// Rows of a block: as many as its threads have lanes for; one where a row is several blocks of lanes.
    GpuNest tree_of(const dsl::StageInfo& stage) {
        std::int64_t lanes = 64, inner = 1;
        std::set<std::string> seen;
        const std::function<void(const dsl::StageInfo&)> look = [&](const dsl::StageInfo& from) {
            for (const dsl::ReadInfo& read : from.reads) {
                const dsl::StageInfo* part = graph_.find(read.from);
                if (part == nullptr || !seen.insert(part->name).second) continue;
                if (part->part == StagePart::lanes) lanes = extent_of(part->pure.loops.back(), 64);
                if (part->part == StagePart::block && part->pure.loops.size() > stage.pure.loops.size() &&
                    blocks_of(*part) <= kBlocksInBlock)
                    inner = std::max(inner, blocks_of(*part));
                if (is_shared_part(*part) || part->part == StagePart::lane) look(*part);
            }
        };
        look(stage);
        const std::int64_t here = extent_of(stage.pure.loops.back(), 1024);
        std::int64_t rows = inner > 1 ? 1 : std::clamp<std::int64_t>(kThreads / lanes, 1, 16);
        while (rows > 1 && rows / 2 >= here)
            rows /= 2;
        std::int64_t threads = 64;
        while (threads < kThreads && threads < rows * inner * lanes)
            threads *= 2;
        return tree_nest(stage, rows, threads);
    }

    // --- what stages are ---------------------------------------------------------------------------------------------

    static bool is_shared_part(const dsl::StageInfo& stage) {
        return stage.part == StagePart::lanes || stage.part == StagePart::fold || stage.part == StagePart::block;
    }
    /// Reads lanes, whole or folded.
    bool reads_shared_part(const dsl::StageInfo& stage) const {
        return graph_.reads(stage, [](const dsl::StageInfo& from) {
            return from.part == StagePart::lanes || from.part == StagePart::fold;
        });
    }
    bool reads_tree(const dsl::StageInfo& stage) const { return graph_.reads(stage, is_shared_part); }

    /// Whether a stage has the elements of the trees that it reads, each read at its own.
    bool is_tree_end(const dsl::StageInfo& stage) const {
        if (!stage.updates.empty()) return false;
        return std::all_of(stage.reads.begin(), stage.reads.end(), [&](const dsl::ReadInfo& read) {
            const dsl::StageInfo* from = graph_.find(read.from);
            return from == nullptr || from->part != StagePart::block || read.axes == names_of(stage.pure.loops);
        });
    }

    /// The tree over the rows of `stage`, among what it is computed from: one of its values for each row.
    const dsl::StageInfo* row_tree(const dsl::StageInfo& stage) const {
        if (stage.pure.loops.size() < 2 || extent_of(stage.pure.loops.back(), 1024) <= kShortRow) return nullptr;
        std::set<std::string> seen;
        const dsl::StageInfo* found = nullptr;
        const std::function<void(const dsl::StageInfo&)> look = [&](const dsl::StageInfo& reader) {
            for (const dsl::ReadInfo& read : reader.reads) {
                const dsl::StageInfo* from = graph_.find(read.from);
                if (from == nullptr || from->kernel != stage.kernel || !seen.insert(from->name).second) continue;
                if (from->part == StagePart::block && from->pure.loops.size() + 1 == stage.pure.loops.size() &&
                    from->pure.loops.back().name != "b" &&
                    std::equal(from->pure.loops.begin(), from->pure.loops.end(), stage.pure.loops.begin(),
                               [](const dsl::LoopInfo& a, const dsl::LoopInfo& b) { return a.extent == b.extent; }))
                    found = from;
                look(*from);
            }
        };
        look(stage);
        return found;
    }

    /// How the rows of `root` lie in the lanes of the trees that they go through, where these are several blocks; other
    /// stages of such rows are laid out alike.
    LaneMap lane_map(const dsl::StageInfo& stage, const dsl::StageInfo& root) const {
        if (stage.pure.loops.empty() || stage.pure.loops.back().extent != root.pure.loops.back().extent) return {};
        for (const dsl::StageInfo& lane : info_.stages) {
            if (lane.part != StagePart::lane || lane.kernel != root.kernel || lane.pure.loops.size() < 2 ||
                lane.updates.empty())
                continue;
            const auto& loops = lane.pure.loops;
            if (loops[loops.size() - 2].name != "b" || loops.size() != root.pure.loops.size() + 1) continue;
            const LaneMap map = {extent_of(loops.back(), 0), extent_of(lane.updates.front().loops.back(), 0)};
            if (map.lanes > 0 && map.per_lane > 0 && map.per_lane <= 16) return map;
        }
        return {};
    }

    /// What an element of a root costs, with the stages that are computed for it.
    ElementCost cost_of(const dsl::StageInfo& root) const {
        ElementCost cost;
        cost.bytes = static_cast<int>(bytes_of(root));
        cost.hosts = hosts_.count(root.name) != 0;
        std::set<std::pair<std::string, std::int64_t>> lengths;
        for (const dsl::StageInfo& stage : info_.stages) {
            const StagePlan& plan = plans_.at(stage.name);
            if (plan.root != &root) continue;
            cost.operations += times(stage) * std::max(1, stage.operations);
            cost.repeated = cost.repeated || !stage.updates.empty();
            for (const dsl::DefinitionInfo& update : stage.updates) {
                for (const dsl::LoopInfo& loop : update.loops) {
                    if (!loop.reduced || !is_short_size(loop, info_)) continue;
                    if (!lengths.emplace(loop.extent, loop.extent_here).second) continue;
                    const Factor length = size(loop.extent) == number(loop.extent_here);
                    cost.lengths = cost.lengths ? *cost.lengths && length : length;
                }
            }
        }
        return cost;
    }
    /// How often a stage is computed for an element of its root, with the terms that it adds up.
    double times(const dsl::StageInfo& stage) const {
        double count = reduced_elements(stage);
        for (std::string name = stage.name; plans_.at(name).placement == Placement::attached;) {
            const StagePlan& plan = plans_.at(name);
            const dsl::StageInfo* host = graph_.find(plan.attach_stage);
            const bool in_update = std::any_of(host->updates.begin(), host->updates.end(), [&](const auto& update) {
                return std::any_of(update.loops.begin(), update.loops.end(), [&](const dsl::LoopInfo& loop) {
                    return loop.reduced && loop.name == plan.attach_loop;
                });
            });
            if (in_update) count *= reduced_elements(*host);
            name = host->name;
        }
        return count;
    }

    std::int64_t blocks_of(const dsl::StageInfo& tree) const {
        const auto& loops = tree.pure.loops;
        return loops.empty() || loops.back().name != "b" ? 1 : extent_of(loops.back(), 1024);
    }

    static double reduced_elements(const dsl::StageInfo& stage) {
        double most = 1;
        for (const dsl::DefinitionInfo& update : stage.updates) {
            double elements = 1;
            for (const dsl::LoopInfo& loop : update.loops)
                if (loop.reduced) elements *= static_cast<double>(extent_of(loop, 1024));
            most = std::max(most, elements);
        }
        return most;
    }

    /// Whether a stage lives in one thread, so that others may be computed inside of its reductions.
    bool is_in_thread(const dsl::StageInfo& stage) const {
        const StagePlan& plan = plans_.at(stage.name);
        if (plan.placement == Placement::root) return !nests_.at(stage.name).cooperative;
        return plan.placement == Placement::attached && in_thread_.count(stage.name) != 0;
    }

    static bool is_one_element(const dsl::StageInfo& stage, const StagePlan& plan) {
        return std::all_of(stage.pure.loops.begin(), stage.pure.loops.end(), [&](const dsl::LoopInfo& loop) {
            return plan.to_root.count(loop.name) != 0 || loop.extent == "1";
        });
    }

    std::int64_t bytes_of(const dsl::StageInfo& stage) const {
        std::int64_t bytes = 0;
        for (const std::string& dtype : stage.dtypes)
            bytes += machine_.vector_bytes() / std::max(1, machine_.lanes(dtype));
        return std::max<std::int64_t>(1, bytes);
    }

    /// What a stage takes of the shared memory of a block at the sizes here.
    std::int64_t block_bytes(const dsl::StageInfo& stage, const StagePlan& plan, const GpuNest& nest,
                             bool is_row) const {
        double elements = 1;
        for (const dsl::LoopInfo& loop : stage.pure.loops) {
            const auto follows = plan.to_root.find(loop.name);
            if (follows == plan.to_root.end())
                elements *= static_cast<double>(extent_of(loop, 1024));
            else if (follows->second == nest.shared_axis)
                elements *= is_row ? static_cast<double>(extent_of(loop, 1024)) : 4.0;
        }
        return static_cast<std::int64_t>(std::min(1e15, elements * static_cast<double>(bytes_of(stage))));
    }

    void attach(const dsl::StageInfo& stage, StagePlan plan, const std::string& to, const std::string& loop) {
        plan.attach(to, loop);
        plans_[stage.name] = plan;
        hosts_.insert(to);
        hosts_.insert(plan.root->name);
        if (!nests_.at(plan.root->name).cooperative || in_thread_.count(to) != 0) in_thread_.insert(stage.name);
    }

    Line at_of(const dsl::StageInfo& stage) const {
        const StagePlan& plan = plans_.at(stage.name);
        return line_of(stage.name).add("compute_at", plan.attach_stage, plan.attach_loop);
    }

    void thread_lines(const dsl::StageInfo& stage) {
        auto& lines = lines_[stage.name];
        // A value of a thread may also be computed again where it is read.
        if (stage.inlinable && !reads_tree(stage))
            lines.push_back(choose({{at_of(stage)}, {line_of(stage.name).add("inline")}}));
        else
            lines.push_back(at_of(stage));
        for (std::size_t update = 0; update < stage.updates.size(); ++update)
            offer_unrolling(stage, update);
    }

    /// Whether a stage is the last of several levels of lanes: most of its lanes have nothing to add.
    bool adds_blocks(const dsl::StageInfo& stage) const {
        return stage.part == StagePart::lane &&
               graph_.reads(stage, [](const dsl::StageInfo& from) { return from.part == StagePart::block; });
    }

    void offer_unrolling(const dsl::StageInfo& stage, std::size_t update) {
        const dsl::DefinitionInfo& definition = stage.updates[update];
        if (definition.loops.empty() || !definition.loops.back().reduced) return;
        const dsl::LoopInfo& loop = definition.loops.back();
        Line line = line_of(stage.name, static_cast<int>(update));
        const auto read_ahead = [&](const std::vector<std::int64_t>& values) {
            const std::string& r = loop.name;
            line.add("split", r, r + "o", r + "i", hole_of(stage.name + "_ahead" + std::to_string(update), values),
                     "guard_with_if")
                .add("unroll", r + "i");
            split_loops_.emplace(stage.name, r);
        };
        if (stage.part == StagePart::rows) {
            // Several loads are under way at once; the order of what is added stays. Four are the fastest of all at 100
            // columns and nearly so at 1,000 and 20,000 (an H200, 80 MB of 1,000 columns: one by one 95 us, by four 33,
            // by eight 42, by sixteen 31; of 100 columns 110, 50, 63, 62). Of few threads each waits for its own alone.
            read_ahead(iterations_of(stage.pure.loops) < kFewThreads ? std::vector<std::int64_t>{16, 4, 8}
                                                                     : std::vector<std::int64_t>{4, 16, 8});
        } else if (const std::string all = short_reduction(definition, 16); !all.empty()) {
            line.add("unroll", all);
        } else if (is_short_size(loop, info_)) {
            line.unroll_where(is_extent(loop, loop.extent_here), loop.name);
        } else if (!loop.extent.empty() && !constant_size(loop.extent) &&
                   loop.extent_here > (adds_blocks(stage) ? 32 : 16)) {
            read_ahead({8, 4, 16});
        }
        if (!line.empty()) lines_[stage.name].push_back(choose({{line}, {}}));
    }

    /// Several iterations between two looks at who is alive.
    Line chunked(const dsl::StageInfo& loop, std::size_t update) {
        Line line = line_of(loop.name, static_cast<int>(update));
        split_loops_.emplace(loop.name, add_chunks(line, loop, kChunk));
        return line;
    }

    const dsl::AlgorithmInfo& info_;
    const Machine& machine_;
    StageGraph graph_;
    std::vector<std::string> order_; ///< names, results first
    std::map<std::string, StagePlan> plans_;
    std::map<std::string, GpuNest> nests_; ///< of stages with separate kernels
    std::map<std::string, std::vector<Line>> lines_;
    std::map<std::string, BlockLines> in_block_; ///< loops of stages in shared memory
    std::map<std::string, Line> repeated_;       ///< of those that may be inlined: their line where they are not
    std::set<std::string> hosts_;                ///< in whose loops something is computed
    std::set<std::pair<std::string, std::string>> split_loops_; ///< (stage, loop), where nothing can be computed
    std::set<std::string> in_thread_;                           ///< attached, and one thread's
    std::set<std::string> is_row_root_;                         ///< cooperative, a row a block
    std::map<std::string, std::int64_t> shared_;                ///< bytes a block, by root
};

} // namespace

dsl::Schedule gpu_space(const dsl::AlgorithmInfo& info, const Machine& machine) {
    return GpuSpace(info, machine).build();
}

} // namespace tilewright::autotune
