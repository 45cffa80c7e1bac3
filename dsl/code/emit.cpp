// dsl/code/emit.cpp: scheduled Funcs to object code.
#include "dsl/code/emit.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/base/targets.h"
#include "dsl/check/check.h"
#include "dsl/code/code_generation.h"
#include "dsl/code/isa.h"
#include "dsl/code/lowering.h"
#include "dsl/code/same_code.h"
#include "dsl/model/algorithm_impl.h"
#include "dsl/passes/kernel_groups.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using Halide::Target;

Target halide_target(const std::string& isa, bool strict) {
    const std::string level = resolve_isa(isa);
    std::vector<Target::Feature> features = {Target::NoRuntime, Target::NoAsserts, Target::NoBoundsQuery};
    if (strict) features.push_back(Target::StrictFloat);
    if (const int capability = cuda_capability(level)) {
        // The host's part only launches: it runs on every x86-64.
        const std::map<int, Target::Feature> capabilities = {{70, Target::CUDACapability70},
                                                             {75, Target::CUDACapability75},
                                                             {80, Target::CUDACapability80},
                                                             {86, Target::CUDACapability86}};
        features.insert(features.end(), {Target::CUDA, capabilities.at(capability)});
        return Target(Target::Linux, Target::X86, 64, features);
    }
    if (isa_rank(level) >= 3)
        features.insert(features.end(), {Target::SSE41, Target::AVX, Target::F16C, Target::FMA, Target::AVX2});
    if (isa_rank(level) >= 4) features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
    return Target(Target::Linux, Target::X86, 64, features);
}

namespace {

/// Most bytes that the stack variables of one function may take: kernels also run on small threads of a pool.
constexpr std::int64_t kMaxStackBytes = 256 * 1024;

/// Refuses a function whose variables take too much of the stack.
void check_stack(const Halide::Internal::Stmt& body) {
    std::int64_t stack_bytes = 0, largest_bytes = 0;
    std::string largest;
    for_each_node(body, [&](const Halide::Internal::Allocate* op) {
        if (op->memory_type != Halide::MemoryType::Stack && op->memory_type != Halide::MemoryType::Register) return;
        const std::int64_t bytes = std::int64_t{op->constant_allocation_size()} * op->type.bytes();
        stack_bytes += bytes;
        if (bytes <= largest_bytes) return;
        largest_bytes = bytes;
        largest = op->name;
    });
    if (stack_bytes > kMaxStackBytes) {
        throw ScheduleError(largest + ": " + std::to_string(stack_bytes) + " bytes on the stack, more than " +
                                std::to_string(kMaxStackBytes) + ".",
                            "Use store_in(heap).");
    }
}

/// Our names for Halide's, which carry numbers when a name repeats in the process.
std::string with_our_names(std::string message, const AlgorithmImpl& algorithm) {
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& [ours, stage] : algorithm.stages)
        names.emplace_back(stage.func.name(), ours);
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& [theirs, ours] : names) {
        if (theirs == ours) continue;
        for (std::size_t at = message.find(theirs); at != std::string::npos;
             at = message.find(theirs, at + ours.size())) {
            message.replace(at, theirs.size(), ours);
        }
    }
    return message;
}

/// Bodies of parallel loops are functions named after Funcs, with numbers that count names in the process; the same
/// input has to give the same bytes.
void number_loop_functions(Halide::Module& module, const std::string& kernel) {
    std::map<std::string, std::string> renamed;
    int count = 0;
    for (auto& function : module.functions()) {
        if (function.linkage != Halide::LinkageType::Internal) continue;
        const std::string name = kernel + "_loop" + std::to_string(count++);
        renamed["::" + function.name] = "::" + name;
        function.name = name;
    }
    for (auto& function : module.functions())
        function.body = mutate_with(function.body, [&](Mutator&, const Halide::Internal::Variable* op) {
            const auto found = renamed.find(op->name);
            return found == renamed.end() ? Halide::Expr(op)
                                          : Halide::Internal::Variable::make(op->type, found->second);
        });
}

bool has_hints(const KernelImpl& kernel) {
    return !kernel.traffic.nontemporal.empty() || !kernel.traffic.prefetches.empty();
}

LoweredKernel lowered(const std::string& name, Halide::Module module, bool hints) {
    number_loop_functions(module, name);
    for (const auto& function : module.functions())
        check_stack(function.body);
    const std::int64_t nodes = nodes_of(module);
    return {name, std::move(module), hints, nodes};
}

LoweredKernel lowered(const KernelImpl& kernel, const Schedule& schedule, const EmitOptions& options) {
    const Target target = halide_target(options.isa, options.contract != "fast");
    return lowered(kernel.name,
                   prepared(kernel, schedule, target)
                       .compile_to_module(kernel.arguments, kernel.name, target, Halide::LinkageType::ExternalPlusArgv),
                   has_hints(kernel));
}

