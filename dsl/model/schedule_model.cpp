// dsl/model/schedule_model.cpp: stages and the loops around their uses.
#include "dsl/model/schedule_model.h"

#include <algorithm>
#include <utility>

#include "dsl/base/dtypes.h"
#include "dsl/base/spelling.h"
#include "dsl/code/isa.h"

namespace tilewright::dsl {
namespace {

int bytes_of(const std::string& dtype) {
    const DTypeInfo* const known = find_dtype(dtype);
    return known == nullptr ? 8 : known->bytes;
}

DefinitionModel make_definition(const DefinitionInfo& info, int update, bool output) {
    DefinitionModel definition;
    definition.update = update;
    definition.associative = info.associative;
    definition.calls = info.calls;
    for (const LoopInfo& loop : info.loops)
        definition.nest.add(loop, output);
    return definition;
}

} // namespace

ScheduleModel::ScheduleModel(const AlgorithmInfo& algorithm, std::string wanted_target, bool guards)
    : target(std::move(wanted_target)), guard_tails(guards), device(is_cuda_isa(target)), algorithm_(algorithm) {
    for (const StageInfo& info : algorithm.stages) {
        StageModel stage;
        stage.name = info.name;
        for (const LoopInfo& loop : info.pure.loops)
            stage.axes.push_back(loop.name);
        stage.definitions.push_back(make_definition(info.pure, -1, info.output));
        for (std::size_t k = 0; k < info.updates.size(); ++k) {
            stage.definitions.push_back(make_definition(info.updates[k], static_cast<int>(k), info.output));
        }
        stage.output = info.output;
        stage.guarded = info.guarded;
        stage.rows_together = info.rows_together;
        stage.kernel = info.kernel;
        stage.element_bytes = 1;
        for (const std::string& dtype : info.dtypes) {
            stage.element_bytes = std::max(stage.element_bytes, bytes_of(dtype));
        }
        for (const ReadInfo& read : info.reads)
            stage.arguments.insert(read.from);
        order.push_back(info.name);
        stages.emplace(info.name, std::move(stage));
    }
}

void ScheduleModel::refuse(Position at, const std::string& stage, const std::string& verb, std::string message,
                           std::string hint) {
    violations.push_back(Violation{at, stage, verb, std::move(message), std::move(hint)});
}

std::string ScheduleModel::stage_hint(const std::string& name) const {
    if (const auto near = near_name(name, order)) return "Did you mean " + *near + "?";
    std::string list;
    for (std::size_t k = 0; k < order.size() && k < 12; ++k)
        list += (k ? ", " : "") + order[k];
    return "The stages are: " + list + (order.size() > 12 ? ", ..." : "") + ".";
}

StageModel& ScheduleModel::add_wrapper(const std::string& stage, const std::string& made,
                                       const std::set<std::string>& consumers) {
    const StageModel& original = stages.at(stage);
    StageModel wrapper;
    wrapper.name = made;
    wrapper.axes = original.axes;
    wrapper.kernel = original.kernel;
    wrapper.element_bytes = original.element_bytes;
    DefinitionModel definition;
    definition.calls.push_back(CallInfo{stage, original.axes});
    for (const std::string& axis : original.axes) {
        LoopInfo loop;
        loop.name = axis;
        for (const Loop& candidate : original.definitions[0].nest.loops) {
            if (candidate.origin == Loop::Origin::base && candidate.axis == axis && candidate.constant) {
                loop.extent = std::to_string(*candidate.constant);
            }
        }
        definition.nest.add(loop, false);
    }
    wrapper.definitions.push_back(std::move(definition));
    for (auto& [name, reader] : stages) {
        if (!consumers.count(name)) continue;
        for (DefinitionModel& reading : reader.definitions) {
            for (CallInfo& call : reading.calls) {
                if (call.stage == stage) call.stage = made;
            }
            for (const auto& branch : reading.branches) {
                for (CallInfo& call : branch->calls) {
                    if (call.stage == stage) call.stage = made;
                }
            }
        }
    }
    order.insert(std::find(order.begin(), order.end(), stage) + 1, made);
    return stages.emplace(made, std::move(wrapper)).first->second;
}

// ---- places -------------------------------------------------------------------------------------------------------

std::vector<Site> ScheduleModel::path_of(const std::string& stage, const DefinitionModel& definition,
                                         std::vector<Site> path) {
    if (definition.single_thread) {
        path.push_back({stage, definition.update, "", Run::gpu_block});
        path.push_back({stage, definition.update, "", Run::gpu_thread});
    }
    for (int loop : definition.nest.order) {
        const Loop& node = definition.nest.loops[loop];
        path.push_back({stage, definition.update, node.name, node.run});
    }
    return path;
}

void ScheduleModel::uses_in(const std::string& reader, const DefinitionModel& definition, const std::string& stage,
                            std::vector<Use>& result, KnownUses& known) const {
    const StageModel& reading = stages.at(reader);
    std::optional<std::vector<Site>> path;
    const auto add = [&](Use use) {
        if (std::find(result.begin(), result.end(), use) == result.end()) result.push_back(std::move(use));
    };
    for (const CallInfo& call : definition.calls) {
        if (call.stage != stage) continue;
        if (!reading.inlined()) {
            if (!path) path = path_of(reader, definition, sites_of(reader));
            // A split loop keeps its meaning as an index; only base loops are indices.
            add({*path, reader, &definition, call.axes});
            continue;
        }
        for (const Use& use : uses(reader, known)) {
            Use through = use;
            through.axes.clear();
            for (const std::string& axis : call.axes) {
                const auto at = std::find(reading.axes.begin(), reading.axes.end(), axis);
                const bool follow = at != reading.axes.end() && use.axes.size() == reading.axes.size();
                through.axes.push_back(axis == "=" ? "=" : follow ? use.axes[at - reading.axes.begin()] : "");
            }
            add(std::move(through));
        }
    }
    for (const auto& branch : definition.branches)
        uses_in(reader, *branch, stage, result, known);
}

std::vector<ScheduleModel::Use> ScheduleModel::uses(const std::string& stage) const {
    KnownUses known;
    return uses(stage, known);
}

const std::vector<ScheduleModel::Use>& ScheduleModel::uses(const std::string& stage, KnownUses& known) const {
    const auto found = known.find(stage);
    if (found != known.end()) return found->second;
    std::vector<Use> result;
    for (const auto& [name, reader] : stages) {
        if (name == stage) continue;
        for (const DefinitionModel& definition : reader.definitions)
            uses_in(name, definition, stage, result, known);
    }
    return known[stage] = std::move(result);
}

std::optional<std::vector<Site>> ScheduleModel::legal_sites(const std::string& stage) const {
    std::optional<std::vector<Site>> common;
    for (const Use& use : uses(stage)) {
        if (!common) {
            common = use.path;
            continue;
        }
        std::erase_if(*common, [&](const Site& site) {
            return std::find(use.path.begin(), use.path.end(), site) == use.path.end();
        });
    }
    return common;
}

std::optional<int> ScheduleModel::resolve(const std::vector<Site>& sites, const Level& level) const {
    for (std::size_t k = 0; k < sites.size(); ++k) {
        if (sites[k].stage == level.stage && sites[k].loop == level.loop) return static_cast<int>(k);
    }
    return std::nullopt;
}

std::vector<Site> ScheduleModel::sites_of(const std::string& stage) const {
    const StageModel& model = stages.at(stage);
    if (model.output || model.compute.kind == Level::Kind::root) return {};
    auto sites = legal_sites(stage);
    if (!sites) return {};
    if (model.compute.kind != Level::Kind::at) return *sites; // Halide computes what it cannot inline innermost
    const auto place = resolve(*sites, model.compute);
    sites->resize(place ? *place + 1 : 0);
    return *sites;
}

// ---- regions ------------------------------------------------------------------------------------------------------

ScheduleModel::Region ScheduleModel::base_extent(const StageModel& stage, const Loop& loop) const {
    if (loop.constant) return {loop.constant, true};
    if (loop.reduced || stage.output) return {std::nullopt, true};
    return region(stage.name, loop.axis);
}

ScheduleModel::Region ScheduleModel::extent(const StageModel& stage, const DefinitionModel& definition,
                                            int loop) const {
    bool decided = true;
    const auto value = definition.nest.extent(loop, [&](const Loop& base) {
        const Region found = base_extent(stage, base);
        decided = decided && found.decided;
        return found.extent;
    });
    return {value, decided};
}

ScheduleModel::Region ScheduleModel::region(const std::string& stage, const std::string& axis) const {
    const StageModel& model = stages.at(stage);
    const auto at = std::find(model.axes.begin(), model.axes.end(), axis);
    if (at == model.axes.end()) return {std::nullopt, false};
    const std::size_t position = at - model.axes.begin();
    const std::vector<Site> place = sites_of(stage);
    std::optional<std::string> index;
    Region result{0, true};
    for (const Use& use : uses(stage)) {
        const std::string loop = use.axes.size() > position ? use.axes[position] : "";
        // Several indices at once span a region that depends on their distance.
        if (loop.empty() || (index && *index != loop + "@" + use.reader)) return {std::nullopt, false};
        index = loop + "@" + use.reader;
        if (loop == "=") {
            result.extent = std::max<std::int64_t>(result.extent.value_or(1), 1);
            continue;
        }
        const StageModel& reader = stages.at(use.reader);
        const LoopNest& nest = use.definition->nest;
        int base = -1;
        for (std::size_t k = 0; k < nest.loops.size(); ++k) {
            if (nest.loops[k].origin == Loop::Origin::base && nest.loops[k].axis == loop) base = static_cast<int>(k);
        }
        if (base < 0) return {std::nullopt, false};
        bool decided = true;
        const auto span = nest.span(
            base,
            [&](int candidate) {
                return std::any_of(place.begin(), place.end(), [&](const Site& site) {
                    return site.stage == use.reader && site.loop == nest.loops[candidate].name;
                });
            },
            [&](const Loop& unknown) {
                const Region found = base_extent(reader, unknown);
                decided = decided && found.decided;
                return found.extent;
            });
        if (!span) return {std::nullopt, decided};
        if (result.extent) result.extent = std::max(*result.extent, *span);
    }
    if (result.extent == 0) return {std::nullopt, false};
    return result;
}

// ---- when every directive is known ---------------------------------------------------------------------------------

bool ScheduleModel::depends_on(const std::string& reader, const std::string& stage) const {
    std::vector<std::string> open = {reader};
    std::set<std::string> seen;
    while (!open.empty()) {
        const std::string at = open.back();
        open.pop_back();
        if (!seen.insert(at).second) continue;
        for (const DefinitionModel& definition : stages.at(at).definitions) {
            for (const CallInfo& call : definition.calls) {
                if (call.stage == stage) return true;
                open.push_back(call.stage);
            }
        }
    }
    return false;
}

void ScheduleModel::finish() {
    if (!violations.empty()) return; // what follows would only repeat them in other words
    // Readers first: where a stage may be computed depends on where they are.
    for (auto name = order.rbegin(); name != order.rend(); ++name)
        finish_stage(stages.at(*name));
    if (device && violations.empty()) finish_device();
    std::stable_sort(violations.begin(), violations.end(), [](const Violation& a, const Violation& b) {
        return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
    });
}

void ScheduleModel::finish_stage(StageModel& stage) {
    const bool used = stage.output || legal_sites(stage.name).has_value();
    if (!used) return;
    if (stage.inlined()) {
        const DefinitionModel& pure = stage.definitions[0];
        const bool loops = !pure.first_verb.empty();
        if (loops || stage.storage_at) {
            refuse(loops ? pure.first_at : *stage.storage_at, stage.name, loops ? pure.first_verb : stage.storage_verb,
                   stage.name + ": " + (loops ? pure.first_verb : stage.storage_verb) +
                       " needs a stage that has loops and storage, and this one is computed inline.",
                   "Add " + stage.name + ".compute_root() or compute_at(...), or take the directive away.");
        }
        for (const Level* level : {&stage.store, &stage.hoist}) {
            if (level->kind == Level::Kind::unset) continue;
            refuse(level->at, stage.name, level == &stage.store ? "store_at" : "hoist_storage",
                   stage.name + ": has no storage to place, because it is computed inline.",
                   "Add " + stage.name + ".compute_at(...) first.");
        }
        return;
    }
    const std::size_t before = violations.size();
    if (!stage.output) finish_place(stage);
    if (violations.size() != before) return; // extents depend on the place
    for (const DefinitionModel& definition : stage.definitions) {
        finish_definition(stage, definition);
        if (definition.with) finish_compute_with(stage, definition);
    }
}

void ScheduleModel::finish_place(StageModel& stage) {
    const auto legal = legal_sites(stage.name);
    if (!legal) return;
    // compute_with merges loops under new names; the places inside are left to lowering.
    for (const auto& [name, other] : stages) {
        for (const DefinitionModel& definition : other.definitions) {
            if (definition.with) return;
        }
    }
    auto list = [&] {
        std::string text = "compute_root()";
        for (const Site& site : *legal) {
            // Loops that vectorize(i, 8) made have no name for people.
            if (!site.loop.empty() && site.loop.find("__") == std::string::npos)
                text += ", compute_at(" + site.stage + ", " + site.loop + ")";
        }
        return text;
    };
    auto place = [&](Level& level, const char* verb) -> std::optional<int> {
        if (level.kind != Level::Kind::at) {
            return level.kind == Level::Kind::unset && stage.compute.kind != Level::Kind::root
                       ? static_cast<int>(legal->size()) - 1
                       : -1;
        }
        const auto found = resolve(*legal, level);
        if (!found) {
            const bool exists = stages.count(level.stage);
            refuse(level.at, stage.name, verb,
                   stage.name + ": " + verb + "(" + level.stage + ", " + level.loop +
                       ") is not around every use of it" +
                       (exists && stages.at(level.stage).inlined() ? ", since " + level.stage + " is computed inline"
                                                                   : "") +
                       ".",
                   "Legal places: " + list() + ".");
            return std::nullopt;
        }
        level.definition = (*legal)[*found].definition;
        return found;
    };
    if (stage.compute.kind == Level::Kind::unset &&
        (stage.store.kind != Level::Kind::unset || stage.hoist.kind != Level::Kind::unset)) {
        const Level& level = stage.store.kind != Level::Kind::unset ? stage.store : stage.hoist;
        refuse(level.at, stage.name, "store_at", stage.name + ": its storage is placed, but not its computation.",
               "Add one of " + list() + ".");
        return;
    }
    const auto compute = place(stage.compute, "compute_at");
    if (!compute) return;
    auto outside = [&](Level& level, int inner, const char* verb) -> std::optional<int> {
        if (level.kind == Level::Kind::unset) return inner;
        const auto at = place(level, verb);
        if (!at) return std::nullopt;
        if (*at > inner) {
            refuse(level.at, stage.name, verb,
                   stage.name + ": " + verb + "(" + level.stage + ", " + level.loop +
                       ") lies inside the loop where it is computed.",
                   "Name that loop or one outside it.");
            return std::nullopt;
        }
        for (int k = *at + 1; k <= *compute; ++k) {
            if (!runs_spread((*legal)[k].run)) continue;
            refuse(level.at, stage.name, verb,
                   stage.name + ": stored outside the " +
                       (device ? "loop over blocks or threads" : "parallel or vectorized loop") + " " +
                       (*legal)[k].stage + "." + (*legal)[k].loop +
                       ", but computed inside it, so that iterations would overwrite each other.",
                   "Store it at (" + (*legal)[k].stage + ", " + (*legal)[k].loop + ") or further in.");
            return std::nullopt;
        }
        return at;
    };
    const auto store = outside(stage.store, *compute, "store_at");
    if (!store) return;
    outside(stage.hoist, *store, "hoist_storage");
}

void ScheduleModel::finish_definition(const StageModel& stage, const DefinitionModel& definition) {
    std::int64_t unrolled = 1;
    std::int64_t lanes = 1;
    Position unroll_at;
    Position vectorize_at;
    for (int id : definition.nest.order) {
        const Loop& loop = definition.nest.loops[id];
        if (loop.run != Run::unrolled && loop.run != Run::vectorized) continue;
        const bool vector = loop.run == Run::vectorized;
        const std::string verb = vector ? "vectorize" : "unroll";
        const Region count = extent(stage, definition, id);
        if (!count.extent) {
            if (!count.decided) continue;
            if (guard_tails || stage.guarded) {
                demoted.emplace_back(&definition, loop.name);
                continue;
            }
            std::string hint = "Split it: " + verb + "(" + loop.name + ", " + (vector ? "8" : "4") + ")";
            if (!vector && loop.origin == Loop::Origin::base) {
                hint += ", or specialize(extent(" + loop.name + ") == 2) { unroll(" + loop.name + ") }";
            }
            refuse(loop.run_at, stage.name, verb,
                   stage.where(definition.update) + "." + loop.name + ": cannot " + verb +
                       " a loop whose extent is not constant here.",
                   hint + ".");
            continue;
        }
        if (vector && (*count.extent & (*count.extent - 1)) != 0) {
            // LLVM ends in an assertion when it masks the last value of, say, five.
            std::int64_t below = 1;
            while (below * 2 < *count.extent)
                below *= 2;
            refuse(loop.run_at, stage.name, verb,
                   stage.where(definition.update) + "." + loop.name + ": vectors of " + std::to_string(*count.extent) +
                       " values, which is not a power of two.",
                   "Use " + std::to_string(below) + " or " + std::to_string(below * 2) + ", or unroll the loop.");
            continue;
        }
        std::int64_t& total = vector ? lanes : unrolled;
        (vector ? vectorize_at : unroll_at) = loop.run_at;
        if (__builtin_mul_overflow(total, std::max<std::int64_t>(*count.extent, 1), &total)) total = INT64_MAX;
    }
    if (unrolled > kMaxUnrolled) {
        refuse(unroll_at, stage.name, "unroll",
               stage.where(definition.update) + ": unrolls " + std::to_string(unrolled) + " iterations, more than " +
                   std::to_string(kMaxUnrolled) + ".",
               "Use smaller factors.");
    }
    if (lanes > kMaxVectorBytes / stage.element_bytes) {
        refuse(vectorize_at, stage.name, "vectorize",
               stage.where(definition.update) + ": vectors of " + std::to_string(lanes) + " values, more than " +
                   std::to_string(kMaxVectorBytes / stage.element_bytes) + ".",
               "Use smaller factors.");
    }
    for (const auto& branch : definition.branches)
        finish_definition(stage, *branch);
}

void ScheduleModel::finish_compute_with(const StageModel& stage, const DefinitionModel& definition) {
    const FuseWith& with = *definition.with;
    const StageModel& other = stages.at(with.stage);
    const std::string where = stage.where(definition.update);
    const std::string there = other.where(with.update);
    auto bad = [&](const std::string& reason, const std::string& hint) {
        refuse(with.at, stage.name, "compute_with", where + ": cannot be computed with " + there + ": " + reason, hint);
    };
    if (depends_on(stage.name, with.stage) || depends_on(with.stage, stage.name)) {
        return bad("one of them reads the other.", "Use compute_at(" + with.stage + ", " + with.loop + ").");
    }
    if (stage.kernel != other.kernel) return bad("they belong to different kernels.", "");
    const bool same_place = stage.output && other.output
                                ? true
                                : sites_of(stage.name) == sites_of(with.stage) && !stage.inlined() && !other.inlined();
    if (!same_place) {
        return bad("they are not computed in the same place.", "Give both the same compute_at(...) or compute_root().");
    }
    const DefinitionModel& partner = other.definitions[with.update + 1];
    if (!definition.branches.empty() || !partner.branches.empty()) {
        return bad("a stage with specialize cannot share loops.", "Take specialize away.");
    }
    const int here = definition.nest.find(with.loop);
    const int their = partner.nest.find(with.loop);
    if (here < 0 || their < 0) return bad("there is no loop " + with.loop + " in both.", "Rename the loops alike.");
    if (definition.nest.place(here) != partner.nest.place(their)) {
        return bad("the loops around " + with.loop + " differ.", "Give both the same outer loops.");
    }
    for (int k = 0; k <= definition.nest.place(here); ++k) {
        const Loop& a = definition.nest.loops[definition.nest.order[k]];
        const Loop& b = partner.nest.loops[partner.nest.order[k]];
        if (a.name != b.name || a.run != b.run || a.reduced != b.reduced || a.racing != b.racing) {
            return bad("loops " + a.name + " and " + b.name + " differ.",
                       "Give both the same outer loops, run the same way.");
        }
    }
}

} // namespace tilewright::dsl
