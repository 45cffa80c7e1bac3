// dsl/code/run_schedule.cpp: check() and apply() by one walk, so that the two cannot drift apart.
#include "dsl/code/run_schedule.h"

#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/directives/directives.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

class Walk {
  public:
    Walk(ScheduleModel& model, AlgorithmImpl* algorithm) : model_(model), algorithm_(algorithm) {
        if (!algorithm_) return;
        for (const auto& [name, stage] : model_.stages) {
            const StageImpl& impl = algorithm_->stages.at(name);
            for (const DefinitionModel& definition : stage.definitions) {
                HalideDefinition halide = ApplyContext::read_definition(impl.func, definition);
                definitions_.insert_or_assign(&definition, std::move(halide));
            }
        }
    }

    void run(const Schedule& schedule) {
        for (const Statement& statement : schedule.statements)
            run(statement);
        model_.finish();
        if (algorithm_ && model_.violations.empty()) finish();
    }

  private:
    ScheduleModel& model_;
    AlgorithmImpl* algorithm_;
    HalideDefinitions definitions_;

    void run(const Statement& statement) {
        if (statement.kind != Statement::Kind::directives) {
            return model_.refuse(statement.at, "", "", "a space, not a schedule: choices are left open.",
                                 "Take a point of the space.");
        }
        const auto stage = model_.stages.find(statement.stage);
        if (stage == model_.stages.end()) {
            return model_.refuse(statement.at, statement.stage, "", statement.stage + ": there is no such stage.",
                                 model_.stage_hint(statement.stage));
        }
        const int updates = static_cast<int>(stage->second.definitions.size()) - 1;
        if (statement.update < -1 || statement.update >= updates) {
            return model_.refuse(
                statement.at, statement.stage, "update",
                stage->second.where(statement.update) + ": it has " +
                    (updates == 0 ? "no updates" : std::to_string(updates) + " update" + (updates == 1 ? "" : "s")) +
                    ".",
                updates == 0 ? "Leave .update(...) out."
                             : "Updates count from 0: update(" + std::to_string(updates - 1) + ") is the last.");
        }
        if (statement.chain.empty()) {
            return model_.refuse(statement.at, statement.stage, "", statement.stage + ": no directive.", "");
        }
        for (const Directive& directive : statement.chain) {
            if (!run(statement, directive, stage->second, stage->second.definitions[statement.update + 1], false)) {
                return; // what follows in the chain would only repeat the complaint
            }
        }
    }

    bool run(const Statement& statement, const Directive& directive, StageModel& stage, DefinitionModel& definition,
             bool in_block) {
        CheckContext check{model_, stage, definition, statement, directive, in_block};
        try {
            check_directive(check);
        } catch (const Refused&) {
            return false;
        }
        const DirectiveRow* row = find_directive(directive.verb);
        if (algorithm_ && row->apply) {
            ApplyContext apply{check, *algorithm_, algorithm_->stages.at(stage.name), definitions_.at(&definition),
                               definitions_};
            guarded(check.where() + "." + print_directive(directive), [&] { row->apply(apply); });
        }
        if (!directive.has_block) return true;
        DefinitionModel& branch = *definition.branches.back();
        return std::all_of(directive.block.begin(), directive.block.end(),
                           [&](const Directive& inner) { return run(statement, inner, stage, branch, true); });
    }

    static Halide::LoopLevel loop_level(const AlgorithmImpl& algorithm, const HalideDefinitions& definitions,
                                        const ScheduleModel& model, const Level& level) {
        const StageModel& stage = model.stages.at(level.stage);
        const StageImpl& impl = algorithm.stages.at(level.stage);
        // The loop's name decides; which definition it is in follows from where the stage is read.
        const DefinitionModel* fallback = nullptr;
        for (const DefinitionModel& definition : stage.definitions) {
            if (definition.nest.find(level.loop) < 0) continue;
            if (!fallback || definition.update == level.definition) fallback = &definition;
        }
        if (!fallback) throw InternalError("no loop " + level.stage + "." + level.loop + ".");
        return Halide::LoopLevel(impl.func, definitions.at(fallback).loops.at(level.loop));
    }

