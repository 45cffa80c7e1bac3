// translator/plan/groups.cpp: which loops and branches become groups of kernels, and how their functions run them.
#include "translator/plan/groups.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "Halide.h"
#include "dsl/base/error.h"
#include "dsl/passes/kernel_groups.h"
#include "translator/ir/dtypes.h"
#include "translator/passes/passes.h"
#include "translator/plan/plan_of_program.h"
#include "translator/stages/analysis.h"

namespace tilewright::translator {
namespace {

using runtime::InGroup;
using runtime::PlanStep;
using runtime::StepKind;

/// Of so many operations a call of a group is: between calls the plan can be interrupted.
constexpr double kCallOperations = 1e7;

/// A task of a parallel loop should do about so many operations: handing it out then costs nothing.
constexpr double kTaskOperations = 100'000;

/// Of so few operations nothing runs in parallel, and nobody waits for them: branches and their kernels are one
/// function, where the plan would take 0.1 us for each of its steps.
constexpr double kBriefOperations = 20'000;

/// Of a loop whose end nobody knows.
constexpr double kGuessedIterations = 16;

/// Asking costs a few ns.
constexpr std::int64_t kMostBetweenAsks = 4096;

/// So many rows of a wavefront are under way at once: of seidel_2d 2, 4, 8 and 12 of them take 3.3, 1.9, 1.6 and 1.5 ns
/// an element, one after the other 4.7.
constexpr int kRowsTogether = 8;

double iterations(const dsl::DefinitionInfo& definition) {
    double product = 1;
    for (const dsl::LoopInfo& loop : definition.loops)
        product *= static_cast<double>(std::max<std::int64_t>(1, loop.extent_here));
    return product;
}

/// Every size and buffer that a group takes, each once.
class GroupArguments {
  public:
    GroupArguments(dsl::KernelGroup& group, const std::vector<dsl::KernelImpl>& kernels,
                   const std::function<Halide::Type(const std::string&)>& type_of)
        : group_(group) {
        std::vector<std::string> looked_at;
        runtime::for_each_step(group.steps, [&](const PlanStep& step) {
            if (!step.symbol.empty() && step.kind != StepKind::call) inside_.insert(step.symbol);
            if (step.in_group) inside_.insert(step.in_group->own.begin(), step.in_group->own.end());
            if (step.kind == StepKind::call || step.is_loop()) return;
            for (const Size& argument : step.arguments)
                if (argument.op() == Size::Op::symbol) looked_at.push_back(argument.name());
        });
        const std::vector<int> members = dsl::kernels_of(group.steps, kernels);
        for (const bool buffers : {false, true}) {
            for (const int number : members) {
                const dsl::KernelImpl& kernel = kernels[static_cast<std::size_t>(number)];
                for (std::size_t k = 0; k < kernel.arguments.size(); ++k)
                    if (kernel.arguments[k].is_buffer() == buffers) add(kernel.argument_names[k], kernel.arguments[k]);
                std::size_t output = 0;
                for (const Halide::Func& func : kernel.outputs)
                    for (const Halide::OutputImageParam& made : func.output_buffers())
                        if (buffers)
                            add_buffer(kernel.output_names[output++], made.name(), made.type(), made.dimensions());
            }
        }
        for (const std::string& name : looked_at)
            add_buffer(name, name + "_looked_at", type_of(name), 0);
    }

    /// A number of the program may be a size and a value, of two types: two arguments, of one plan name.
    void add(const std::string& name, const Halide::Argument& argument) {
        if (inside_.count(name) != 0) return;
        if (!known_.emplace(name, argument.is_buffer() ? "" : argument.name).second) return;
        group_.arguments.push_back(argument);
        group_.argument_names.push_back(name);
    }

  private:
    dsl::KernelGroup& group_;
    std::set<std::string> inside_;                        ///< plan names
    std::set<std::pair<std::string, std::string>> known_; ///< plan names, and names in kernels of what is no buffer

