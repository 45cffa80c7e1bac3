// dsl/emit.cpp: scheduled Funcs to object code.
#include "dsl/emit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "dsl/algorithm_impl.h"
#include "dsl/apply.h"
#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "dsl/device_code.h"
#include "dsl/halide_target.h"
#include "dsl/isa.h"
#include "dsl/object_symbols.h"
#include "dsl/passes/device_arithmetic.h"
#include "dsl/passes/device_extremes.h"
#include "dsl/passes/device_functions.h"
#include "dsl/passes/device_launches.h"
#include "dsl/passes/device_predicates.h"
#include "dsl/passes/interleaved_halves.h"
#include "dsl/passes/kernel_groups.h"
#include "dsl/passes/memory_hints.h"
#include "dsl/passes/nontemporal_stores.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/placed_outputs.h"
#include "dsl/passes/prefetch_lines.h"
#include "dsl/passes/statement_pass.h"
#include "dsl/passes/whole_threads.h"

namespace tilewright::dsl {

using Halide::OutputFileType;
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
    if (level != "x86-64") {
        features.insert(features.end(), {Target::SSE41, Target::AVX, Target::F16C, Target::FMA, Target::AVX2});
    }
    if (level == "x86-64-v4") features.insert(features.end(), {Target::AVX512, Target::AVX512_Skylake});
    return Target(Target::Linux, Target::X86, 64, features);
}

namespace {

/// Most bytes that the stack variables of one function may take: kernels also run on small threads of a pool.
constexpr std::int64_t kMaxStackBytes = 256 * 1024;

/// A file in memory that Halide can open by name: it only writes to files.
class MemoryFile {
  public:
    MemoryFile() : descriptor_(memfd_create("tilewright", MFD_CLOEXEC)) {
        if (descriptor_ < 0) throw InternalError("no memory for a file: memfd_create failed.");
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { close(descriptor_); }

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    std::string content() const {
        struct stat status {};
        if (fstat(descriptor_, &status) != 0) throw InternalError("a file in memory is gone.");
        std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
        std::size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t got = pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
            if (got <= 0) throw InternalError("a file in memory cannot be read.");
            done += static_cast<std::size_t>(got);
        }
        return bytes;
    }

  private:
    int descriptor_;
};

class FindAllocations : public Halide::Internal::IRVisitor {
  public:
    std::int64_t stack_bytes = 0;
    std::string largest;

  private:
    using Halide::Internal::IRVisitor::visit;
    std::int64_t largest_bytes_ = 0;
    void visit(const Halide::Internal::Allocate* op) override {
        const bool stack =
            op->memory_type == Halide::MemoryType::Stack || op->memory_type == Halide::MemoryType::Register;
        if (stack) {
            const std::int64_t bytes = std::int64_t{op->constant_allocation_size()} * op->type.bytes();
            stack_bytes += bytes;
            if (bytes > largest_bytes_) {
                largest_bytes_ = bytes;
                largest = op->name;
            }
        }
        IRVisitor::visit(op);
    }
};

class FindCallNames : public Halide::Internal::IRVisitor {
  public:
    explicit FindCallNames(std::vector<std::string> wanted) : wanted_(std::move(wanted)) {}
    std::string found;

