// translator/translate.cpp: (Program, variant) -> Algorithm: stages, then kernels, then the plan's text.
#include "translator/translate.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/analysis.h"
#include "translator/complex.h"
#include "translator/evaluator.h"
#include "translator/loops/branches.h"
#include "translator/loops/pixelwise_stage.h"
#include "translator/plan_writer.h"
#include "translator/reductions.h"
#include "translator/stage_table.h"

namespace tilewright::translator {
namespace {

using Halide::Expr;

void make_parameters(Shared& shared) {
    for (const std::string& name : shared.analysis.sizes()) {
        // Halide takes a parameter for the loop of the same name: an argument may be called i.
        const bool is_argument = name.find('.') == std::string::npos;
        shared.sizes.emplace(name, Halide::Param<int32_t>(shared.symbol(is_argument ? name + "_size" : name)));
    }
    for (const ScalarArgument& argument : shared.program.scalars) {
        const DType& dtype = *find_dtype(argument.dtype);
        // A scalar without kernels may still be returned as it is; operations on it were refused.
        if (!has_kernels(dtype)) continue;
        shared.scalars.emplace(argument.name,
                               Halide::Param<void>(storage_type(dtype), shared.symbol(argument.name + "_value")));
    }
    for (const Operation& operation : shared.program.body.operations) {
        if (!is_half(operation.op)) continue;
        if (shared.analysis.value(operation.operands[0]).kind != ValueInfo::Kind::scalar) continue;
        shared.scalars.emplace(operation.result, Halide::Param<void>(storage_type(operation.type.dtype),
                                                                     shared.symbol(operation.result + "_value")));
    }
}

/// A stage that is computed element by element, the copy of a view, or several of these as one Tuple.
void build_elementwise(Shared& shared, StageTable& table, Evaluator& evaluator, const StagePlan& plan) {
    const std::vector<StageBuffer> buffers = plan.buffers();
    const Type& type = shared.analysis.value(buffers[0].value).type;
    StageDraft stage(shared, plan.name);
    const StageBuffer& last = buffers.back();
    stage.operation = last.operation != nullptr ? last.operation : shared.analysis.value(last.value).operation;
    stage.output = plan.materialised;
    stage.kernel = plan.kernel;
    Exprs index;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
        names.push_back(loop_name(k));
        index.push_back(stage.pure(names.back(), tree_of(type.shape[k])));
    }
    evaluator.begin_definition();
    std::vector<Expr> values;
    for (const StageBuffer& buffer : buffers) {
        const std::string& dtype = shared.analysis.value(buffer.value).type.dtype;
        Expr value = buffer.operation != nullptr ? evaluator.define(*buffer.operation, index)
                                                 : evaluator.at(buffer.value, index);
        values.push_back(dtype == "bool" ? Halide::cast<uint8_t>(value) : value);
        stage.dtypes.push_back(dtype);
    }
    stage.define({names.rbegin(), names.rend()}, values, evaluator.operations());
    shared.funcs[plan.name] = stage.func();
    table.finish(std::move(stage));
}

std::string kernel_name(const std::string& function, int kernel) {
    std::string clean;
    for (char c : function)
        clean += std::isalnum(static_cast<unsigned char>(c)) != 0 && (c & 0x80) == 0 ? c : '_';
    if (clean.empty() || std::isdigit(static_cast<unsigned char>(clean[0])) != 0) clean = "f_" + clean;
    return clean + "_k" + std::to_string(kernel);
}

/// Outputs are C-contiguous and start at 0; a half of a complex result is every other float of one.
void bind_output(Shared& shared, Halide::OutputImageParam buffer, const Type& type, int element_stride, bool first) {
    const std::size_t rank = type.shape.size();
    Expr stride = element_stride;
    for (std::size_t d = 0; d < rank; ++d) {
        Expr extent = shared.size(type.shape[rank - 1 - d]);
        Halide::Internal::Dimension dim = buffer.dim(static_cast<int>(d)).set_stride(stride);
        // The other elements of a Tuple have the bounds of the first, and Halide wants to hear that once.
        if (first) dim.set_bounds(0, extent);
        stride = Halide::Internal::is_const_one(stride)   ? extent
                 : Halide::Internal::is_const_one(extent) ? stride
                                                          : stride * extent;
    }
}

dsl::KernelImpl make_kernel(Shared& shared, StageTable& table, const Used& used, int number) {
    dsl::KernelImpl kernel;
    kernel.name = kernel_name(shared.program.function, number);
    for (const std::string& name : shared.analysis.sizes()) {
        kernel.arguments.emplace_back(shared.sizes.at(name));
        kernel.argument_names.push_back(name);
    }
    std::vector<std::string> inputs;
    for (const std::string& name : shared.program.argument_order) {
        inputs.push_back(name);
        for (const Operation& operation : shared.program.body.operations) {
            if (is_half(operation.op) && operation.operands[0] == name) inputs.push_back(operation.result);
        }
    }
    for (const std::string& name : inputs) {
        if (used.scalars.count(name) == 0) continue;
        kernel.arguments.emplace_back(shared.scalars.at(name));
        kernel.argument_names.push_back(shared.analysis.operand(name));
    }
    auto add_input = [&](const std::string& name, const Halide::ImageParam& image) {
        kernel.arguments.emplace_back(image);
        kernel.argument_names.push_back(shared.analysis.operand(name));
    };
    for (const StagePlan& stage : shared.analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers())
            inputs.push_back(buffer.name);
    }
    for (const std::string& name : inputs) {
        if (used.arrays.count(name) != 0) add_input(name, shared.arrays.at(name));
        if (used.flat.count(name) != 0) add_input(name, shared.flat.at(name));
    }
    for (const StagePlan& stage : shared.analysis.stages()) {
        if (stage.library || stage.kernel != number || !stage.materialised) continue;
        Halide::Func func = table.impls.at(stage.name).func;
        const std::vector<StageBuffer> buffers = stage.buffers();
        const std::vector<Halide::OutputImageParam> parameters = func.output_buffers();
        for (std::size_t k = 0; k < buffers.size(); ++k) {
            bind_output(shared, parameters[k], shared.analysis.value(buffers[k].value).type,
                        Shared::element_stride(buffers[k].operand), k == 0);
            kernel.output_names.push_back(buffers[k].operand);
        }
        kernel.outputs.push_back(func);
    }
    return kernel;
}