/// What Halide does after a lowering is done to the whole.
LoweredKernel lowered(const KernelGroup& group, const AlgorithmImpl& impl, const Schedule& schedule,
                      const EmitOptions& options) {
    const Target target = halide_target(options.isa, options.contract != "fast");
    const LoweredStatement statement = lower_group(group, impl, schedule, target);
    const std::vector<int> numbers = kernels_of(group.steps, impl.kernels);
    const bool hints = std::any_of(numbers.begin(), numbers.end(), [&](int number) {
        return has_hints(impl.kernels[static_cast<std::size_t>(number)]);
    });
    Halide::Module module(group.name, target);
    module.set_any_strict_float(statement.strict);
    std::vector<Halide::Internal::LoweredFunc> tasks;
    const Halide::Internal::Stmt whole =
        Halide::Internal::lower_parallel_tasks(statement.statement, tasks, group.name, target);
    for (const Halide::Internal::LoweredFunc& task : tasks)
        module.append(task);
    module.append(
        Halide::Internal::LoweredFunc(group.name, group.arguments, whole, Halide::LinkageType::ExternalPlusArgv));
    return lowered(group.name, std::move(module), hints);
}

/// What Halide reads once, before its first code.
void set_up_halide() {
    static std::once_flag once;
    std::call_once(once, [] {
        // LLVM makes branches of selects on a chain of dependent steps, where the condition is known late. What data
        // decide is not predicted: a checksum of random bytes takes 2.5 times as long.
        setenv("HL_LLVM_ARGS", "-x86-cmov-converter=false", /*replace=*/0);
#ifdef __SANITIZE_ADDRESS__
        // AddressSanitizer does not know the stack that Halide switches to, and takes an exception there for an
        // overflow.
        Halide::set_compiler_stack_size(0);
#endif
    });
}

} // namespace

Emitted emit(Algorithm algorithm, const Schedule& schedule, const EmitOptions& options) {
    set_up_halide();
    if (is_cuda_isa(schedule.target) != is_cuda_isa(options.isa)) {
        throw ScheduleError("the schedule is for " + (schedule.target.empty() ? "host" : schedule.target) +
                                ", and it is built for " + options.isa + ".",
                            "A CUDA device and a CPU need different schedules: write the target in the second line.");
    }
    // The schedule was applied already; its conditions follow from the text, so the model alone gives them.
    const auto conditions =
        options.guard_tails ? std::map<int, Preconditions>() : preconditions(algorithm.info(), schedule);
    const AlgorithmImpl& impl = algorithm.impl();
    Emitted result;
    result.plan = impl.plan;
    const auto named = [&](auto&& make) {
        try {
            return make();
        } catch (const ScheduleError& error) {
            throw ScheduleError(with_our_names(error.what(), impl));
        }
    };
    std::vector<LoweredKernel> kernels;
    std::vector<std::vector<std::string>> required;
    const auto lower = [&](const std::string& name, const std::vector<int>& numbers, auto&&... what) {
        kernels.push_back(named([&] { return guarded(name, [&] { return lowered(what..., schedule, options); }); }));
        std::vector<std::string>& all = required.emplace_back();
        for (const int number : numbers) {
            const auto found = conditions.find(number);
            if (found == conditions.end()) continue;
            const std::vector<std::string> text = found->second.text();
            all.insert(all.end(), text.begin(), text.end());
        }
    };
    std::set<int> grouped;
    for (const KernelGroup& group : impl.groups) {
        const std::vector<int> numbers = kernels_of(group.steps, impl.kernels);
        grouped.insert(numbers.begin(), numbers.end());
        lower(group.name, numbers, group, impl);
    }
    for (int k = 0; k < static_cast<int>(impl.kernels.size()); ++k) {
        if (grouped.count(k) != 0) continue;
        const KernelImpl& kernel = impl.kernels[static_cast<std::size_t>(k)];
        lower(kernel.name, {k}, kernel);
    }
    std::map<std::string, KernelCode> code; // by kernel
    named([&] { result.kernels = generate_code(std::move(kernels), options, &code); });
    for (std::size_t k = 0; k < required.size(); ++k)
        result.kernels[k].requires_ = std::move(required[k]);
    for (runtime::PlanVersionBody& version : result.plan.versions)
        runtime::for_each_step(version.steps, [&](runtime::PlanStep& step) {
            if (step.kind != runtime::StepKind::call) return;
            const KernelCode& of = code.at(step.symbol);
            step.object = of.object;
            step.symbol = of.symbol;
        });
    return result;
}

} // namespace tilewright::dsl
