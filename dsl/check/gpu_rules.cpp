// dsl/check/gpu_rules.cpp: what a schedule for a CUDA device must obey as a whole: every stage runs in kernels, and
// kernels are blocks of threads as CUDA has them.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/check/device_limits.h"
#include "dsl/model/schedule_model.h"

namespace tilewright::dsl {
namespace {

constexpr int kDimensions = 3;
constexpr std::int64_t kSharedBytes = 99 * 1024; ///< of a block, on every device of compute capability 8 and later
constexpr std::int64_t kMostBlocksInY = 65'535;  ///< of a grid, in the second and third dimension

const char* gpu_verb(Run run) {
    return run == Run::gpu_block ? "gpu_blocks" : run == Run::gpu_lane ? "gpu_lanes" : "gpu_threads";
}

} // namespace

/// The walk over the finished model.
class DeviceRules {
  public:
    explicit DeviceRules(ScheduleModel& model) : model_(model) {}

    void run() {
        for (const std::string& name : model_.order) {
            const StageModel& stage = model_.stages.at(name);
            if (stage.inlined() || !(stage.output || model_.legal_sites(name))) continue;
            const std::size_t before = model_.violations.size();
            const std::vector<Site> sites = model_.sites_of(name);
            for (const DefinitionModel& definition : stage.definitions)
                definition_rules(stage, definition, sites);
            if (model_.violations.size() != before) continue;
            place_rules(stage);
            stages_.emplace_back(&stage, sites);
        }
        if (!model_.violations.empty()) return;
        for (const auto& [stage, sites] : stages_)
            memory_rules(*stage, sites);
        block_rules();
        if (model_.violations.empty() && !model_.guard_tails) shared_rules();
    }

  private:
    ScheduleModel& model_;
    std::vector<std::pair<const StageModel*, std::vector<Site>>> stages_;

    /// A kernel is known by the stage and the definition whose loops over blocks it is made of.
    using Kernel = std::pair<std::string, int>;
    struct Block {
        std::array<std::int64_t, kDimensions> threads = {1, 1, 1}; ///< innermost first: x, y, z
        Position at;
        std::string where;
        bool any = false;
    };
    std::map<Kernel, Block> blocks_;

    /// A loop over threads, and how many others lie inside it at most, those of stages computed there too: its
    /// dimension.
    using LoopKey = std::tuple<std::string, int, std::string>;
    struct ThreadLoop {
        Kernel kernel;
        LoopKey key;
        std::int64_t count;
        Position at;
        std::string where;
    };
    std::vector<ThreadLoop> thread_loops_;
    std::map<LoopKey, int> inside_;

    static std::size_t first_block(const std::vector<Site>& path) {
        std::size_t k = 0;
        while (k < path.size() && path[k].run != Run::gpu_block)
            ++k;
        return k;
    }

    static std::string name_of(const Site& site) {
        return site.loop.empty() ? site.stage : site.stage + "." + site.loop;
    }

    void definition_rules(const StageModel& stage, const DefinitionModel& definition, const std::vector<Site>& sites) {
        const std::vector<Site> path = ScheduleModel::path_of(stage.name, definition, sites);
        if (nest_rules(stage, definition, path, sites.size())) thread_rules(stage, definition, path, sites.size());
        atomic_rules(stage, definition);
        for (const auto& branch : definition.branches)
            definition_rules(stage, *branch, sites);
    }

    /// A load under a condition is a branch, and an atomic update around a branch is one that LLVM aborts on.
    void atomic_rules(const StageModel& stage, const DefinitionModel& definition) {
        if (!definition.atomic) return;
        for (const Loop& loop : definition.nest.loops) {
            if (loop.factor == 0 || loop.tail == Tail::guard_with_if || loop.tail == Tail::automatic ||
                loop.tail == Tail::round_up) {
                continue;
            }
            return model_.refuse(definition.first_at, stage.name, "atomic",
                                 stage.where(definition.update) + "." + loop.name + ": atomic() and " +
                                     tail_name(loop.tail) + " together are not possible on a device.",
                                 "Use guard_with_if.");
        }
    }

