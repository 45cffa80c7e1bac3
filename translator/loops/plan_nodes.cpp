// translator/loops/plan_nodes.cpp: which loops become groups of kernels, and the plan's text.
#include "translator/loops/plan_nodes.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <utility>

#include "dsl/base/error.h"
#include "translator/analysis.h"
#include "translator/attributes.h"
#include "translator/dtypes.h"
#include "translator/loops/independence.h"
#include "translator/plan_writer.h"

namespace tilewright::translator {
namespace {

/// Of so many operations a call of a group is: between calls the plan can be interrupted.
constexpr double kCallOperations = 1e7;

/// A task of a parallel loop should do about so many operations: handing it out then costs nothing.
constexpr double kTaskOperations = 100'000;

/// So many rows of a wavefront are under way at once: of seidel_2d 2, 4, 8 and 12 of them take 3.3, 1.9, 1.6 and 1.5 ns
/// an element, one after the other 4.7.
constexpr int kRowsTogether = 8;

bool contains_kernel(const PlanNode& node) {
    const auto any = [](const std::vector<PlanNode>& nodes) {
        return std::any_of(nodes.begin(), nodes.end(), contains_kernel);
    };
    return !node.kernels.empty() || any(node.body) || any(node.other);
}

Size trips_of(const Step& range) {
    return trips(range.first, range.stop, range.step.constant());
}

double iterations(const dsl::DefinitionInfo& definition) {
    double product = 1;
    for (const dsl::LoopInfo& loop : definition.loops)
        product *= static_cast<double>(std::max<std::int64_t>(1, loop.extent_here));
    return product;
}

void clear_parallel(std::vector<dsl::KernelStep>& steps) {
    for (dsl::KernelStep& step : steps) {
        step.loop.parallel = false;
        clear_parallel(step.body);
        clear_parallel(step.other);
    }
}

void collect_kernels(const PlanNode& node, std::set<int>& kernels) {
    kernels.insert(node.kernels.begin(), node.kernels.end());
    for (const auto* nodes : {&node.body, &node.other})
        for (const PlanNode& inner : *nodes)
            collect_kernels(inner, kernels);
}

/// Every size and buffer that a group takes, each once.
class GroupArguments {
  public:
    GroupArguments(dsl::KernelGroup& group, const std::vector<dsl::KernelImpl>& kernels) : group_(group) {
        collect(group.steps);
        for (const int number : members_) {
            const dsl::KernelImpl& kernel = kernels[static_cast<std::size_t>(number)];
            for (std::size_t k = 0; k < kernel.arguments.size(); ++k)
                if (!kernel.arguments[k].is_buffer()) add(kernel.argument_names[k], kernel.arguments[k]);
        }
        for (const int number : members_) {
            const dsl::KernelImpl& kernel = kernels[static_cast<std::size_t>(number)];
            for (std::size_t k = 0; k < kernel.arguments.size(); ++k)
                if (kernel.arguments[k].is_buffer()) add(kernel.argument_names[k], kernel.arguments[k]);
            std::size_t output = 0;
            for (const Halide::Func& func : kernel.outputs)
                for (const Halide::OutputImageParam& buffer : func.output_buffers())
                    add(kernel.output_names[output++],
                        Halide::Argument(buffer.name(), Halide::Argument::InputBuffer, buffer.type(),
                                         buffer.dimensions(), Halide::ArgumentEstimates()));
        }
        for (const auto& [name, type] : looked_at_)
            add(name, Halide::Argument(name + "_looked_at", Halide::Argument::InputBuffer, type, 0,
                                       Halide::ArgumentEstimates()));
    }

    /// A number of the program may be a size and a value, each of its own type: an argument each, of one plan name.
    void add(const std::string& name, const Halide::Argument& argument) {
        if (inside_.count(name) != 0) return;
        if (!known_.emplace(name, argument.is_buffer() ? "" : argument.name).second) return;
        group_.arguments.push_back(argument);
        group_.argument_names.push_back(name);
    }

  private:
    dsl::KernelGroup& group_;
    std::vector<int> members_;
    std::set<std::string> inside_;                        ///< plan names
    std::set<std::pair<std::string, std::string>> known_; ///< plan names, and names in kernels of what is no buffer
    std::vector<std::pair<std::string, Halide::Type>> looked_at_;