dsl::Algorithm build(const Program& program, const TranslateOptions& options) {
    Analysis analysis(program, options);
    Shared shared{program, options, analysis, {}, {}, {}, {}, {}, {}, {}};
    // Names of stages first: schedules and lowered code then show them unchanged.
    make_parameters(shared);
    StageTable table(shared);
    auto impl = std::make_unique<dsl::AlgorithmImpl>();
    for (int number = 0; number < analysis.kernels(); ++number) {
        Evaluator evaluator(shared, number);
        for (const StagePlan& plan : analysis.stages()) {
            if (plan.library || plan.kernel != number) continue;
            bool reduces =
                plan.operation != nullptr && (is_reduction(plan.operation->op) || plan.operation->op == "matmul");
            evaluator.begin_stage(plan.name);
            if (plan.is_loop())
                build_pixelwise(shared, table, evaluator, plan);
            else if (reduces)
                ReductionBuilder(shared, table, evaluator, plan).build();
            else
                build_elementwise(shared, table, evaluator, plan);
        }
        impl->kernels.push_back(make_kernel(shared, table, evaluator.used(), number));
    }
    dsl::AlgorithmInfo info;
    info.function = program.function;
    info.variant = analysis.chosen();
    info.stages = std::move(table.infos);
    for (const std::string& name : analysis.sizes())
        info.sizes.push_back({name, analysis.here(SizeTree::symbol(name))});
    impl->stages = std::move(table.impls);
    impl->sizes = shared.sizes;
    impl->inputs = shared.arrays;
    // The long axis of an argument goes by its own name: its extent is none of the argument's.
    for (const auto& [name, image] : shared.flat)
        impl->inputs.emplace(image.name(), image);
    impl->plan_header = plan_header(program, analysis);
    impl->plan_body = plan_body(program, analysis, impl->kernels);
    return dsl::Algorithm(std::move(impl), std::move(info));
}

} // namespace

Layout layout_of(const std::string& name) {
    if (name == "c") return Layout::c;
    if (name == "f") return Layout::f;
    if (name == "any") return Layout::any;
    throw InternalError("translate options: layout '" + name + "' is none of c, f, any.");
}

dsl::Algorithm translate(const Program& program, const TranslateOptions& options) {
    verify_program(program);
    return guarded<TranslateError>(program.function,
                                   [&] { return build(branches_as_values(split_complex(program)), options); });
}

} // namespace tilewright::translator