    /// How the loops nest. False after a refusal.
    bool nest_rules(const StageModel& stage, const DefinitionModel& definition, const std::vector<Site>& path,
                    std::size_t around) {
        const std::string where = stage.where(definition.update);
        const std::size_t first = first_block(path);
        const auto refuse = [&](std::size_t k, const std::string& what, const std::string& hint) {
            Position at = definition.single_thread ? definition.single_thread_at : definition.first_at;
            const int loop = k >= around && k < path.size() ? definition.nest.find(path[k].loop) : -1;
            if (loop >= 0 && definition.nest.loops[loop].run != Run::serial) at = definition.nest.loops[loop].run_at;
            const std::string verb = loop >= 0 && runs_spread(path[k].run) ? gpu_verb(path[k].run)
                                     : definition.single_thread            ? "gpu_single_thread"
                                                                           : definition.first_verb;
            model_.refuse(at, stage.name, verb, what, hint);
            return false;
        };
        for (std::size_t k = 0; k < std::min(first, path.size()); ++k) {
            if (!runs_spread(path[k].run)) continue;
            return refuse(k,
                          where + ": " + name_of(path[k]) +
                              (path[k].run == Run::vectorized ? " is vectorized" : " runs over threads") +
                              " outside of every loop over blocks.",
                          "Write gpu_blocks on a loop outside it, as gpu_tile(i, io, ii, 128) does.");
        }
        if (first == path.size()) {
            std::string loop;
            for (const int live : definition.nest.order) {
                const Loop& node = definition.nest.loops[live];
                if (!node.ordered && !node.racing) loop = node.name;
            }
            const std::string dot = loop.empty() ? ""
                                                 : where + ".gpu_tile(" + loop + ", " + loop + "o, " + loop +
                                                       "i, 128), or " + where + ".gpu_single_thread()";
            return refuse(
                0, where + ": runs on the host, and a kernel for " + model_.target + " has its arrays on the device.",
                "Write " + (dot.empty() ? where + ".gpu_single_thread()" : dot) +
                    (stage.output ? "." : ", or compute it at a loop of a stage that reads it."));
        }
        if (definition.single_thread) {
            const auto spread = std::find_if(definition.nest.order.begin(), definition.nest.order.end(), [&](int loop) {
                const Run run = definition.nest.loops[loop].run;
                return run == Run::gpu_block || runs_on_threads(run);
            });
            if (spread != definition.nest.order.end() || around > 0) {
                return refuse(path.size(),
                              where + ": gpu_single_thread makes a kernel of one block and one thread, and " +
                                  (spread != definition.nest.order.end()
                                       ? definition.nest.loops[*spread].name + " runs over blocks or threads."
                                       : "this stage is computed inside a loop of " + path.front().stage + "."),
                              "Take one of them away.");
            }
        }
        int blocks = 0;
        int threads = 0;
        std::size_t other = path.size(); // the first loop of another kind inside the blocks
        std::size_t lanes = path.size();
        for (std::size_t k = first; k < path.size(); ++k) {
            const Run run = path[k].run;
            if (run == Run::gpu_block) {
                if (other != path.size()) {
                    return refuse(k,
                                  where + ": the loop over blocks " + name_of(path[k]) + " lies inside " +
                                      name_of(path[other]) + ", which is not a loop over blocks.",
                                  "Loops over blocks are the outermost of a kernel: reorder them, or take it away.");
                }
                if (path[k].stage != path[first].stage) {
                    return refuse(
                        k, where + ": has loops over blocks and is computed inside those of " + path[first].stage + ".",
                        "Use gpu_threads alone, or compute_root().");
                }
                ++blocks;
                continue;
            }
            if (other == path.size()) other = k;
            if (!runs_on_threads(run)) continue;
            if (lanes != path.size()) {
                return refuse(k,
                              where + ": " + name_of(path[k]) + " runs over threads inside the lanes of " +
                                  name_of(path[lanes]) + ".",
                              "Lanes are the innermost threads: reorder them.");
            }
            ++threads;
            if (run == Run::gpu_lane) lanes = k;
        }
        if (blocks > kDimensions || threads > kDimensions) {
            return refuse(path.size() - 1,
                          where + ": " + std::to_string(std::max(blocks, threads)) + " loops over " +
                              (blocks > kDimensions ? "blocks" : "threads") + " inside each other; a kernel has three.",
                          "Fuse some of them first: fuse(inner, outer, fused).");
        }
        return true;
    }