    void collect(const std::vector<dsl::KernelStep>& steps) {
        for (const dsl::KernelStep& step : steps) {
            if (step.kind == dsl::KernelStep::Kind::kernel) members_.push_back(step.kernel);
            if (!step.symbol.empty()) inside_.insert(step.symbol);
            for (const auto& [name, type] : step.loop.own)
                inside_.insert(name);
            if (!step.from.empty()) looked_at_.emplace_back(step.from, step.type);
            if (!step.to.empty()) looked_at_.emplace_back(step.to, step.type);
            collect(step.body);
            collect(step.other);
        }
    }
};

} // namespace

std::string PlanText::text(const std::vector<PlanNode>& nodes, const std::string& indent) {
    std::string out;
    for (const PlanNode& node : nodes)
        out += text(node, indent);
    return out;
}

std::string PlanText::text(const PlanNode& node, const std::string& indent) {
    const Step& step = *node.step;
    const std::string deeper = indent + "  ";
    switch (step.kind) {
    case Step::Kind::check:
        return indent + "check " + step.from + " " + quoted(step.text) + "\n";
    case Step::Kind::read:
        return indent + "read " + step.index + " from " + step.from + "\n";
    case Step::Kind::temporary:
        return indent + "temp " + typed_name(step.from, buffer(step.from)->type);
    case Step::Kind::copy:
        return indent + "copy " + step.from + " to " + step.to + "\n";
    case Step::Kind::swap:
        return indent + "swap " + step.from + " " + step.to + "\n";
    case Step::Kind::leave:
        return indent + "leave unless " + step.from + "\n";
    case Step::Kind::segment: {
        std::string out;
        for (const std::string& line : node.lines)
            out += indent + line;
        return out;
    }
    case Step::Kind::loop:
        return indent + "loop {\n" + text(node.body, deeper) + indent + "}\n";
    case Step::Kind::range:
        if (has_group_form(node) && contains_kernel(node)) return call_group(node, indent);
        if (step.wavefront) throw InternalError("a wavefront is no group of kernels.");
        return indent + "for " + step.index + " from " + step.first.text() + " to " + step.stop.text() + " step " +
               step.step.text() + " {\n" + text(node.body, deeper) + indent + "}\n";
    case Step::Kind::at_most:
    case Step::Kind::branch: {
        const bool sizes = step.kind == Step::Kind::at_most;
        const std::string condition = step.condition ? step.condition->text() : step.from;
        std::string out = indent + "if " + (sizes ? step.first.text() + " <= " + step.stop.text() : condition) +
                          " {\n" + text(node.body, deeper);
        if (!node.other.empty()) out += indent + "} else {\n" + text(node.other, deeper);
        return out + indent + "}\n";
    }
    }
    return "";
}

const BufferPlan* PlanText::buffer(const std::string& name) const {
    const auto found = std::find_if(context_.stepped.buffers.begin(), context_.stepped.buffers.end(),
                                    [&](const BufferPlan& each) { return each.name == name; });
    return found == context_.stepped.buffers.end() ? nullptr : &*found;
}

bool PlanText::is_flat_copy(const Step& step) const {
    const BufferPlan* from = buffer(step.from);
    const BufferPlan* to = buffer(step.to);
    if (from == nullptr || to == nullptr || !same_shape(from->type.shape, to->type.shape)) return false;
    const auto is_flat = [&](const std::string& name) {
        const auto layout = context_.options.layouts.find(name);
        return layout == context_.options.layouts.end() || layout->second == Layout::c;
    };
    const bool complex_values = find_dtype(from->type.dtype)->is_complex();
    return !complex_values && is_flat(step.from) && is_flat(step.to);
}

bool PlanText::has_group_form(const PlanNode& node) const {
    const Step& step = *node.step;
    if (context_.options.device) return false; // the plan launches each kernel; a group is one function of the host
    const auto all = [this](const std::vector<PlanNode>& nodes) {
        return std::all_of(nodes.begin(), nodes.end(), [this](const PlanNode& each) { return has_group_form(each); });
    };
    switch (step.kind) {
    case Step::Kind::segment:
        return !node.plan_only;
    case Step::Kind::range:
        return step.step.is_constant() && all(node.body);
    case Step::Kind::read: // what has limits fits 32 bits
        return step.limited && buffer(step.from) != nullptr;
    case Step::Kind::at_most:
        return all(node.body) && all(node.other);
    case Step::Kind::branch:
        return buffer(step.from) != nullptr && all(node.body) && all(node.other);
    case Step::Kind::copy:
        return is_flat_copy(step);
    default:
        return false;
    }
}

std::string PlanText::call_group(const PlanNode& node, const std::string& indent) {
    dsl::KernelGroup group;
    group.steps = {loop_step(node)};
    const std::string block = in_blocks(node, group.steps[0].loop);
    std::set<int> kernels;
    collect_kernels(node, kernels);
    group.name = context_.kernels[static_cast<std::size_t>(*kernels.begin())].name;
    GroupArguments arguments(group, context_.kernels);
    // Sizes that only the limits of loops need.
    std::set<std::string> sizes;
    const std::function<void(const PlanNode&)> collect = [&](const PlanNode& each) {
        if (each.step->kind == Step::Kind::range)
            for (const Size& size : {each.step->first, each.step->stop, each.step->step})
                size.collect_symbols(sizes);
        if (each.step->kind == Step::Kind::copy) product(buffer(each.step->from)->type.shape).collect_symbols(sizes);
        for (const auto* nodes : {&each.body, &each.other})
            for (const PlanNode& inner : *nodes)
                collect(inner);
    };
    collect(node);
    if (!block.empty()) sizes.insert(block);
    for (const std::string& name : sizes)
        arguments.add(name, Halide::Argument(context_.symbol(name), Halide::Argument::InputScalar, Halide::Int(32), 0,
                                             Halide::ArgumentEstimates()));
    const std::string call = plan_call(group.name, group.argument_names);
    context_.groups.push_back(std::move(group));
    if (block.empty()) return indent + call;
    const Step& step = *node.step;
    return indent + "for " + block + " from " + step.first.text() + " to " + step.stop.text() + " step " +
           std::to_string(trips_in_block_ * step.step.constant()) + " {\n" + indent + "  " + call + indent + "}\n";
}

/// Trips in blocks, of which the plan gives the first. The size that says which one, "" where one block is all.
std::string PlanText::in_blocks(const PlanNode& node, dsl::KernelLoop& loop) {
    const Step& step = *node.step;
    const auto here = evaluate(trips_of(step), context_.options.sizes_here);
    const double work = operations(node) / static_cast<double>(std::max<std::int64_t>(1, here.value_or(1)));
    const double most = static_cast<double>(std::numeric_limits<std::int32_t>::max() / 4) /
                        static_cast<double>(std::abs(step.step.constant()));
    trips_in_block_ = static_cast<std::int64_t>(std::clamp(kCallOperations / std::max(1.0, work), 1.0, most));
    const Size all = trips_of(step);
    if (all.is_constant() && all.constant() <= trips_in_block_) return "";
    const std::string block = context_.unique(step.index + "_block");
    const Size first = Size::symbol(block);
    const Size left = step.step.constant() > 0 ? ceil_div(step.stop - first, step.step.constant())
                                               : ceil_div(first - step.stop, -step.step.constant());
    loop.first = context_.size(first);
    loop.trips = context_.size(smaller_of(left, Size::integer(trips_in_block_)));
    return block;
}

std::vector<dsl::KernelStep> PlanText::group_steps(const std::vector<PlanNode>& nodes) {
    std::vector<dsl::KernelStep> out;
    for (const PlanNode& node : nodes) {
        if (node.step->kind != Step::Kind::segment) {
            out.push_back(group_step(node));
            continue;
        }
        for (const int kernel : node.kernels) {
            dsl::KernelStep step;
            step.kernel = kernel;
            out.push_back(std::move(step));
        }
    }
    return out;
}

dsl::KernelStep PlanText::group_step(const PlanNode& node) {
    const Step& step = *node.step;
    if (step.kind == Step::Kind::range) return loop_step(node);
    dsl::KernelStep out;
    if (step.kind == Step::Kind::at_most) {
        out.kind = dsl::KernelStep::Kind::branch;
        out.condition = context_.size(step.first) <= context_.size(step.stop);
        out.body = group_steps(node.body);
        out.other = group_steps(node.other);
        return out;
    }
    out.from = step.from;
    out.type = storage_type(buffer(step.from)->type.dtype);
    if (step.kind == Step::Kind::copy) {
        out.kind = dsl::KernelStep::Kind::copy;
        out.to = step.to;
        out.elements = context_.size(product(buffer(step.from)->type.shape));
    } else if (step.kind == Step::Kind::branch) {
        out.kind = dsl::KernelStep::Kind::branch;
        out.body = group_steps(node.body);
        out.other = group_steps(node.other);
    } else {
        out.kind = dsl::KernelStep::Kind::read;
        out.symbol = step.index;
        out.variable = context_.symbol(step.index);
    }
    return out;
}

dsl::KernelStep PlanText::loop_step(const PlanNode& node) {
    const Step& step = *node.step;
    const Size trips = trips_of(step);
    dsl::KernelStep out;
    out.kind = dsl::KernelStep::Kind::loop;
    out.symbol = step.index;
    out.body = group_steps(node.body);
    out.loop.variable = context_.symbol(step.index);
    out.loop.first = context_.size(step.first);
    out.loop.step = context_.size(step.step);
    out.loop.trips = context_.size(trips);
    out.loop.may_go_inside = node.body.size() == 1 && node.body[0].step->segment.lanes_apart;
    for (const std::string& name : own_of_each_trip(context_.stepped, step))
        out.loop.own.emplace_back(name, storage_type(buffer(name)->type.dtype));
    out.loop.parallel = why_not_independent(context_.stepped, step).empty();
    if (out.loop.parallel) {
        clear_parallel(out.body); // trips of the outermost loop are most
        double work = 0;
        for (const PlanNode& inner : node.body)
            work += operations(inner);
        out.loop.trips_per_task = static_cast<std::int64_t>(std::max(1.0, kTaskOperations / std::max(1.0, work)));
    }
    if (step.wavefront) order_as_wavefront(node, out);
    const auto here = evaluate(trips, context_.options.sizes_here);
    describe_stages(node, out.loop, static_cast<double>(std::max<std::int64_t>(1, here.value_or(1))));
    return out;
}

void PlanText::order_as_wavefront(const PlanNode& node, dsl::KernelStep& rows) {
    rows.loop.skew = static_cast<int>(node.step->wavefront->skew);
    rows.loop.rows_together = kRowsTogether;
    rows.loop.parallel = false;
    for (std::size_t k = 0; k < rows.body.size(); ++k) {
        rows.body[k].loop.first_column = static_cast<int>(node.step->wavefront->first[k]);
        rows.body[k].loop.parallel = false;
        rows.body[k].loop.may_go_inside = false;
    }
    // Where a schedule says how many.
    std::set<int> kernels;
    collect_kernels(node, kernels);
    for (dsl::StageInfo& info : context_.stages)
        if (info.output && info.kernel == *kernels.rbegin()) info.rows_together = kRowsTogether;
}

double PlanText::operations(const PlanNode& node) const {
    // Of lengths that only the data know, short ones are the usual ones: a guess at the middle would be far too long.
    if (node.step->kind == Step::Kind::at_most) return static_cast<double>(longest_serial_sum());
    double sum = 0;
    for (const dsl::StageInfo& stage : context_.stages) {
        if (std::find(node.kernels.begin(), node.kernels.end(), stage.kernel) == node.kernels.end()) continue;
        double runs = iterations(stage.pure);
        for (const dsl::DefinitionInfo& update : stage.updates)
            runs += iterations(update);
        sum += runs * std::max(1, stage.operations);
    }
    for (const auto* nodes : {&node.body, &node.other})
        for (const PlanNode& inner : *nodes)
            sum += operations(inner);
    if (node.step->kind != Step::Kind::range) return sum;
    const auto trips = evaluate(trips_of(*node.step), context_.options.sizes_here);
    return sum * static_cast<double>(std::max<std::int64_t>(1, trips.value_or(1)));
}

void PlanText::describe_stages(const PlanNode& node, const dsl::KernelLoop& loop, double trips) {
    std::set<int> kernels;
    collect_kernels(node, kernels);
    const bool alone = node.body.size() == 1 && node.body[0].kernels.size() == 1;
    for (dsl::StageInfo& info : context_.stages) {
        if (kernels.count(info.kernel) == 0) continue;
        info.repeats *= trips;
        info.scans = info.scans || (loop.may_go_inside && alone);
        info.in_parallel = info.in_parallel || loop.parallel;
    }
}

} // namespace tilewright::translator