  private:
    using Halide::Internal::IRVisitor::visit;
    std::vector<std::string> wanted_;
    void visit(const Halide::Internal::Call* op) override {
        if (std::find(wanted_.begin(), wanted_.end(), op->name) != wanted_.end()) found = op->name;
        IRVisitor::visit(op);
    }
};

bool has_verb(const std::vector<Directive>& chain, const std::string& verb) {
    return std::any_of(chain.begin(), chain.end(), [&](const Directive& directive) { return directive.verb == verb; });
}

bool has_verb(const Schedule& schedule, const std::string& verb) {
    return std::any_of(schedule.statements.begin(), schedule.statements.end(),
                       [&](const Statement& statement) { return has_verb(statement.chain, verb); });
}

/// fold_storage and bound_storage rest on claims that Halide checks at run time where it cannot prove them; kernels
/// check nothing, so a claim that needs a check is refused.
void verify_claims(Halide::Pipeline& pipeline, const KernelImpl& kernel, const Schedule& schedule, Target target) {
    if (!has_verb(schedule, "fold_storage") && !has_verb(schedule, "bound_storage")) return;
    target.set_feature(Target::NoAsserts, false);
    const Halide::Module module = pipeline.compile_to_module(kernel.arguments, kernel.name, target);
    for (const auto& function : module.functions()) {
        FindCallNames find(
            {"halide_error_bad_fold", "halide_error_fold_factor_too_small", "halide_error_storage_bound_too_small"});
        function.body.accept(&find);
        if (find.found.empty()) continue;
        const bool fold = find.found != "halide_error_storage_bound_too_small";
        throw ScheduleError(
            kernel.name + ": " + (fold ? "fold_storage" : "bound_storage") +
                ": it cannot be proved that so little storage is enough.",
            fold ? "Use store_at with compute_at further in; storage is then folded where that is proved."
                 : "Take it away.");
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
    class Rename : public Halide::Internal::IRMutator {
      public:
        std::map<std::string, std::string> names;

      private:
        using Halide::Internal::IRMutator::visit;
        Halide::Expr visit(const Halide::Internal::Variable* op) override {
            const auto found = names.find(op->name);
            return found == names.end() ? Halide::Expr(op) : Halide::Internal::Variable::make(op->type, found->second);
        }
    } rename;
    int count = 0;
    for (auto& function : module.functions()) {
        if (function.linkage != Halide::LinkageType::Internal) continue;
        const std::string name = kernel + "_loop" + std::to_string(count++);
        rename.names["::" + function.name] = "::" + name;
        function.name = name;
    }
    for (auto& function : module.functions())
        function.body = rename.mutate(function.body);
}

/// A kernel with all that has to be done to it before it is compiled.
Halide::Pipeline prepared(const KernelImpl& kernel, const Schedule& schedule, const Target& target) {
    Halide::Pipeline pipeline(kernel.outputs);
    if (target.has_feature(Target::CUDA) && target.get_cuda_capability_lower_bound() >= 80)
        add_device_extremes_pass(pipeline);
    add_passes(pipeline);
    add_placed_outputs_pass(pipeline, kernel.placed);
    // Threads of a device store next to each other as it is.
    if (!target.has_feature(Target::CUDA)) add_interleaved_halves_pass(pipeline, kernel.halves);
    if (!kernel.traffic.prefetches.empty()) {
        std::set<std::string> inputs;
        for (const Halide::Argument& argument : kernel.arguments)
            if (argument.is_input() && argument.is_buffer()) inputs.insert(argument.name);
        add_prefetch_lines_pass(pipeline, kernel.traffic.prefetches, std::move(inputs));
    }
    if (!kernel.traffic.nontemporal.empty()) add_nontemporal_stores_pass(pipeline, kernel.traffic.nontemporal);
    if (target.has_feature(Target::CUDA)) {
        const bool exact = target.has_feature(Target::StrictFloat);
        add_statement_pass(pipeline, [exact](const Halide::Internal::Stmt& statement) {
            const Halide::Internal::Stmt blocks = device_functions_in_blocks(device_launches(statement));
            const Halide::Internal::Stmt launches = whole_threads(branch_device_predicates(blocks));
            return exact ? exact_device_arithmetic(launches) : launches;
        });
    }
    verify_claims(pipeline, kernel, schedule, target);
    return pipeline;
}

/// `hints`: whether the schedule asks for stores past the caches or for prefetches.
EmittedKernel compile(Halide::Module module, const std::string& name, bool hints, const EmitOptions& options) {
    number_loop_functions(module, name);
    for (const auto& function : module.functions()) {
        FindAllocations allocations;
        function.body.accept(&allocations);
        if (allocations.stack_bytes > kMaxStackBytes) {
            throw ScheduleError(allocations.largest + ": " + std::to_string(allocations.stack_bytes) +
                                    " bytes on the stack, more than " + std::to_string(kMaxStackBytes) + ".",
                                "Use store_in(heap).");
        }
    }

    EmittedKernel result;
    const bool device = module.target().has_feature(Target::CUDA);
    if (device) {
        DeviceCode code = finish_device_code(module, name, options.contract != "fast");
        module = std::move(code.module);
        result.device_code = std::move(code.text);
        result.device_kernels = code.kernels;
        result.shared_bytes = code.shared_bytes;
    }

    MemoryFile object;
    MemoryFile assembly;
    MemoryFile lowered;
    std::map<OutputFileType, std::string> files = {{OutputFileType::object, object.path()}};
    if (options.assembly) {
        files[OutputFileType::assembly] = assembly.path();
        files[device ? OutputFileType::conceptual_stmt : OutputFileType::stmt] = lowered.path();
    }
    module.compile(files);

    result.name = name;
    result.object = object.content();
    if (hints) {
        const MemoryHints found = apply_memory_hints(result.object);
        result.nontemporal_stores = found.stores;
        result.prefetches = found.prefetches;
    }
    if (options.assembly) {
        result.assembly = device ? result.device_code : assembly.content();
        result.lowered = lowered.content();
    }
    for (const std::string& symbol : undefined_symbols(result.object)) {
        if (runtime_has(symbol) || (device && device_runtime_has(symbol))) continue;
        throw ScheduleError(name + ": the schedule needs " + symbol + ", which kernels do not have.",
                            symbol.find("mutex") != std::string::npos ? "Take atomic() away." : "");
    }
    return result;
}

bool has_hints(const KernelImpl& kernel) {
    return !kernel.traffic.nontemporal.empty() || !kernel.traffic.prefetches.empty();
}

EmittedKernel emit_kernel(const KernelImpl& kernel, const Schedule& schedule, const EmitOptions& options) {
    const Target target = halide_target(options.isa, options.contract != "fast");
    return compile(prepared(kernel, schedule, target)
                       .compile_to_module(kernel.arguments, kernel.name, target, Halide::LinkageType::ExternalPlusArgv),
                   kernel.name, has_hints(kernel), options);
}

/// Each kernel is lowered on its own; what Halide does after a lowering is done to the whole.
EmittedKernel emit_group(const KernelGroup& group, const std::vector<KernelImpl>& kernels, const Schedule& schedule,
                         const EmitOptions& options) {
    const Target target = halide_target(options.isa, options.contract != "fast");
    if (target.has_feature(Target::CUDA)) {
        throw ScheduleError(
            group.name + ": loops of the program around kernels are one function with them, which the host runs.",
            "Translate it for a device (TranslateOptions::device): the plan then launches each kernel.");
    }
    std::map<int, Halide::Internal::Stmt> statements;
    bool hints = false, strict = false;
    for (const int number : kernels_of(group.steps)) {
        const KernelImpl& kernel = kernels[static_cast<std::size_t>(number)];
        hints = hints || has_hints(kernel);
        Halide::Pipeline pipeline = prepared(kernel, schedule, target);
        add_statement_pass(pipeline, [&statements, number](const Halide::Internal::Stmt& statement) {
            statements[number] = statement;
            return Halide::Internal::Evaluate::make(0);
        });
        const Halide::Module lowered = pipeline.compile_to_module(kernel.arguments, kernel.name, target);
        strict = strict || lowered.any_strict_float();
    }
    Halide::Module module(group.name, target);
    module.set_any_strict_float(strict);
    std::vector<Halide::Internal::LoweredFunc> tasks;
    const Halide::Internal::Stmt whole =
        Halide::Internal::lower_parallel_tasks(compose_group(group, kernels, statements), tasks, group.name, target);
    for (const Halide::Internal::LoweredFunc& task : tasks)
        module.append(task);
    module.append(
        Halide::Internal::LoweredFunc(group.name, group.arguments, whole, Halide::LinkageType::ExternalPlusArgv));
    return compile(std::move(module), group.name, hints, options);
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
        throw ScheduleError(
            "the schedule is for " + (schedule.target.empty() ? "host" : schedule.target) + ", and it is built for " +
                options.isa + ".",
            "Schedules for CUDA devices and for CPUs are different ones: write the target in the second line.");
    }
    // The schedule was applied already; its conditions follow from the text, so the model alone gives them.
    const auto conditions =
        options.guard_tails ? std::map<int, Preconditions>() : preconditions(algorithm.info(), schedule);
    const AlgorithmImpl& impl = algorithm.impl();
    Emitted result;
    result.plan_header = impl.plan_header;
    result.plan_body = impl.plan_body;
    const auto named = [&](const std::string& name, auto&& make) {
        try {
            result.kernels.push_back(guarded(name, make));
        } catch (const ScheduleError& error) {
            throw ScheduleError(with_our_names(error.what(), impl));
        }
    };
    const auto require = [&](int kernel) {
        const auto found = conditions.find(kernel);
        if (found == conditions.end()) return;
        const std::vector<std::string> text = found->second.text();
        std::vector<std::string>& all = result.kernels.back().requires_;
        all.insert(all.end(), text.begin(), text.end());
    };
    std::set<int> grouped;
    for (const KernelGroup& group : impl.groups) {
        named(group.name, [&] { return emit_group(group, impl.kernels, schedule, options); });
        for (const int kernel : kernels_of(group.steps)) {
            grouped.insert(kernel);
            require(kernel);
        }
    }
    for (int k = 0; k < static_cast<int>(impl.kernels.size()); ++k) {
        if (grouped.count(k) != 0) continue;
        const KernelImpl& kernel = impl.kernels[static_cast<std::size_t>(k)];
        named(kernel.name, [&] { return emit_kernel(kernel, schedule, options); });
        require(k);
    }
    return result;
}

} // namespace tilewright::dsl