    void finish() {
        for (auto& [name, stage] : model_.stages) {
            if (stage.output) continue;
            Halide::Func& func = algorithm_->stages.at(name).func;
            guarded(name, [&] {
                auto place = [&](const Level& level, auto&& at_root, auto&& at_loop) {
                    if (level.kind == Level::Kind::root) at_root();
                    if (level.kind == Level::Kind::at) {
                        at_loop(loop_level(*algorithm_, definitions_, model_, level));
                    }
                };
                place(
                    stage.compute, [&] { func.compute_root(); },
                    [&](const Halide::LoopLevel& level) { func.compute_at(level); });
                place(
                    stage.store, [&] { func.store_root(); },
                    [&](const Halide::LoopLevel& level) { func.store_at(level); });
                place(
                    stage.hoist, [&] { func.hoist_storage_root(); },
                    [&](const Halide::LoopLevel& level) { func.hoist_storage(level); });
            });
        }
        for (const auto& [definition, loop] : model_.demoted) {
            HalideDefinition& halide = definitions_.at(definition);
            guarded(loop, [&] { halide.stage.serial(halide.loops.at(loop)); });
        }
        // A test of each thread costs next to nothing, a copy of the whole kernel for the blocks at the end its size.
        for (auto& [definition, halide] : definitions_) {
            for (const int id : definition->nest.order) {
                const Loop& loop = definition->nest.loops[id];
                if (loop.partitioned || (loop.run != Run::gpu_block && !runs_on_threads(loop.run))) continue;
                guarded(loop.name, [&stage = halide.stage, &variable = halide.loops.at(loop.name)] {
                    stage.partition(variable, Halide::Partition::Never);
                });
            }
        }
        for (auto& [definition, halide] : definitions_) {
            if (!definition->single_thread) continue;
            guarded("gpu_single_thread", [&, &stage = halide.stage] { stage.gpu_single_thread(); });
        }
        // Halide warns about updates without directives where others have some; here that is no oversight.
        for (auto& [name, stage] : algorithm_->stages) {
            for (int k = 0; k < stage.func.num_update_definitions(); ++k) {
                if (!stage.func.function().update(k).schedule().touched()) stage.func.update(k).unscheduled();
            }
        }
    }
};

} // namespace

void run_schedule(ScheduleModel& model, const Schedule& schedule, AlgorithmImpl* algorithm) {
    Walk(model, algorithm).run(schedule);
}

std::vector<Violation> check(const AlgorithmInfo& algorithm, const Schedule& schedule) {
    ScheduleModel model(algorithm, schedule.target, false);
    for (const VariantChoice& choice : schedule.variants) {
        const auto have = algorithm.variant.find(choice.name);
        if (choice.options.size() == 1 && have != algorithm.variant.end() && have->second != choice.options[0]) {
            model.refuse(choice.at, "", "variant",
                         "variant " + choice.name + " = " + choice.options[0] + ": this translation has " +
                             choice.name + " = " + have->second + ".",
                         "Translate with that option.");
        }
    }
    run_schedule(model, schedule, nullptr);
    return std::move(model.violations);
}

std::map<int, Preconditions> preconditions(const AlgorithmInfo& algorithm, const Schedule& schedule) {
    ScheduleModel model(algorithm, schedule.target, false);
    run_schedule(model, schedule, nullptr);
    return std::move(model.preconditions);
}

void apply(Algorithm& algorithm, const Schedule& schedule, bool guard_tails) {
    const auto violations = check(algorithm.info(), schedule);
    if (!violations.empty()) throw ScheduleError(violations.front().text());
    ScheduleModel model(algorithm.info(), schedule.target, guard_tails);
    run_schedule(model, schedule, &algorithm.impl());
    if (!model.violations.empty()) {
        throw InternalError("a schedule passed check() and failed in apply(): " + model.violations.front().text());
    }
}

} // namespace tilewright::dsl