    void thread_rules(const StageModel& stage, const DefinitionModel& definition, const std::vector<Site>& path,
                      std::size_t around) {
        const Site& root = path[first_block(path)];
        const Kernel kernel = {root.stage, root.definition};
        int threads = 0;
        for (std::size_t k = path.size(); k-- > 0;) {
            if (!runs_on_threads(path[k].run)) continue;
            const LoopKey key = {path[k].stage, path[k].definition, path[k].loop};
            int& inside = inside_[key];
            inside = std::max(inside, threads++);
            blocks_[kernel].any = true;
            if (k < around || path[k].loop.empty()) continue; // counted where it belongs; one thread
            const int loop = definition.nest.find(path[k].loop);
            const Loop& node = definition.nest.loops[loop];
            const std::string where = stage.where(definition.update) + "." + node.name;
            const ScheduleModel::Region count = model_.extent(stage, definition, loop);
            if (!count.extent) {
                if (!count.decided) continue; // emit() looks at what lowering found
                model_.refuse(node.run_at, stage.name, gpu_verb(node.run),
                              where + ": the number of threads has to be constant, and its extent is not.",
                              "Split it: split(" + node.name + ", " + node.name + "o, " + node.name +
                                  "i, 128), or gpu_tile(" + node.name + ", " + node.name + "o, " + node.name +
                                  "i, 128).");
                continue;
            }
            if (node.run == Run::gpu_lane && *count.extent > kWarp) {
                model_.refuse(node.run_at, stage.name, "gpu_lanes",
                              where + ": " + std::to_string(*count.extent) + " lanes; a warp has " +
                                  std::to_string(kWarp) + ".",
                              "Split it by " + std::to_string(kWarp) + " first.");
            }
            thread_loops_.push_back({kernel, key, *count.extent, node.run_at, where});
        }
    }

    /// Nothing may be computed or stored between two loops over blocks.
    void place_rules(const StageModel& stage) {
        const std::pair<const Level*, const char*> levels[] = {
            {&stage.compute, "compute_at"}, {&stage.store, "store_at"}, {&stage.hoist, "hoist_storage"}};
        for (const auto& [level, verb] : levels) {
            if (stage.output || level->kind != Level::Kind::at) continue;
            for (const DefinitionModel& definition : model_.stages.at(level->stage).definitions) {
                const int loop = definition.nest.find(level->loop);
                if (loop < 0 || (level->definition >= -1 && definition.update != level->definition)) continue;
                if (definition.nest.loops[loop].run != Run::gpu_block) continue;
                for (int k = definition.nest.place(loop) + 1; k < static_cast<int>(definition.nest.order.size()); ++k) {
                    const Loop& inside = definition.nest.loops[definition.nest.order[k]];
                    if (inside.run != Run::gpu_block) continue;
                    model_.refuse(level->at, stage.name, verb,
                                  stage.name + ": " + verb + "(" + level->stage + ", " + level->loop +
                                      ") lies between loops over blocks.",
                                  "Name " + inside.name + ", the innermost of them, or a loop inside it.");
                    return;
                }
            }
        }
    }

