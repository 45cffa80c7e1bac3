// translator/stages/kernels.cpp: parameters, stages and arguments of the kernels of one analysis.
#include "translator/stages/kernels.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "translator/stages/evaluator.h"
#include "translator/stages/reductions.h"

namespace tilewright::translator {
namespace {

using Halide::Expr;

void make_parameters(Shared& shared) {
    for (const std::string& name : shared.analysis.sizes()) {
        if (shared.sizes.count(name) != 0) continue;
        // Halide takes a parameter for the loop of the same name: an argument may be called i.
        const bool is_argument = name.find('.') == std::string::npos;
        shared.sizes.emplace(name, Halide::Param<int32_t>(shared.symbol(is_argument ? name + "_size" : name)));
    }
    auto add_scalar = [&](const std::string& name, const DTypeInfo& dtype) {
        if (shared.scalars.count(name) != 0) return;
        shared.scalars.emplace(name, Halide::Param<void>(storage_type(dtype), shared.symbol(name + "_value")));
    };
    for (const ScalarArgument& argument : shared.program.scalars) {
        const DTypeInfo& dtype = *find_dtype(argument.dtype);
        // A scalar without kernels may still be returned as it is; operations on it were refused.
        if (has_kernels(dtype)) add_scalar(argument.name, dtype);
    }
    for (const Operation& operation : shared.program.body.operations) {
        if (!is_half(operation.op)) continue;
        if (shared.analysis.value(operation.operands[0]).kind != ValueInfo::Kind::scalar) continue;
        add_scalar(operation.result, *find_dtype(operation.type.dtype));
    }
}

/// The loops of a stage that is computed element by element: one for each axis, or one over all elements.
std::vector<Size> loop_extents(const StagePlan& plan, const Type& type) {
    return plan.flat ? std::vector<Size>{product(type.shape)} : type.shape;
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
    if (plan.target != nullptr) {
        // One loop for each axis of the buffer, so that its elements are addressed as its own.
        std::size_t axis = 0;
        for (std::size_t k = 0; k < plan.target->region.size(); ++k) {
            const bool slice = plan.target->region[k].kind == IndexEntry::Kind::slice;
            const Halide::Var loop = stage.pure(loop_name(k), slice ? type.shape[axis++] : Size::integer(1));
            if (slice) index.push_back(loop);
        }
        stage.guarded = true;
    } else {
        index = stage.axes(loop_extents(plan, type));
    }
    evaluator.begin_definition();
    std::vector<Expr> values;
    for (const StageBuffer& buffer : buffers) {
        const std::string& dtype = shared.analysis.value(buffer.value).type.dtype;
        const Expr value = buffer.operation != nullptr ? evaluator.define(*buffer.operation, index, plan.flat)
                                                       : evaluator.at(buffer.value, index, plan.flat);
        values.push_back(to_memory(value, *find_dtype(dtype)));
        stage.dtypes.push_back(dtype);
    }
    stage.define(values, evaluator.operations());
    shared.funcs[plan.name] = stage.func();
    table.finish(std::move(stage));
}

std::string kernel_name(const std::string& function, int kernel) {
    std::string clean = identifier(function);
    if (clean.empty() || std::isdigit(static_cast<unsigned char>(clean[0])) != 0) clean = "f_" + clean;
    return clean + "_k" + std::to_string(kernel);
}

/// Outputs are C-contiguous and start at 0; a half of a complex result is every other float of one.
void bind_output(Shared& shared, Halide::OutputImageParam buffer, const std::vector<Size>& extents, int element_stride,
                 bool first) {
    const Exprs strides = shared.strides(extents, Layout::c, element_stride);
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        auto dim = buffer.dim(static_cast<int>(extents.size() - 1 - axis)).set_stride(strides[axis]);
        // The other elements of a Tuple have the bounds of the first, and Halide wants to hear that once.
        if (first) dim.set_bounds(0, shared.size(extents[axis]));
    }
}

/// Part of a buffer: strides of the buffer, and the place of its first element, which a pass adds to each store.
dsl::PlacedOutput bind_part(Shared& shared, Halide::Func func, const Target& target, const Type& part) {
    const std::size_t rank = target.type.shape.size();
    const Layout lies = shared.analysis.layout(target.buffer.substr(0, target.buffer.find('.')));
    Exprs strides = shared.strides(target.type.shape, lies, Shared::element_stride(target.buffer));
    for (std::size_t axis = 0; axis < rank && lies == Layout::any; ++axis)
        strides[axis] = Halide::Internal::Variable::make(Halide::Int(32),
                                                         func.name() + ".stride." + std::to_string(rank - 1 - axis));
    Expr offset = 0;
    Halide::OutputImageParam buffer = func.output_buffer();
    Exprs steps(rank);
    std::size_t part_axis = 0;
    const std::vector<Size>& shape = part.shape;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const IndexEntry& entry = target.region[axis];
        const bool slice = entry.kind == IndexEntry::Kind::slice;
        auto dimension = buffer.dim(static_cast<int>(rank - 1 - axis));
        dimension.set_bounds(0, slice ? shared.size(shape[part_axis++]) : Expr(1));
        offset = offset + shared.size(entry.start) * strides[axis];
        const Expr step = slice ? shared.size(entry.step) : Expr(1);
        steps[rank - 1 - axis] = Halide::Internal::simplify(step * strides[axis]);
        dimension.set_stride(lies == Layout::any ? Expr() : steps[rank - 1 - axis]);
    }
    return {func.name(), Halide::Internal::simplify(offset), steps, "", ""};
}

