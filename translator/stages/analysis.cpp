// translator/stages/analysis.cpp: which values are stages, which kernel each belongs to, and how they lie in memory.
#include "translator/stages/analysis.h"

#include <algorithm>
#include <numeric>

#include "dsl/base/error.h"
#include "translator/ir/attributes.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/element_order.h"
#include "translator/ir/values.h"
#include "translator/ir/walk.h"
#include "translator/loops/pixelwise.h"
#include "translator/ops/rules.h"
#include "translator/passes/passes.h"

namespace tilewright::translator {
Analysis::Analysis(const Program& program, const TranslateOptions& options, const SegmentContext& context)
    : program_(program), options_(options), context_(context) {
    collect_values();
    require_32_bits();
    choose_variants();
    collect_stages();
    keep_live();
    dissolve_readers_of_loops();
    join_readers_of_loops();
    join_halves();
    choose_state();
    assign_kernels();
    choose_axes();
    refuse_unknown_variants();
}

std::string Analysis::where(const Operation& operation) const {
    std::string file = program_.file.empty() ? program_.function : program_.file;
    return file + (operation.line > 0 ? ":" + std::to_string(operation.line) : "") + ": " + operation.result + " = " +
           call_text(operation);
}

std::string Analysis::unique(const std::string& wish) {
    std::string name = wish;
    for (int k = 2; names_.count(name) != 0 || (context_.names != nullptr && !context_.names->take(name)); ++k)
        name = wish + "_" + std::to_string(k);
    names_.insert(name);
    return name;
}

std::string Analysis::operand(const std::string& name) const {
    if (const auto found = buffer(name)) return found->operand;
    const ValueInfo& info = values_.at(name);
    return info.half_of.empty() ? name : info.half_of + "." + text_of(info.operation->op);
}

std::optional<StageBuffer> Analysis::buffer(const std::string& name) const {
    for (const StagePlan& stage : stages_)
        for (const StageBuffer& buffer : stage.buffers())
            if (buffer.name == name) return buffer;
    return std::nullopt;
}

Layout Analysis::layout(const std::string& name) const {
    auto value = values_.find(name);
    const bool half = value != values_.end() && !value->second.half_of.empty();
    return options_.layout(half ? value->second.half_of : name);
}

std::optional<Size> Analysis::most(const Size& size) const {
    return context_.moving == nullptr ? size : largest(size, *context_.moving);
}

std::int64_t Analysis::here(const Size& size) const {
    return evaluate(size, options_.sizes_here).value_or(-1);
}

const StagePlan* Analysis::stage_of_value(const std::string& value) const {
    const auto found = stage_of_value_.find(value);
    return found == stage_of_value_.end() ? nullptr : find_stage(found->second);
}

StageSource Analysis::source_of(const std::string& value, const std::string& reader) const {
    const ValueInfo& info = values_.at(value);
    StageSource out;
    auto buffer = buffer_of_value_.find(value);
    if (buffer != buffer_of_value_.end()) {
        for (const StagePlan& stage : stages_) {
            for (std::size_t k = 0; k < stage.joined.size() && stage.name != reader; ++k) {
                if (stage.joined[k].name == buffer->second) return {&stage, k, buffer->second};
            }
        }
    }
    out.stage = stage_of_value(value);
    out.buffer = out.stage->name;
    if (out.stage->is_loop()) {
        const auto& results = info.operation->more_results;
        std::size_t number = 0;
        for (std::size_t k = 0; k < results.size(); ++k)
            if (results[k].first == value) number = k + 1;
        const auto& state = out.stage->state;
        out.element = static_cast<std::size_t>(std::ranges::find(state, number) - state.begin());
    }
    return out;
}

const StagePlan* Analysis::find_stage(const std::string& name) const {
    const auto found = std::ranges::find(stages_, name, &StagePlan::name);
    return found == stages_.end() ? nullptr : &*found;
}

StagePlan& Analysis::stage(const std::string& name) {
    const auto found = std::ranges::find(stages_, name, &StagePlan::name);
    if (found == stages_.end()) throw InternalError("stage " + name + ": not in the table.");
    return *found;
}

void Analysis::refuse(const Operation& operation) const {
    if (operation.op == Op::for_loop || operation.op == Op::while_loop || operation.op == Op::if_else) {
        const std::string why = why_not_pixelwise(operation);
        if (why.empty()) return;
        std::string file = program_.file.empty() ? program_.function : program_.file;
        throw TranslateError(file + ":" + std::to_string(operation.line) + ": " + operation.result + " = " +
                                 text_of(operation.op) + " ...: not pixelwise: " + why +
                                 "; other control flow on traced values has no translation in this release.",
                             "Let NumPy run this function.");
    }
    // Of complex numbers, what is left are the two halves of arguments and the results.
    std::vector<std::string> dtypes;
    if (operation.op != Op::complex) dtypes.push_back(operation.type.dtype);
    for (const std::string& operand : operation.operands) {
        if (!is_half(operation.op)) dtypes.push_back(values_.at(operand).type.dtype);
    }
    for (const std::string& dtype : dtypes) {
        if (!is_translated(dtype))
            throw TranslateError(where(operation) + ": " + dtype + " has no translation" +
                                     (options_.device ? " for a device" : "") + " in this release.",
                                 "Use bool, an integer dtype, float32 or float64.");
    }
    if (operation.type.shape.size() > 12)
        throw TranslateError(where(operation) + ": has " + std::to_string(operation.type.shape.size()) +
                                 " axes; kernels have at most 12.",
                             "Reshape it to fewer axes.");
}

bool Analysis::is_translated(const std::string& dtype) const {
    // Devices have the instructions, but nobody has compared what they give with NumPy.
    return has_kernels(*find_dtype(dtype)) && !(options_.device && dtype == "float16");
}

/// A named value's own name, unless another segment has it: it is computed in both.
std::string Analysis::stage_name(const std::string& value) {
    if (context_.targets == nullptr) return value;
    const std::vector<std::string>& yields = program_.body.yields;
    for (std::size_t k = 0; k < yields.size(); ++k)
        if (yields[k] == value && (*context_.targets)[k].fresh) return value;
    names_.erase(value);
    return unique(value);
}

ValueInfo Analysis::describe(const Operation& operation, bool stage) const {
    ValueInfo info;
    info.operation = &operation;
    info.type = operation.type;
    info.kind = stage ? ValueInfo::Kind::stage : ValueInfo::Kind::expression;
    std::vector<OrderedOperand> operands;
    for (const std::string& name : operation.operands)
        operands.push_back({values_.at(name).type, values_.at(name).order});
    info.order = element_order(operation, operands, stage);
    if (is_half(operation.op)) info.half_of = operation.operands[0];
    // NumPy gives a scalar, not a view, for a single element.
    if (is_view(operation.op) && !(operation.op == Op::index && operation.type.shape.empty()))
        info.view_of = values_.at(operation.operands[0]).view_of;
    return info;
}

void Analysis::collect_values() {
    std::set<std::string> used;
    if (context_.targets != nullptr) {
        for (const Target& target : *context_.targets) {
            for (const Size& extent : target.type.shape)
                extent.collect_symbols(used);
            for (const IndexEntry& entry : target.region) {
                entry.start.collect_symbols(used);
                if (entry.kind == IndexEntry::Kind::slice) entry.step.collect_symbols(used);
            }
        }
    }
    for (const ArrayArgument& argument : program_.arrays) {
        names_.insert(argument.name);
        values_[argument.name] = {.kind = ValueInfo::Kind::array,
                                  .type = argument.type,
                                  .order = order_of(layout(argument.name), argument.type),
                                  .view_of = argument.name};
        for (const Size& extent : argument.type.shape)
            extent.collect_symbols(used);
    }
    for (const ScalarArgument& argument : program_.scalars) {
        names_.insert(argument.name);
        const Type type{argument.dtype, {}};
        values_[argument.name] = {
            .kind = ValueInfo::Kind::scalar, .type = type, .order = c_order(type), .view_of = argument.name};
    }
    for (const Operation& operation : program_.body.operations)
        names_.insert(operation.result);
    for (const Operation& operation : program_.body.operations) {
        refuse(operation);
        if (operation.op == Op::for_loop) {
            collect_loop(operation, used);
            continue;
        }
        collect_symbols(operation, used);
        const bool stage = is_stored(operation);
        values_[operation.result] = describe(operation, stage);
        if (stage)
            stage_names_[operation.result] =
                operation.result[0] != '%' ? stage_name(operation.result) : unique(text_of(operation.op));
    }
    for (const std::string& name : program_.argument_order) {
        bool is_array = values_.at(name).kind == ValueInfo::Kind::array;
        if (!is_array && used.count(name) != 0) sizes_.push_back(name);
        for (std::size_t k = 0; is_array && k < values_.at(name).type.shape.size(); ++k) {
            std::string symbol = name + "." + std::to_string(k);
            if (used.count(symbol) != 0) sizes_.push_back(symbol);
        }
    }
    for (const ArrayArgument& argument : program_.arrays) {
        const std::string& dtype = argument.type.dtype;
        if (!is_translated(dtype) && !find_dtype(dtype)->is_complex())
            throw TranslateError(program_.function + ": the argument " + argument.name + " is " + dtype +
                                     ", which has no translation for a device in this release.",
                                 "Use bool, an integer dtype, float32 or float64.");
    }
}

namespace {

/// Symbols that a size needs more than the low bits of: n // 4 fits 32 bits where n does not.
void collect_whole(const Size& tree, bool counts_whole, std::set<std::string>& symbols) {
    if (tree.op() == Size::Op::symbol && counts_whole) symbols.insert(tree.name());
    for (const Size& operand : tree.operands())
        collect_whole(operand, counts_whole || !wraps(tree.op()), symbols);
}

void collect_whole(const Operation& operation, std::set<std::string>& symbols) {
    const auto see = [&](const Size& tree) { collect_whole(tree, false, symbols); };
    for (const auto& [name, type] : results_of(operation))
        for (const Size& extent : type.shape)
            see(extent);
    if (operation.op != Op::read) operation.attributes.for_each_size(see);
    // As a value a size counts whole.
    if (const Size* size = operation.attributes.find(attr::size)) collect_whole(*size, true, symbols);
}

} // namespace

/// Kernels are given sizes as 32 bits. What an integer argument says of the sizes fits or is refused; where it is
/// divided for that, or compared, or a value that is computed from it is, the argument itself has to.
void Analysis::require_32_bits() {
    if (context_.targets != nullptr) return; // the program that the segment is of requires it (loops/build_stepped)
    std::set<std::string> whole;
    walk(program_.body, [&](const Operation& operation) { collect_whole(operation, whole); });
    for (const ScalarArgument& argument : program_.scalars) {
        if (whole.count(argument.name) == 0) continue;
        requirements_.push_back(argument.name + " <= " + std::to_string(INT32_MAX));
        requirements_.push_back(argument.name + " >= " + std::to_string(INT32_MIN));
    }
}

ReductionShape Analysis::reduction_shape(const Operation& operation) const {
    const SumOrder& order = operation.attributes.at(attr::order);
    ReductionShape out{reduced_axes(operation), order.joined, order.contiguous, Size::integer(1)};
    for (int axis : out.axes)
        out.extent = out.extent * values_.at(operation.operands[0]).type.shape[static_cast<std::size_t>(axis)];
    return out;
}

namespace {

/// Of a buffer, perhaps Z.real, which is no name in a schedule.
std::string schedule_name(std::string buffer) {
    std::ranges::replace(buffer, '.', '_');
    return buffer;
}

} // namespace

/// `of`: the argument that the operation's result is a view of, "" if it is none.
void Analysis::refuse_view(const Operation& operation, const std::string& of) const {
    if (of.empty() || values_.at(of).kind != ValueInfo::Kind::array) return;
    throw TranslateError(where(operation) + ": returns a view of " + of +
                             ", whose memory NumPy's result would share; a kernel gives new memory.",
                         "Let NumPy run this function, or return a copy.");
}

StagePlan Analysis::copy_of(const std::string& value, const std::string& name, const std::string& operand) const {
    StagePlan plan;
    plan.name = name;
    plan.operand = operand;
    plan.value = value;
    plan.materialised = true;
    refresh_reads(plan);
    return plan;
}

void Analysis::collect_stages() {
    for (const Operation& operation : program_.body.operations) {
        if (operation.op == Op::for_loop) {
            collect_loop_stages(operation);
            continue;
        }
        if (values_.at(operation.result).kind != ValueInfo::Kind::stage) continue;
        StagePlan plan;
        plan.value = operation.result;
        plan.operation = &operation;
        plan.name = plan.operand = stage_names_.at(operation.result);
        if (operation.op == Op::matmul && chosen_.at(plan.name) == "blas") {
            plan.library = true;
            add_library_operand(plan, operation.operands[0], "_a");
            add_library_operand(plan, operation.operands[1], "_b");
        } else if (operation.op == Op::matmul && row_levels(chosen_.at(plan.name)) > 0) {
            for (const std::string& operand : operation.operands)
                for (const std::string& value : stored_behind({operand}))
                    if (values_.at(value).operation->op != Op::for_loop)
                        stage(stage_of_value_.at(value)).materialised = true;
        } else if (operation.op == Op::call) {
            plan.library = true;
            for (std::size_t k = 0; k < operation.operands.size(); ++k)
                add_library_operand(plan, operation.operands[k], ("_" + std::to_string(k)).c_str());
        }
        refresh_reads(plan);
        stage_of_value_.emplace(plan.value, plan.name);
        stages_.push_back(std::move(plan));
    }
    for (std::size_t k = 0; k < program_.body.yields.size(); ++k) {
        const std::string& name = program_.body.yields[k];
        const ValueInfo& info = values_.at(name);
        if (context_.targets != nullptr && !(*context_.targets)[k].fresh) {
            const Target& target = (*context_.targets)[k];
            StagePlan plan = copy_of(name, unique(schedule_name(target.buffer)), target.buffer);
            plan.target = &target;
            plan.result = true;
            returned_.push_back(plan.name);
            stages_.push_back(std::move(plan));
            continue;
        }
        if (info.kind == ValueInfo::Kind::array || info.kind == ValueInfo::Kind::scalar) {
            returned_.push_back(name);
            continue;
        }
        if (info.operation->op == Op::complex) {
            return_complex(*info.operation);
            continue;
        }
        if (context_.targets == nullptr) refuse_view(*info.operation, info.view_of);
        returned_.push_back(result_stage(name, ""));
    }
}

std::string Analysis::result_stage(const std::string& value, const std::string& operand) {
    // A loop's stage has a Tuple with updates: what it gives is copied out, with more of the same shape.
    const ValueInfo& info = values_.at(value);
    const bool of_loop = info.kind == ValueInfo::Kind::stage && info.operation->op == Op::for_loop;
    if (info.kind == ValueInfo::Kind::stage && !of_loop) {
        StagePlan& plan = stage(stage_of_value_.at(value));
        const bool is_other = plan.result && plan.operand != (operand.empty() ? plan.name : operand);
        // A half of two results is written twice, and the library reads no half of a result.
        if (!is_other && (operand.empty() || !plan.for_library)) {
            plan.result = plan.materialised = true;
            if (!operand.empty()) plan.operand = operand;
            return plan.name;
        }
    }
    const std::string key = operand + " " + value;
    if (auto found = copies_.find(key); found != copies_.end()) return found->second;
    std::string name;
    if (!operand.empty()) {
        const std::string wish = schedule_name(operand);
        name = of_loop && wish == value ? wish : unique(wish);
    } else {
        const bool free = value[0] != '%' && (of_loop || stage_of_value_.count(value) == 0);
        name = free ? value : unique("result");
    }
    stages_.push_back(copy_of(value, name, operand.empty() ? name : operand));
    stages_.back().result = true;
    copies_[key] = name; // other readers go on reading the expression
    return name;
}

void Analysis::return_complex(const Operation& operation) {
    const ValueInfo& real = values_.at(operation.operands[0]);
    const ValueInfo& imag = values_.at(operation.operands[1]);
    // Halves of one argument, moved alike, are a view of it; conj(z) has one new half.
    if (real.view_of == imag.view_of) refuse_view(operation, real.view_of);
    auto [found, is_new] = complex_names_.try_emplace(operation.result, operation.result);
    if (is_new) {
        if (operation.result[0] == '%') found->second = unique("result");
        complex_results_.emplace_back(found->second, operation.type);
        result_stage(operation.operands[0], found->second + ".real");
        result_stage(operation.operands[1], found->second + ".imag");
    }
    returned_.push_back(found->second);
}

/// The halves of a complex result that are computed element by element become one Tuple: they read the same operands.
void Analysis::join_halves() {
    for (const auto& [name, type] : complex_results_) {
        std::vector<std::string> halves;
        for (const char* half : {".real", ".imag"}) {
            const auto found =
                std::ranges::find_if(stages_, [&](const StagePlan& plan) { return plan.operand == name + half; });
            if (found == stages_.end()) continue;
            if (found->is_elementwise() && !found->is_loop() && found->joined.empty() && !found->for_library)
                halves.push_back(found->name);
        }
        if (halves.size() < 2 || reads_through(stage(halves[0]), halves[1]) ||
            reads_through(stage(halves[1]), halves[0]))
            continue;
        StagePlan joint;
        for (const std::string& half : halves) {
            const StagePlan& plan = stage(half);
            joint.joined.push_back(plan);
            if (plan.operation != nullptr) buffer_of_value_[plan.value] = plan.name; // a copy is read by nobody
        }
        joint.name = joint.operand = name;
        joint.value = joint.joined[0].value;
        joint.result = joint.materialised = true;
        std::erase_if(stages_, [&](const StagePlan& plan) { return plan.name == halves[0] || plan.name == halves[1]; });
        stages_.push_back(std::move(joint));
        refresh_stages();
    }
}

namespace {

/// What a view of an array is to a library that takes any strides: which axis of the array each axis is, kNewAxis for
/// one that it has not. Nothing for views that leave elements out, or join axes.
constexpr int kNewAxis = -1;

std::optional<std::vector<int>> axes_of_view(const Operation& view, const Type& of) {
    if (view.op == Op::transpose) return view.attributes.at(attr::axes);
    if (view.op != Op::index || !keeps_order(view, of)) return std::nullopt;
    std::vector<int> out;
    int axis = 0;
    for (const IndexEntry& entry : view.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::position) return std::nullopt;
        out.push_back(entry.kind == IndexEntry::Kind::newaxis ? kNewAxis : axis++);
    }
    return out;
}

} // namespace