    /// Which memory a stage may lie in follows from where it is stored.
    void memory_rules(const StageModel& stage, const std::vector<Site>& sites) {
        if (stage.output || stage.memory.empty() || stage.memory == "auto" || stage.memory == "heap") return;
        std::size_t depth = sites.size();
        if (stage.store.kind == Level::Kind::root) depth = 0;
        if (stage.store.kind == Level::Kind::at) {
            for (std::size_t k = 0; k < sites.size(); ++k)
                if (sites[k].stage == stage.store.stage && sites[k].loop == stage.store.loop) depth = k + 1;
        }
        const std::vector<Site> stored(sites.begin(), sites.begin() + static_cast<std::ptrdiff_t>(depth));
        const std::size_t first = first_block(stored);
        const auto refuse = [&](const std::string& reason, const std::string& hint) {
            model_.refuse(stage.memory_at, stage.name, "store_in",
                          stage.name + ": store_in(" + stage.memory + "): " + reason, hint);
        };
        if (first == stored.size()) {
            return refuse("it is stored outside of the kernels, in the device's memory.",
                          "Compute it at a loop of a kernel that reads it, or take store_in away.");
        }
        const bool in_thread =
            std::any_of(stored.begin(), stored.end(), [](const Site& site) { return runs_on_threads(site.run); });
        if (stage.memory == "gpu_shared") {
            if (in_thread) {
                refuse("it is stored inside a loop over threads, and what a block shares is stored outside of them.",
                       "Use store_in(register), or store it at a loop over blocks.");
            }
            return;
        }
        const auto block = blocks_.find({stored[first].stage, stored[first].definition});
        if (!in_thread && block != blocks_.end() && block->second.any) {
            refuse("it is stored for the whole block, and each thread has its " +
                       std::string(stage.memory == "stack" ? "stack" : "registers") + ".",
                   "Use store_in(gpu_shared), or store it at a loop over threads or inside one.");
        }
    }

    void block_rules() {
        for (const ThreadLoop& loop : thread_loops_) {
            Block& block = blocks_[loop.kernel];
            std::int64_t& most = block.threads[static_cast<std::size_t>(inside_[loop.key])];
            if (loop.count <= most) continue;
            most = loop.count;
            block.at = loop.at;
            block.where = loop.where;
        }
        for (const auto& [kernel, block] : blocks_) {
            const std::int64_t threads = block.threads[0] * block.threads[1] * block.threads[2];
            const std::string shape = std::to_string(block.threads[0]) + " x " + std::to_string(block.threads[1]) +
                                      " x " + std::to_string(block.threads[2]);
            const std::string verb = "gpu_threads";
            if (threads > kMostThreads) {
                model_.refuse(block.at, kernel.first, verb,
                              block.where + ": " + std::to_string(threads) + " threads a block (" + shape +
                                  ", the most of each dimension among all that the block computes), more than " +
                                  std::to_string(kMostThreads) + ".",
                              "Use smaller factors, such as 128 in all.");
            } else if (block.threads[2] > kMostThreadsInZ) {
                model_.refuse(block.at, kernel.first, verb,
                              block.where + ": " + std::to_string(block.threads[2]) +
                                  " threads in the third dimension, more than " + std::to_string(kMostThreadsInZ) + ".",
                              "Reorder, so that a longer loop is the innermost.");
            }
        }
        for (const auto& [stage, sites] : stages_) {
            if (!sites.empty()) continue;
            for (const DefinitionModel& definition : stage->definitions)
                grid_rules(*stage, definition);
        }
    }