dsl::KernelImpl make_kernel(Shared& shared, StageTable& table, const Used& used, int number, int offset) {
    dsl::KernelImpl kernel;
    kernel.name = kernel_name(shared.program.function, offset + number);
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
        if (stage.target != nullptr) {
            dsl::PlacedOutput placed = bind_part(shared, func, *stage.target, shared.analysis.value(stage.value).type);
            if (used.arrays.count(stage.operand) != 0) placed.input = shared.arrays.at(stage.operand).name();
            if (used.flat.count(stage.operand) != 0) {
                // The value of one element is there before the element is stored, wherever it reads.
                const auto is_position = [](const IndexEntry& entry) {
                    return entry.kind == IndexEntry::Kind::position;
                };
                if (!std::ranges::all_of(stage.target->region, is_position))
                    throw InternalError(stage.name + ": reads its own buffer by position.");
                placed.flat_input = shared.flat.at(stage.operand).name();
            }
            kernel.placed.push_back(std::move(placed));
        }
        const std::vector<Halide::OutputImageParam> parameters = func.output_buffers();
        for (std::size_t k = 0; k < buffers.size(); ++k) {
            if (stage.target == nullptr)
                bind_output(shared, parameters[k], loop_extents(stage, shared.analysis.value(buffers[k].value).type),
                            Shared::element_stride(buffers[k].operand), k == 0);
            kernel.output_names.push_back(buffers[k].operand);
        }
        if (buffers.size() == 2 && stage.target == nullptr && buffers[0].operand.ends_with(".real") &&
            buffers[1].operand.ends_with(".imag"))
            kernel.halves.push_back({parameters[0].name(), parameters[1].name()});
        kernel.outputs.push_back(func);
    }
    return kernel;
}

} // namespace

void build_kernels(Shared& shared, StageTable& table, std::vector<dsl::KernelImpl>& kernels) {
    const Analysis& analysis = shared.analysis;
    const int offset = static_cast<int>(kernels.size());
    make_parameters(shared);
    for (int number = 0; number < analysis.kernels(); ++number) {
        Evaluator evaluator(shared, number);
        for (const StagePlan& plan : analysis.stages()) {
            if (plan.library || plan.kernel != number) continue;
            const bool reduces =
                plan.operation != nullptr && (is_reduction(plan.operation->op) || plan.operation->op == Op::matmul);
            evaluator.begin_stage(plan.name);
            if (plan.is_loop())
                build_pixelwise(shared, table, evaluator, plan);
            else if (reduces)
                ReductionBuilder(shared, table, evaluator, plan).build();
            else
                build_elementwise(shared, table, evaluator, plan);
        }
        kernels.push_back(make_kernel(shared, table, evaluator.used(), number, offset));
    }
}

} // namespace tilewright::translator
