// dsl/directives/placement.cpp: where a stage is computed and where its storage is.
//
// Checks write places into the model; whether a place is around every use is known only at the end
// (ScheduleModel::finish), and apply() then places all stages at once.
#include "dsl/base/error.h"
#include "dsl/directives/directives.h"

namespace tilewright::dsl {
namespace {

void need_place(CheckContext& context) {
    context.need_whole_stage();
    if (!context.stage.output) return;
    context.refuse("is an output of the kernel, so it is computed and stored at the root.", "Take the directive away.");
}

void set_root(CheckContext& context, Level& level) {
    level.kind = Level::Kind::root;
    level.at = context.directive.at;
}

void set_level(CheckContext& context, Level& level) {
    level.kind = Level::Kind::at;
    level.at = context.directive.at;
    level.stage = context.name(0);
    level.loop = context.name(1);
    const auto target = context.model.stages.find(level.stage);
    if (target == context.model.stages.end()) {
        context.refuse_at(0, "there is no stage " + level.stage + ".", context.model.stage_hint(level.stage));
    } else if (level.stage == context.stage.name) {
        context.refuse_at(0, "cannot be placed inside itself.", "Name a stage that reads it.");
    }
}

void check_inline(CheckContext& context) {
    need_place(context);
    if (!context.stage.pure()) {
        context.refuse("cannot be inlined, because it has updates.", "Use compute_at(...) or compute_root().");
    }
    context.stage.compute.kind = Level::Kind::inlined;
    context.stage.compute.at = context.directive.at;
}
void check_compute_root(CheckContext& context) {
    context.need_whole_stage();
    set_root(context, context.stage.compute);
}
/// An output is stored at the root as it is.
template <Level StageModel::*level> void check_stored_at_root(CheckContext& context) {
    context.need_whole_stage();
    if (!context.stage.output) set_root(context, context.stage.*level);
}
template <Level StageModel::*level> void check_at(CheckContext& context) {
    need_place(context);
    set_level(context, context.stage.*level);
}

void check_compute_with(CheckContext& context) {
    context.need_outside_block("Write it outside.");
    const bool has_update = context.has(1) && context.directive.arguments[1].kind == Argument::Kind::expression;
    const auto other = context.model.stages.find(context.name(0));
    if (other == context.model.stages.end()) {
        context.refuse_at(0, "there is no stage " + context.name(0) + ".", context.model.stage_hint(context.name(0)));
    }
    if (context.name(0) == context.stage.name) {
        context.refuse_at(0, "cannot be computed with itself.");
    }
    std::int64_t update = -1;
    if (has_update) {
        update = context.number(1, "the update");
        if (update < 0 || update + 1 >= static_cast<std::int64_t>(other->second.definitions.size())) {
            context.refuse_text_at(1, context.name(0) + ": has no update " + std::to_string(update) + ".");
        }
    }
    context.definition.with =
        FuseWith{context.name(0), static_cast<int>(update), context.name(has_update ? 2 : 1), context.directive.at};
    context.touch();
}

void apply_compute_with(ApplyContext& context) {
    using Halide::LoopAlignStrategy;
    const FuseWith& with = *context.check.definition.with;
    const std::string& last = context.check.directive.arguments.back().name;
    const LoopAlignStrategy align = last == "align_start" ? LoopAlignStrategy::AlignStart
                                    : last == "align_end" ? LoopAlignStrategy::AlignEnd
                                    : last == "no_align"  ? LoopAlignStrategy::NoAlign
                                                          : LoopAlignStrategy::Auto;
    const StageModel& other = context.check.model.stages.at(with.stage);
    const HalideDefinition& partner = context.definitions.at(&other.definitions[with.update + 1]);
    const auto loop = partner.loops.find(with.loop);
    if (loop == partner.loops.end()) {
        throw ScheduleError(context.check.where() + ": " + with.stage + " has no loop " + with.loop + " yet.",
                            "Write compute_with after the directives of " + with.stage + ".");
    }
    context.definition.stage.compute_with(partner.stage, loop->second, align);
}

void on_finished_model(ApplyContext&) {} // apply() places stages when every loop has its final name

} // namespace

std::vector<DirectiveRow> placement_rows() {
    return {
        {"inline", "a[i] = f(i); b[i] = g(a[i])   ->   b[i] = g(f(i))", check_inline, on_finished_model},
        {"compute_root", "b[i] = g(f(i))   ->   for i: a[i] = f(i); for i: b[i] = g(a[i])", check_compute_root,
         on_finished_model},
        {"compute_at",
         "for io: for ii: b = g(f)   ->   for io: {for ii: a = f}; for ii: b = g(a)     (a.compute_at(b, io))",
         check_at<&StageModel::compute>, on_finished_model},
        {"compute_with",
         "for i: a[i] = f(i); for i: b[i] = g(i)   ->   for i: {a[i] = f(i); b[i] = g(i)}     (b.compute_with(a, i))",
         check_compute_with, apply_compute_with},
        {"store_root", "storage of a at its compute_at   ->   storage for all of a",
         check_stored_at_root<&StageModel::store>, on_finished_model},
        {"store_at",
         "storage at the loop of compute_at   ->   storage one loop further out, so that values are kept "
         "(a.store_at(b, io))",
         check_at<&StageModel::store>, on_finished_model},
        {"hoist_storage", "memory taken in each iteration   ->   once, outside the loop", check_at<&StageModel::hoist>,
         on_finished_model},
        {"hoist_storage_root", "memory taken in each iteration   ->   once a call",
         check_stored_at_root<&StageModel::hoist>, on_finished_model},
    };
}

} // namespace tilewright::dsl