/// An array in memory with its axes as `value` has them: an argument, a stage, or a copy of what is neither.
void Analysis::add_library_operand(StagePlan& product, const std::string& value, const char* suffix) {
    std::string from = value;
    std::vector<int> axes(values_.at(value).type.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    const ValueInfo* info = &values_.at(from);
    while (info->kind == ValueInfo::Kind::expression && info->operation != nullptr && is_view(info->operation->op)) {
        const std::string& operand = info->operation->operands[0];
        const auto view = axes_of_view(*info->operation, values_.at(operand).type);
        if (!view) break;
        for (int& axis : axes)
            if (axis != kNewAxis) axis = (*view)[static_cast<std::size_t>(axis)];
        from = operand;
        info = &values_.at(from);
    }
    std::vector<int> all(info->type.shape.size());
    std::iota(all.begin(), all.end(), 0);
    std::string& order = product.library_axes.emplace_back();
    for (const int axis : axes)
        if (axes != all) order += axis == kNewAxis ? "n" : std::to_string(axis);
    product.library_operands.push_back(from);
    if (info->kind == ValueInfo::Kind::array) return;
    std::string& name = product.library_operands.back();
    if (info->kind == ValueInfo::Kind::stage && info->operation->op != Op::for_loop) {
        StagePlan& plan = stage(stage_of_value_.at(from));
        plan.materialised = plan.for_library = true;
        name = plan.name;
        return;
    }
    const auto [copy, is_new] = library_copies_.try_emplace(from);
    if (is_new) {
        copy->second = unique(product.name + suffix);
        stages_.push_back(copy_of(from, copy->second, copy->second));
    }
    name = copy->second;
}

void Analysis::keep_live() {
    std::set<std::string> live;
    for (std::size_t k = stages_.size(); k-- > 0;) {
        StagePlan& plan = stages_[k];
        if (!plan.result && live.count(plan.name) == 0) continue;
        live.insert(plan.name);
        live.merge(plan.waits_for());
    }
    std::erase_if(stages_, [&](const StagePlan& plan) { return live.count(plan.name) == 0; });
}

/// Library results cut the program. Position p is "before kernel p"; a stage runs as late as its first reader allows,
/// so that what only a later kernel needs is not carried there through memory.
void Analysis::assign_kernels() {
    std::map<std::string, int> early; // kernel number, or for the library the position
    for (const StagePlan& plan : stages_) {
        int level = 0;
        for (const std::string& name : plan.waits_for()) {
            if (early.count(name) == 0) continue; // an argument
            const bool waits = plan.library && !stage(name).library;
            level = std::max(level, early.at(name) + (waits ? 1 : 0));
        }
        early[plan.name] = level;
    }
    const std::set<std::string> for_library = library_operands();
    for (auto plan = stages_.rbegin(); plan != stages_.rend(); ++plan) {
        plan->kernel = early.at(plan->name);
        if (plan->library || for_library.count(plan->name) != 0) continue;
        std::optional<int> first_reader;
        for (const StagePlan& reader : stages_)
            if (!reader.library && reader.reads.count(plan->name) != 0)
                first_reader = std::min(reader.kernel, first_reader.value_or(reader.kernel));
        plan->kernel = std::max(plan->kernel, first_reader.value_or(0));
    }
    // Kernels without stages vanish; libraries keep their place between the others.
    std::set<int> used;
    for (const StagePlan& plan : stages_) {
        if (!plan.library) used.insert(plan.kernel);
    }
    for (StagePlan& plan : stages_)
        plan.kernel = static_cast<int>(std::distance(used.begin(), used.lower_bound(plan.kernel)));
    kernels_ = static_cast<int>(used.size());
    for (const StagePlan& reader : stages_) {
        if (reader.library) continue;
        for (const std::string& read : reader.reads) {
            StagePlan& plan = stage(read);
            if (plan.library || plan.kernel != reader.kernel) plan.materialised = true;
        }
    }
}

} // namespace tilewright::translator
