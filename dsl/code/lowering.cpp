// dsl/code/lowering.cpp: Halide's lowering with our passes.
#include "dsl/code/lowering.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/passes/kernel_groups.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using Halide::Target;
using Halide::Internal::Stmt;

namespace {

bool has_verb(const std::vector<Directive>& chain, const std::string& verb) {
    return std::any_of(chain.begin(), chain.end(), [&](const Directive& directive) { return directive.verb == verb; });
}

bool has_verb(const Schedule& schedule, const std::string& verb) {
    return std::any_of(schedule.statements.begin(), schedule.statements.end(),
                       [&](const Statement& statement) { return has_verb(statement.chain, verb); });
}

constexpr const char* kStorageBound = "halide_error_storage_bound_too_small";

/// fold_storage and bound_storage rest on claims that Halide checks at run time where it cannot prove them; kernels
/// check nothing, so a claim that needs a check is refused.
void verify_claims(Halide::Pipeline& pipeline, const KernelImpl& kernel, const Schedule& schedule, Target target) {
    if (!has_verb(schedule, "fold_storage") && !has_verb(schedule, "bound_storage")) return;
    target.set_feature(Target::NoAsserts, false);
    const Halide::Module module = pipeline.compile_to_module(kernel.arguments, kernel.name, target);
    for (const auto& function : module.functions()) {
        std::string found;
        for_each_node(function.body, [&](const Halide::Internal::Call* op) {
            for (const char* check : {"halide_error_bad_fold", "halide_error_fold_factor_too_small", kStorageBound})
                if (op->name == check) found = op->name;
        });
        if (found.empty()) continue;
        const bool fold = found != kStorageBound;
        throw ScheduleError(
            kernel.name + ": " + (fold ? "fold_storage" : "bound_storage") +
                ": it cannot be proved that so little storage is enough.",
            fold ? "Use store_at with compute_at further in; storage is then folded where that is proved."
                 : "Take it away.");
    }
}

} // namespace

Halide::Pipeline prepared(const KernelImpl& kernel, const Schedule& schedule, const Target& target) {
    Halide::Pipeline pipeline(kernel.outputs);
    const bool device = target.has_feature(Target::CUDA);
    if (device && target.get_cuda_capability_lower_bound() >= 80)
        add_statement_pass(pipeline, [](const Stmt& statement) { return lower_device_extremes(statement, true); });
    if (!device && !target.has_feature(Target::SSE41)) add_statement_pass(pipeline, round_to_even);
    add_passes(pipeline, device || target.has_feature(Target::F16C));
    if (!device) add_statement_pass(pipeline, add_lanes_in_vectors);
    std::set<std::string> inputs;
    for (const Halide::Argument& argument : kernel.arguments)
        if (argument.is_input() && argument.is_buffer()) inputs.insert(argument.name);
    const bool exact = target.has_feature(Target::StrictFloat);
    add_statement_pass(pipeline,
                       [=, placed = kernel.placed, halves = kernel.halves, traffic = kernel.traffic](Stmt statement) {
                           if (!placed.empty()) statement = place_outputs(statement, placed);
                           // Threads of a device store next to each other as it is.
                           if (!halves.empty() && !device) statement = interleave_halves(statement, halves);
                           if (!traffic.prefetches.empty())
                               statement = insert_prefetches(statement, traffic.prefetches, inputs);
                           if (!traffic.nontemporal.empty()) statement = stream_stores(statement, traffic.nontemporal);
                           if (!device) return statement;
                           statement = device_functions_in_blocks(device_launches(statement));
                           statement = whole_threads(branch_device_predicates(statement));
                           return exact ? exact_device_arithmetic(statement) : statement;
                       });
    verify_claims(pipeline, kernel, schedule, target);
    return pipeline;
}

LoweredStatement lower_kernel(const KernelImpl& kernel, const Schedule& schedule, const Target& target) {
    LoweredStatement result;
    Halide::Pipeline pipeline = prepared(kernel, schedule, target);
    add_statement_pass(pipeline, [&result](const Stmt& statement) {
        result.statement = statement;
        return Halide::Internal::Evaluate::make(0);
    });
    result.strict = pipeline.compile_to_module(kernel.arguments, kernel.name, target).any_strict_float();
    return result;
}

LoweredStatement lower_group(const KernelGroup& group, const AlgorithmImpl& impl, const Schedule& schedule,
                             const Target& target) {
    if (target.has_feature(Target::CUDA)) {
        throw ScheduleError(
            group.name + ": loops of the program around kernels are one function with them, which the host runs.",
            "Translate it for a device (TranslateOptions::device): the plan then launches each kernel.");
    }
    std::map<int, Stmt> statements;
    LoweredStatement result;
    for (const int number : kernels_of(group.steps, impl.kernels)) {
        LoweredStatement lowered = lower_kernel(impl.kernels[static_cast<std::size_t>(number)], schedule, target);
        statements[number] = std::move(lowered.statement);
        result.strict = result.strict || lowered.strict;
    }
    result.statement = compose_group(group, impl, statements);
    return result;
}

} // namespace tilewright::dsl