    /// Where the memory that a block shares grows with sizes of the program, longer arrays take another version.
    void shared_rules() {
        struct Shared {
            int kernel = 0;
            std::string bytes = "0"; ///< a size expression
            double bytes_here = 0;
            bool known = true;    ///< how much the longest iteration of a loop around takes
            bool here = true;     ///< and the same at the sizes that this is made for
            bool follows = false; ///< one iteration takes more than another
        };
        std::map<std::string, Shared> blocks; // by root
        for (const auto& [stage, sites] : stages_) {
            if (sites.empty() || (stage->memory != "gpu_shared" && !stage->memory.empty() && stage->memory != "auto"))
                continue;
            if (stage->store.kind != Level::Kind::unset ||
                std::any_of(sites.begin(), sites.end(), [](const Site& site) { return runs_on_threads(site.run); })) {
                continue;
            }
            const StageInfo* const info = model_.algorithm().find(stage->name);
            if (info == nullptr) continue;
            Shared& block = blocks[sites[first_block(sites)].stage];
            block.kernel = stage->kernel;
            std::string bytes = std::to_string(stage->element_bytes);
            double bytes_here = stage->element_bytes;
            for (const LoopInfo& axis : info->pure.loops) {
                auto constant = model_.region(stage->name, axis.name).extent;
                if (!constant && is_block_axis(sites[first_block(sites)].stage, axis)) constant = 1;
                const std::string extent = constant ? std::to_string(*constant) : axis.most();
                const std::int64_t here = constant ? *constant : axis.most_here();
                block.known = block.known && !extent.empty();
                block.here = block.here && here >= 0;
                block.follows = block.follows || (!constant && axis.follows);
                bytes += " * (" + extent + ")";
                bytes_here *= static_cast<double>(here);
            }
            block.bytes += " + " + bytes;
            block.bytes_here += bytes_here;
        }
        for (const auto& [root, block] : blocks) {
            if (!block.known) continue; // a launch that asks for too much says so
            const SizeExpression total = parse_size(block.bytes);
            std::set<std::string> sizes;
            total.collect_symbols(sizes);
            // This counts what never lies there at one time, so a sum may be too large for the very sizes that it is
            // made for. Of a loop, the longest iteration may not fit where the one that the schedule is made for does.
            const bool fits = block.here && block.bytes_here <= static_cast<double>(kSharedBytes);
            if ((sizes.size() > 1 || block.follows) && !fits) continue;
            if (sizes.size() > 1) model_.preconditions[block.kernel].at_most(block.bytes, kSharedBytes);
            if (sizes.size() != 1) continue;
            const auto fits_with = [&](std::int64_t size) {
                const auto value =
                    total.evaluate([&](const SizeExpression&) { return std::optional<std::int64_t>(size); });
                return value && *value <= kSharedBytes;
            };
            std::int64_t most = 0;
            for (std::int64_t step = std::int64_t{1} << 31; step > 0; step /= 2)
                if (most + step < (std::int64_t{1} << 31) && fits_with(most + step)) most += step;
            if (most > 0 && most + 1 < (std::int64_t{1} << 31))
                model_.preconditions[block.kernel].at_most(*sizes.begin(), most);
        }
    }

    /// Whether each block of `root` has one element of an axis of that name: rows have their names throughout.
    bool is_block_axis(const std::string& root, const LoopInfo& axis) const {
        const LoopNest& nest = model_.stages.at(root).definitions.front().nest;
        for (const Loop& loop : nest.loops) {
            if (loop.origin != Loop::Origin::base || loop.axis != axis.name || loop.extent != axis.extent) continue;
            const Loop* live = &loop;
            while (live->fused >= 0)
                live = &nest.loops[live->fused];
            return live->run == Run::gpu_block && live->outer < 0;
        }
        return false;
    }

    /// A stage inside the kernel computes a part of its axes, no more than all; where extents change from iteration to
    /// iteration of a loop around, as many as the longest needs.
    LoopNest with_extents(const StageModel& stage, const DefinitionModel& definition) const {
        LoopNest nest = definition.nest;
        const StageInfo* const info = model_.algorithm().find(stage.name);
        if (info == nullptr) return nest; // made by the schedule
        for (Loop& loop : nest.loops) {
            if (loop.origin != Loop::Origin::base) continue;
            for (const LoopInfo& axis : info->definition(definition.update).loops)
                if (axis.name == loop.axis && (axis.follows || loop.extent.empty())) loop.extent = axis.most();
        }
        return nest;
    }

    void grid_rules(const StageModel& stage, const DefinitionModel& definition) {
        const LoopNest nest = with_extents(stage, definition);
        bool innermost = true;
        for (auto loop = definition.nest.order.rbegin(); loop != definition.nest.order.rend(); ++loop) {
            const Loop& node = definition.nest.loops[*loop];
            if (node.run != Run::gpu_block) continue;
            const bool first = std::exchange(innermost, false);
            const std::string extent = nest.extent_text(*loop);
            if (first || extent.empty() || model_.guard_tails) continue;
            if (model_.preconditions[stage.kernel].at_most(extent, kMostBlocksInY)) continue;
            model_.refuse(node.run_at, stage.name, "gpu_blocks",
                          stage.where(definition.update) + "." + node.name + ": " + extent +
                              " blocks in a dimension that is not the innermost, more than " +
                              std::to_string(kMostBlocksInY) + ".",
                          "Reorder, so that it is the innermost loop over blocks, or fuse it with another.");
        }
        for (const auto& branch : definition.branches)
            grid_rules(stage, *branch);
    }
};

void ScheduleModel::finish_device() {
    DeviceRules(*this).run();
}

} // namespace tilewright::dsl
