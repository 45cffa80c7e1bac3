// translator/plan/plan_of_program.cpp: from a program and its kernels to a plan.
#include "translator/plan/plan_of_program.h"

#include <algorithm>

#include "translator/loops/access.h"
#include "translator/parts/rows.h"

namespace tilewright::translator {
namespace {

using runtime::PlanRequirement;
using runtime::PlanStep;
using runtime::StepKind;

DType dtype_of(const Type& type) {
    return find_dtype(type.dtype)->dtype;
}

std::vector<Size> symbols_of(const std::vector<std::string>& names) {
    std::vector<Size> out;
    for (const std::string& name : names)
        out.push_back(Size::symbol(name));
    return out;
}

/// As people write extents: X.shape[0].
std::string with_shapes(Size size) {
    for (const std::string& name : size.symbols())
        if (const std::size_t dot = name.find('.'); dot != std::string::npos)
            size = substitute(size, name, Size::symbol(name.substr(0, dot) + ".shape[" + name.substr(dot + 1) + "]"));
    return size.text();
}

} // namespace

runtime::Plan plan_of_program(const Program& program, const TranslateOptions& options,
                              const std::vector<std::string>& conditions, const std::vector<std::string>& returned) {
    runtime::Plan plan;
    plan.function = program.function;
    runtime::PlanVersionBody& version = plan.versions.emplace_back();
    for (const std::string& condition : conditions)
        version.requirements.push_back({PlanRequirement::Kind::condition, "", parse_condition(condition)});
    const std::vector<std::string> sliced = sliced_arguments(program);
    for (const std::string& name : program.argument_order) {
        const auto named = [&](const auto& each) { return each.name == name; };
        if (std::ranges::find(sliced, name) != sliced.end()) plan.sliced.push_back(plan.arguments.size());
        const auto array = std::ranges::find_if(program.arrays, named);
        if (array == program.arrays.end()) {
            const auto scalar = std::ranges::find_if(program.scalars, named);
            plan.arguments.push_back({name, find_dtype(scalar->dtype)->dtype, false});
            continue;
        }
        const bool written = std::ranges::any_of(program.writes, [&](const Write& w) { return w.argument == name; });
        plan.arguments.push_back(
            {name, dtype_of(array->type), true, static_cast<int>(array->type.shape.size()), written});
    }
    for (const ArrayArgument& argument : program.arrays) {
        const Layout lies = options.layout(argument.name);
        if (lies != Layout::any && !argument.type.shape.empty())
            version.requirements.push_back(
                {lies == Layout::c ? PlanRequirement::Kind::layout_c : PlanRequirement::Kind::layout_f,
                 argument.name,
                 {}});
    }
    for (const Guard& guard : program.guards)
        plan.guards.push_back({guard.condition, guard.message});
    plan.returns = returned;
    plan.numbers = program.conversions;
    plan.returns_tuple = program.returns_tuple;
    return plan;
}

runtime::Plan plan_of_kernels(const Program& program, const TranslateOptions& options, const Analysis& analysis,
                              const std::vector<dsl::KernelImpl>& kernels) {
    runtime::Plan plan = plan_of_program(program, options, analysis.requirements(), analysis.returned());
    runtime::PlanVersionBody& version = plan.versions[0];
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            const Type& type = analysis.value(buffer.value).type;
            // Halves are written into the results that follow.
            if (buffer.result && buffer.operand == buffer.name)
                plan.results.push_back(plan_buffer(buffer.name, type));
            else if (stage.materialised && !buffer.result)
                version.steps.push_back(add_temporary(version, plan_buffer(buffer.name, type)));
        }
    }
    for (const auto& [name, type] : analysis.complex_results())
        plan.results.push_back(plan_buffer(name, type));
    for (PlanStep& call : plan_calls(analysis, kernels))
        version.steps.push_back(std::move(call));
    return plan;
}

void guard_types(runtime::Plan& plan, const Program& program) {
    std::vector<runtime::PlanGuard> more;
    for (const ArrayArgument& array : program.arrays) {
        for (std::size_t axis = 0; axis < array.type.shape.size(); ++axis) {
            const Size own = Size::symbol(array.name + "." + std::to_string(axis));
            const Size& extent = array.type.shape[axis];
            const Size same = Size::binary(Size::Op::eq, own, extent);
            const Size turned = Size::binary(Size::Op::eq, extent, own);
            const bool known = std::ranges::any_of(
                plan.guards, [&](const auto& each) { return each.condition == same || each.condition == turned; });
            if (own == extent || known) continue;
            more.push_back({same, with_shapes(own) + " must equal " + with_shapes(extent) +
                                      ". Pass arrays whose sizes agree, or tune the function with such ones too."});
        }
    }
    plan.guards.insert(plan.guards.begin(), more.begin(), more.end());
}

runtime::PlanBuffer plan_buffer(const std::string& name, const Type& type) {
    return {name, dtype_of(type), type.shape};
}

PlanStep add_temporary(runtime::PlanVersionBody& version, runtime::PlanBuffer buffer) {
    version.temporaries.push_back(std::move(buffer));
    return {{.kind = StepKind::temporary}, "", version.temporaries.size() - 1};
}

PlanStep plan_call(const std::string& symbol, const std::vector<std::string>& arguments) {
    return {{.symbol = symbol, .arguments = symbols_of(arguments)}, symbol};
}

std::vector<PlanStep> plan_calls(const Analysis& analysis, std::span<const dsl::KernelImpl> kernels) {
    std::vector<PlanStep> out;
    auto libraries_before = [&](std::size_t kernel) {
        for (const StagePlan& stage : analysis.stages()) {
            if (!stage.library || stage.kernel != static_cast<int>(kernel)) continue;
            std::vector<std::string> arrays = stage.library_operands;
            for (std::size_t k = 0; k < arrays.size(); ++k)
                if (!stage.library_axes[k].empty()) arrays[k] += "^" + stage.library_axes[k];
            arrays.push_back(stage.operand);
            if (stage.operation->op == Op::call)
                out.push_back({{.kind = StepKind::stage,
                                .arguments = symbols_of(arrays),
                                .message = stage.operation->attributes.at(attr::callee).text}});
            else
                out.push_back({{.kind = StepKind::matmul, .symbol = "matmul", .arguments = symbols_of(arrays)}});
        }
    };
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        libraries_before(k);
        std::vector<std::string> arguments = kernels[k].argument_names;
        arguments.insert(arguments.end(), kernels[k].output_names.begin(), kernels[k].output_names.end());
        out.push_back(plan_call(kernels[k].name, arguments));
    }
    libraries_before(kernels.size());
    return out;
}

} // namespace tilewright::translator
