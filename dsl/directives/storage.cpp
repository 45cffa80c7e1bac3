// dsl/directives/storage.cpp: directives about the memory of a stage, its bounds, and what is fetched ahead.
#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/directives/directives.h"

namespace tilewright::dsl {
namespace {

/// Storage has axes, not loops: only the names of the unscheduled pure definition will do.
void need_axis(CheckContext& context, std::size_t argument) {
    const auto& axes = context.stage.axes;
    if (std::find(axes.begin(), axes.end(), context.name(argument)) != axes.end()) return;
    context.refuse_at(argument, "there is no axis " + context.name(argument) + ".",
                      axes.empty() ? "It has no axes." : "Its axes are: " + joined(axes) + ".");
}

// ---- storage --------------------------------------------------------------------------------------------------------

void check_store_in(CheckContext& context) {
    context.need_internal_storage();
    if (context.name(0) == "gpu_shared" && !context.model.device) {
        context.refuse_at(0,
                          "store_in(gpu_shared) is memory of a CUDA device, and this schedule is for " +
                              (context.model.target.empty() ? "a CPU" : context.model.target) + ".",
                          "Use store_in(stack).");
    }
    context.stage.memory = context.name(0);
    context.stage.memory_at = context.directive.at;
}
void apply_store_in(ApplyContext& context) {
    const std::string& memory = context.name(0);
    context.stage.func.store_in(memory == "heap"         ? Halide::MemoryType::Heap
                                : memory == "stack"      ? Halide::MemoryType::Stack
                                : memory == "register"   ? Halide::MemoryType::Register
                                : memory == "gpu_shared" ? Halide::MemoryType::GPUShared
                                                         : Halide::MemoryType::Auto);
}

/// An axis, and a number that is said of it.
void check_internal_factor(CheckContext& context, const char* what) {
    context.need_internal_storage();
    need_axis(context, 0);
    context.factor(1, what);
}

void check_fold_storage(CheckContext& context) {
    check_internal_factor(context, "the extent");
}
void apply_fold_storage(ApplyContext& context) {
    const bool forward = !context.check.has(2) || context.name(2) == "forward";
    context.stage.func.fold_storage(context.pure_var(0), context.number(0), forward);
}

void check_reorder_storage(CheckContext& context) {
    context.need_internal_storage();
    if (context.directive.arguments.size() < 2) {
        context.refuse("reorder_storage needs at least two axes.");
    }
    for (std::size_t k = 0; k < context.directive.arguments.size(); ++k) {
        need_axis(context, k);
        for (std::size_t other = 0; other < k; ++other) {
            if (context.name(other) == context.name(k)) {
                context.refuse_at(k, "reorder_storage names " + context.name(k) + " twice.");
            }
        }
    }
}
void apply_reorder_storage(ApplyContext& context) {
    std::vector<Halide::Var> axes;
    for (std::size_t k = 0; k < context.check.directive.arguments.size(); ++k)
        axes.push_back(context.pure_var(k));
    context.stage.func.reorder_storage(axes);
}

void check_align_storage(CheckContext& context) {
    check_internal_factor(context, "the alignment");
}
void apply_align_storage(ApplyContext& context) {
    context.stage.func.align_storage(context.pure_var(0), context.number(0));
}

void check_bound_storage(CheckContext& context) {
    check_internal_factor(context, "the bound");
}
void apply_bound_storage(ApplyContext& context) {
    context.stage.func.bound_storage(context.pure_var(0), context.number(0));
}

// ---- bounds ---------------------------------------------------------------------------------------------------------

/// Bounds that do not hold would be silently wrong, since kernels check nothing: each becomes a condition on the
/// full extent of the axis. A stage inside the kernel may then compute more than is read, never more than exists.
std::string full_extent(const CheckContext& context, const std::string& axis) {
    const StageInfo* const stage = context.model.algorithm().find(context.stage.name);
    if (stage == nullptr) return "";
    const auto loop = std::ranges::find(stage->pure.loops, axis, &LoopInfo::name);
    return loop == stage->pure.loops.end() || loop->follows ? "" : loop->extent;
}

void need_known_extent(CheckContext& context, const std::string& extent) {
    if (!extent.empty()) return;
    context.refuse(context.directive.verb + " needs an axis whose extent follows from sizes.", "Take it away.");
}

void set_constant(CheckContext& context, const std::string& axis, std::int64_t value) {
    for (DefinitionModel& definition : context.stage.definitions) {
        for (Loop& loop : definition.nest.loops) {
            if (loop.origin == Loop::Origin::base && loop.axis == axis && !loop.reduced) loop.constant = value;
        }
    }
}

void require_equal(CheckContext& context, std::size_t axis, std::int64_t value) {
    const std::string extent = full_extent(context, context.name(axis));
    need_known_extent(context, extent);
    if (!context.model.preconditions[context.stage.kernel].equal(extent, value)) {
        context.refuse_loop(context.name(axis), "its extent is " + extent + ", not " + std::to_string(value) + ".",
                            "Write " + extent + ".");
    }
    set_constant(context, context.name(axis), value);
}

void check_bound(CheckContext& context) {
    context.need_whole_stage();
    need_axis(context, 0);
    const std::int64_t least = context.number(1, "the minimum");
    const std::int64_t extent = context.factor(2, "the extent");
    if (least != 0) {
        context.refuse_text_at(1,
                               context.where(context.name(0)) + ": bound with a minimum of " + std::to_string(least) +
                                   ": axes begin at 0.",
                               "Write bound(" + context.name(0) + ", 0, " + std::to_string(extent) + ").");
    }
    if (context.guards()) return; // the version without conditions must not rely on it
    require_equal(context, 0, extent);
}
void apply_bound(ApplyContext& context) {
    if (context.check.guards()) return;
    context.stage.func.bound(context.pure_var(0), context.number(0), context.number(1));
}

void check_bound_extent(CheckContext& context) {
    context.need_whole_stage();
    need_axis(context, 0);
    const std::int64_t extent = context.factor(1, "the extent");
    if (context.guards()) return;
    if (!context.stage.output) {
        context.refuse_loop(context.name(0),
                            "bound_extent could reach beyond the axis, since this stage may be computed in parts.",
                            "Write bound(" + context.name(0) + ", 0, " + std::to_string(extent) + ").");
    }
    require_equal(context, 0, extent);
}
void apply_bound_extent(ApplyContext& context) {
    if (context.check.guards()) return;
    context.stage.func.bound_extent(context.pure_var(0), context.number(0));
}

void check_align_bounds(CheckContext& context) {
    context.need_whole_stage();
    need_axis(context, 0);
    const std::int64_t modulus = context.factor(1, "the modulus");
    const std::int64_t remainder = context.has(2) ? context.number(2, "the remainder") : 0;
    if (context.guards()) return;
    if (remainder != 0) {
        context.refuse_text_at(2,
                               context.where(context.name(0)) + ": align_bounds with remainder " +
                                   std::to_string(remainder) + " would leave the array: axes begin at 0.",
                               "Write align_bounds(" + context.name(0) + ", " + std::to_string(modulus) + ").");
    }
    const std::string extent = full_extent(context, context.name(0));
    need_known_extent(context, extent);
    if (!context.model.preconditions[context.stage.kernel].divisible(extent, modulus)) {
        context.refuse_loop(context.name(0),
                            "its extent is " + extent + ", not a multiple of " + std::to_string(modulus) + ".",
                            "Use a factor of " + extent + ".");
    }
}
void apply_align_bounds(ApplyContext& context) {
    if (context.check.guards()) return;
    context.stage.func.align_bounds(context.pure_var(0), context.number(0));
}

// ---- prefetch -------------------------------------------------------------------------------------------------------

void check_prefetch(CheckContext& context) {
    refuse_on_device(context, "Take it away: other warps run while one waits for memory.");
    const std::string& from = context.name(0);
    const bool stage = context.model.stages.count(from) > 0;
    const bool argument = !stage && context.stage.arguments.count(from) > 0;
    const bool reads = std::any_of(context.definition.calls.begin(), context.definition.calls.end(),
                                   [&](const CallInfo& call) { return call.stage == from; });
    if (!argument && !(stage && reads)) {
        context.refuse_at(0, "it does not read " + from + ".",
                          stage ? "Name a stage or an argument that it reads." : context.model.stage_hint(from));
    }
    const int at = context.loop(1);
    const int base = context.loop(2);
    if (context.definition.nest.place(base) > context.definition.nest.place(at)) {
        context.refuse_at(2,
                          "prefetch counts in loop " + context.name(2) + ", which lies inside " + context.name(1) +
                              ", where it stands.",
                          "Name " + context.name(1) + " or a loop outside it.");
    }
    if (context.has(3)) {
        const std::int64_t offset = context.number(3, "the offset");
        if (offset < 0 || offset > (1 << 20)) {
            context.refuse_at(3, "prefetch by " + std::to_string(offset) + " iterations.",
                              "Write a small number such as 2.");
        }
    }
    context.touch();
}
void apply_prefetch(ApplyContext& context) {
    using Halide::PrefetchBoundStrategy;
    PrefetchBoundStrategy bounds = PrefetchBoundStrategy::GuardWithIf;
    if (context.check.has(4) && context.name(4) == "clamp") bounds = PrefetchBoundStrategy::Clamp;
    if (context.check.has(4) && context.name(4) == "non_faulting") bounds = PrefetchBoundStrategy::NonFaulting;
    const Halide::Expr offset = context.check.numbers.empty() ? Halide::Expr(1) : context.number(0);
    const Halide::VarOrRVar at = context.loop(context.name(1));
    const Halide::VarOrRVar from = context.loop(context.name(2));
    const auto stage = context.algorithm.stages.find(context.name(0));
    if (stage != context.algorithm.stages.end()) {
        context.definition.stage.prefetch(stage->second.func, at, from, offset, bounds);
        return;
    }
    const auto input = context.algorithm.inputs.find(context.name(0));
    if (input == context.algorithm.inputs.end()) {
        throw ScheduleError(context.check.where() + ": " + context.name(0) + " is not an array.");
    }
    context.definition.stage.prefetch(input->second.parameter(), at, from, offset, bounds);
}

} // namespace

std::vector<DirectiveRow> storage_rows() {
    return {
        {"store_in", "heap memory   ->   the stack, or registers     (store_in(stack))", check_store_in,
         apply_store_in},
        {"fold_storage", "a[i]   ->   a[i % 4]: only 4 rows are kept     (fold_storage(i, 4))", check_fold_storage,
         apply_fold_storage},
        {"reorder_storage", "a[i][j]   ->   a[j][i] in memory     (reorder_storage(i, j): innermost first)",
         check_reorder_storage, apply_reorder_storage},
        {"align_storage", "rows of 100   ->   rows of 112 in memory     (align_storage(j, 16))", check_align_storage,
         apply_align_storage},
        {"bound_storage", "memory for as much as is needed   ->   for 64     (bound_storage(j, 64))",
         check_bound_storage, apply_bound_storage},
        {"bound", "for i in 0..n   ->   for i in 0..4; the kernel then requires n == 4     (bound(i, 0, 4))",
         check_bound, apply_bound},
        {"bound_extent", "as bound(i, 0, 4), without a minimum     (bound_extent(i, 4))", check_bound_extent,
         apply_bound_extent},
        {"align_bounds",
         "for i in 0..n   ->   for i in 0..8*m; the kernel then requires n % 8 == 0     (align_bounds(i, 8))",
         check_align_bounds, apply_align_bounds},
        {"prefetch", "for i: s(x[i])   ->   for i: prefetch x[i + 2]; s(x[i])     (prefetch(x, i, i, 2))",
         check_prefetch, apply_prefetch},
    };
}

} // namespace tilewright::dsl