    void add_buffer(const std::string& name, const std::string& in_kernel, Halide::Type type, int dimensions) {
        add(name,
            Halide::Argument(in_kernel, Halide::Argument::InputBuffer, type, dimensions, Halide::ArgumentEstimates()));
    }
};

/// What is made twice, for a size below a number and above it.
bool is_choice_by_size(const PlanStep& step) {
    return step.kind == StepKind::branch && step.arguments[0].op() != Size::Op::symbol;
}

bool has_call(const std::vector<PlanStep>& steps) {
    bool found = false;
    runtime::for_each_step(steps, [&](const PlanStep& step) { found = found || step.kind == StepKind::call; });
    return found;
}

} // namespace

bool Groups::is_flat_copy(const Step& step) const {
    const BufferPlan* from = context_.stepped.buffer(step.from());
    const BufferPlan* to = context_.stepped.buffer(step.to());
    if (from == nullptr || to == nullptr || !same_shape(from->type.shape, to->type.shape)) return false;
    const auto is_flat = [&](const std::string& name) { return context_.options.layout(name) == Layout::c; };
    const bool complex_values = find_dtype(from->type.dtype)->is_complex();
    return !complex_values && is_flat(step.from()) && is_flat(step.to());
}

bool Groups::admit(const Step& step, PlanStep& planned) {
    if (context_.options.device) return false; // the plan launches each kernel; a group is one function of the host
    switch (step.kind) {
    case StepKind::for_range:
        if (!step.step().is_constant()) return false;
        planned.in_group = order_of(step, planned);
        return true;
    case StepKind::loop:
        planned.in_group = order_of_unbounded(step, planned);
        return true;
    case StepKind::leave_unless:
        return context_.stepped.buffer(step.from()) != nullptr;
    case StepKind::read: // what has limits fits 32 bits
        return step.limits && context_.stepped.buffer(step.from()) != nullptr;
    case StepKind::branch:
        if (!step.looks_at_memory() || context_.stepped.buffer(step.from()) == nullptr) return false;
        planned.in_group.emplace();
        return true;
    case StepKind::copy:
        if (!is_flat_copy(step)) return false;
        planned.in_group.emplace().count = product(context_.stepped.buffer(step.from())->type.shape);
        return true;
    default:
        return false;
    }
}

void Groups::form(std::vector<PlanStep>& steps) {
    std::vector<PlanStep> formed;
    for (std::size_t k = 0; k < steps.size();) {
        const auto run = std::span(steps).subspan(k, brief_run(std::span(steps).subspan(k)));
        PlanStep& step = steps[k];
        k += std::max<std::size_t>(run.size(), 1);
        if (!run.empty()) {
            formed.push_back(call_group({std::move_iterator(run.begin()), std::move_iterator(run.end())}));
        } else if (step.is_loop() && step.in_group && has_call(step.body)) {
            std::vector<PlanStep> loop;
            loop.push_back(std::move(step));
            formed.push_back(call_group(std::move(loop)));
        } else {
            form(step.body);
            form(step.otherwise);
            formed.push_back(std::move(step));
        }
    }
    steps = std::move(formed);
}

/// How many of the first steps are brief, with a branch that holds kernels among them; 0 where a function of theirs
/// gains nothing.
std::size_t Groups::brief_run(std::span<const PlanStep> steps) const {
    double work = 0;
    bool chooses = false;
    std::size_t count = 0;
    for (const PlanStep& step : steps) {
        if (!is_brief(step)) break;
        work += operations(step);
        chooses = chooses || (step.kind == StepKind::branch && (has_call(step.body) || has_call(step.otherwise)));
        ++count;
    }
    return chooses && work <= kBriefOperations ? count : 0;
}

bool Groups::is_brief(const PlanStep& step) const {
    if (step.kind == StepKind::call)
        return std::ranges::find(context_.kernels, step.symbol, &dsl::KernelImpl::name) != context_.kernels.end();
    bool has_loop = step.is_loop();
    for (const auto* inside : {&step.body, &step.otherwise})
        runtime::for_each_step(*inside, [&](const PlanStep& inner) { has_loop = has_loop || inner.is_loop(); });
    return step.in_group.has_value() && !has_loop;
}

PlanStep Groups::call_group(std::vector<PlanStep> steps) {
    // Loops that data end ask themselves whether they are interrupted.
    const bool in_blocks = steps.size() == 1 && steps[0].kind == StepKind::for_range;
    PlanStep blocks{{.kind = StepKind::for_range, .arguments = steps[0].arguments}};
    dsl::KernelGroup group;
    group.steps = std::move(steps);
    std::set<std::string> limits, others; ///< sizes that loops need to know their limits; those made or compared inside
    runtime::for_each_step(group.steps, [&](const PlanStep& step) {
        if (!step.symbol.empty() && step.kind != StepKind::call) others.insert(step.symbol);
        if (step.kind == StepKind::copy) step.in_group->count.collect_symbols(limits);
        if (step.is_loop() || is_choice_by_size(step))
            for (const Size& size : step.arguments)
                size.collect_symbols(step.is_loop() ? limits : others);
    });
    for (const std::string& name : others)
        context_.symbol(name);
    std::int64_t iterations_in_block = 1;
    if (in_blocks) blocks.symbol = cut_into_blocks(group.steps[0], iterations_in_block);
    if (!blocks.symbol.empty()) limits.insert(blocks.symbol);
    const std::vector<int> kernels = dsl::kernels_of(group.steps, context_.kernels);
    group.name = context_.kernels[static_cast<std::size_t>(std::ranges::min(kernels))].name;
    GroupArguments arguments(group, context_.kernels, [this](const std::string& name) {
        return storage_type(context_.stepped.buffer(name)->type.dtype);
    });
    for (const std::string& name : limits)
        arguments.add(name, Halide::Argument(context_.symbol(name), Halide::Argument::InputScalar, Halide::Int(32), 0,
                                             Halide::ArgumentEstimates()));
    PlanStep call = plan_call(group.name, group.argument_names);
    context_.groups.push_back(std::move(group));
    if (blocks.symbol.empty()) return call;
    blocks.arguments[2] = Size::integer(iterations_in_block * blocks.arguments[2].constant());
    blocks.body.push_back(std::move(call));
    return blocks;
}

/// Iterations in blocks; the plan gives the first of a block. The size that says which one, "" where one block is all.
std::string Groups::cut_into_blocks(PlanStep& loop, std::int64_t& iterations_in_block) {
    const Size all = loop.in_group->count;
    const Size &stop = loop.arguments[1], &step = loop.arguments[2];
    const double work = operations(loop) / static_cast<double>(iterations_here(loop));
    const double most = static_cast<double>(std::numeric_limits<std::int32_t>::max() / 4) /
                        static_cast<double>(std::abs(step.constant()));
    iterations_in_block = static_cast<std::int64_t>(std::clamp(kCallOperations / std::max(1.0, work), 1.0, most));
    if (all.is_constant() && all.constant() <= iterations_in_block) return "";
    const std::string block = context_.names.named(loop.symbol + "_block");
    const Size first = Size::symbol(block);
    const Size left =
        step.constant() > 0 ? ceil_div(stop - first, step.constant()) : ceil_div(first - stop, -step.constant());
    loop.arguments[0] = first;
    loop.in_group->count = smaller_of(left, Size::integer(iterations_in_block));
    return block;
}

std::int64_t Groups::iterations_here(const PlanStep& loop) const {
    const Size count = iterations(loop.arguments[0], loop.arguments[1], loop.arguments[2].constant());
    return std::max<std::int64_t>(1, evaluate(count, context_.options.sizes_here).value_or(1));
}

std::vector<std::string> Groups::own_numbers(const Step& loop) const {
    const std::set<std::string> own = own_of_each_iteration(context_.stepped, loop);
    return {own.begin(), own.end()};
}

InGroup Groups::order_of_unbounded(const Step& step, const PlanStep& loop) const {
    InGroup order;
    order.own = own_numbers(step);
    const double work = std::max(1.0, operations(loop) / kGuessedIterations);
    order.iterations_between_asks =
        std::clamp(static_cast<std::int64_t>(kCallOperations / work), std::int64_t{1}, kMostBetweenAsks);
    return order;
}

InGroup Groups::order_of(const Step& step, PlanStep& loop) {
    InGroup order;
    order.count = iterations(step.first(), step.stop(), step.step().constant());
    order.may_go_inside = step.body.size() == 1 && step.body[0].segment.lanes_apart && !loop.body.empty() &&
                          loop.body[0].kind == StepKind::call;
    order.own = own_numbers(step);
    order.parallel = why_not_independent(context_.stepped, step).empty() && !keeps_stages(loop);
    if (order.parallel) {
        const std::set<std::string> flags = context_.stepped.flags_of(step);
        order.flags.assign(flags.begin(), flags.end());
        // Iterations of the outermost loop are most.
        runtime::for_each_step(loop.body, [](PlanStep& inner) {
            if (inner.in_group) inner.in_group->parallel = false;
        });
        double work = 0;
        for (const PlanStep& inner : loop.body)
            work += operations(inner);
        order.iterations_per_task = static_cast<std::int64_t>(std::max(1.0, kTaskOperations / std::max(1.0, work)));
    }
    if (step.wavefront) order_as_wavefront(*step.wavefront, order, loop);
    describe_stages(step, loop, order);
    return order;
}

/// Whether iterations that run at once would write the same memory.
bool Groups::keeps_stages(const PlanStep& loop) const {
    return std::ranges::any_of(dsl::kernels_of(loop.body, context_.kernels), [&](int kernel) {
        const auto& names = context_.kernels[static_cast<std::size_t>(kernel)].output_names;
        return std::ranges::any_of(names, [&](const std::string& name) { return context_.kept.count(name) != 0; });
    });
}

void Groups::order_as_wavefront(const Wavefront& wavefront, InGroup& order, PlanStep& rows) {
    order.skew = static_cast<int>(wavefront.skew);
    order.rows_together = kRowsTogether;
    order.parallel = false;
    for (std::size_t k = 0; k < rows.body.size(); ++k) {
        InGroup& columns = *rows.body[k].in_group;
        columns.first_column = static_cast<int>(wavefront.first[k]);
        columns.parallel = false;
        columns.may_go_inside = false;
    }
    // Where a schedule says how many.
    const std::vector<int> kernels = dsl::kernels_of(rows.body, context_.kernels);
    for (dsl::StageInfo& info : context_.stages)
        if (info.output && info.kernel == std::ranges::max(kernels)) info.rows_together = kRowsTogether;
}

double Groups::operations(const PlanStep& step) const {
    // Of lengths that only the data know, short ones are the usual ones: a guess at the middle would be far too long.
    if (is_choice_by_size(step)) return static_cast<double>(kLongestSerialSum);
    double sum = 0;
    if (step.kind == StepKind::call) {
        const int kernel = dsl::kernels_of({step}, context_.kernels).front();
        for (const dsl::StageInfo& stage : context_.stages) {
            if (stage.kernel != kernel) continue;
            double runs = iterations(stage.pure);
            for (const dsl::DefinitionInfo& update : stage.updates)
                runs += iterations(update);
            sum += runs * std::max(1, stage.operations);
        }
    }
    for (const auto* steps : {&step.body, &step.otherwise})
        for (const PlanStep& inner : *steps)
            sum += operations(inner);
    if (step.kind == StepKind::loop) return sum * kGuessedIterations;
    return step.kind == StepKind::for_range ? sum * static_cast<double>(iterations_here(step)) : sum;
}

void Groups::describe_stages(const Step& step, const PlanStep& loop, const InGroup& order) {
    const std::vector<int> kernels = dsl::kernels_of(loop.body, context_.kernels);
    const bool alone = step.body.size() == 1 && loop.body.size() == 1 && loop.body[0].kind == StepKind::call;
    const auto iterations = static_cast<double>(iterations_here(loop));
    for (dsl::StageInfo& info : context_.stages) {
        if (std::ranges::find(kernels, info.kernel) == kernels.end()) continue;
        info.repeats *= iterations;
        info.scans = info.scans || (order.may_go_inside && alone);
        info.in_parallel = info.in_parallel || order.parallel;
    }
}

} // namespace tilewright::translator
