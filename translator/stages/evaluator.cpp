// translator/stages/evaluator.cpp: elementwise operations and views as expressions; views are index arithmetic.
#include "translator/stages/evaluator.h"

#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/model/halide_size.h"
#include "translator/ir/attributes.h"
#include "translator/ir/literal.h"
#include "translator/ir/values.h"
#include "translator/loops/access.h"
#include "translator/ops/math.h"

namespace tilewright::translator {

using Halide::Expr;

namespace {

bool is_zero(const Expr& e) {
    return Halide::Internal::is_const_zero(e);
}

Expr zero_index() {
    static const Expr zero = Halide::Internal::make_zero(Halide::Int(32));
    return zero;
}

Expr plus(const Expr& a, const Expr& b) {
    if (is_zero(a)) return b;
    return is_zero(b) ? a : a + b;
}

Expr times(const Expr& a, const Expr& b) {
    if (Halide::Internal::is_const_one(a)) return b;
    return Halide::Internal::is_const_one(b) ? a : a * b;
}

Expr from_memory(const Expr& loaded, const std::string& dtype) {
    Halide::Type type = value_type(dtype);
    if (loaded.type() == type) return loaded;
    // Accumulators of signed integers are unsigned in memory; bool is a byte.
    return type.is_bool() ? loaded != Halide::Internal::make_zero(loaded.type()) : Halide::cast(type, loaded);
}

Exprs reversed(const Exprs& index) {
    return Exprs(index.rbegin(), index.rend());
}

} // namespace

namespace {

bool follows_a_number(const Size& tree) {
    std::set<std::string> symbols;
    tree.collect_symbols(symbols);
    return std::any_of(symbols.begin(), symbols.end(),
                       [](const std::string& name) { return name.find('.') == std::string::npos; });
}

/// A product with an index or an integer of the call, which extents do not bound.
bool has_product(const Size& tree) {
    if (tree.op() == Size::Op::mul && follows_a_number(tree)) return true;
    return std::ranges::any_of(tree.operands(), has_product);
}

} // namespace

Expr Shared::size(const Size& tree) const {
    if (tree.is_constant()) {
        if (tree.constant() > INT32_MAX || tree.constant() < INT32_MIN)
            throw TranslateError(program.function + ": the size " + tree.text() + " does not fit 32 bits.");
        return Expr(static_cast<int32_t>(tree.constant()));
    }
    if (tree.op() == Size::Op::symbol) {
        const auto index = loop_indices.find(tree.name());
        return index == loop_indices.end() ? Expr(sizes.at(tree.name())) : index->second;
    }
    // i * i % n fits where i * i does not.
    if (!wraps(tree.op()) && has_product(tree)) return Halide::cast<int32_t>(wide_size(tree));
    Expr a = size(tree.operands()[0]);
    Expr b = size(tree.operands()[1]);
    return dsl::size_operation(tree, a, b);
}

Expr Shared::wide_size(const Size& tree) const {
    if (tree.is_constant()) return Halide::Internal::make_const(Halide::Int(64), tree.constant());
    if (tree.op() == Size::Op::symbol) return Halide::cast<int64_t>(size(tree));
    const Expr a = wide_size(tree.operands()[0]);
    const Expr b = wide_size(tree.operands()[1]);
    return dsl::size_operation(tree, a, b);
}

namespace {

/// Halide tells a Func's calls from its own operations by their name alone.
bool is_name_of_halide(const std::string& name) {
    using Halide::Internal::Call;
    static const std::set<std::string> names = [] {
        std::set<std::string> found;
        for (int k = 0; k < Call::IntrinsicOpCount; ++k)
            found.insert(Call::get_intrinsic_name(static_cast<Call::IntrinsicOp>(k)));
        return found;
    }();
    return names.count(name) != 0;
}

} // namespace

std::string Shared::symbol(const std::string& wish) {
    std::string clean;
    for (char c : wish)
        clean += (std::isalnum(static_cast<unsigned char>(c)) != 0 && (c & 0x80) == 0) || c == '_' ? c : '_';
    std::string name = clean;
    for (int k = 2; is_name_of_halide(name) || !symbols.insert(name).second; ++k)
        name = clean + "_" + std::to_string(k);
    return name;
}

/// Floats from one element to the next: the halves of complex numbers take turns.
int Shared::element_stride(const std::string& operand) {
    return operand.find('.') == std::string::npos ? 1 : 2;
}

Halide::ImageParam Shared::array(const std::string& name) {
    if (auto found = arrays.find(name); found != arrays.end()) return found->second;
    std::string value = name;
    for (const StagePlan& stage : analysis.stages()) {
        for (const StageBuffer& buffer : stage.buffers()) {
            if (buffer.name == name) value = buffer.value;
        }
    }
    const int innermost = element_stride(analysis.operand(name));
    const Type& type = analysis.value(value).type;
    const int rank = static_cast<int>(type.shape.size());
    Halide::ImageParam image(storage_type(type.dtype), rank, symbol(name));
    Layout lies = analysis.layout(name);
    for (int d = 0; d < rank; ++d) {
        image.dim(d).set_bounds(0, size(type.shape[static_cast<std::size_t>(rank - 1 - d)]));
        if (lies == Layout::any) image.dim(d).set_stride(Expr());
    }
    if (lies == Layout::c) {
        Expr stride = innermost;
        for (int d = 0; d < rank; ++d) {
            image.dim(d).set_stride(stride);
            stride = times(stride, size(type.shape[static_cast<std::size_t>(rank - 1 - d)]));
        }
    } else if (lies == Layout::f) {
        Expr stride = innermost;
        for (int d = rank; d-- > 0;) {
            image.dim(d).set_stride(stride);
            stride = times(stride, size(type.shape[static_cast<std::size_t>(rank - 1 - d)]));
        }
    }
    arrays.emplace(name, image);
    return image;
}

Halide::ImageParam Shared::flat_array(const std::string& name) {
    if (auto found = flat.find(name); found != flat.end()) return found->second;
    const Type& type = analysis.value(name).type;
    Halide::ImageParam image(storage_type(type.dtype), 1, symbol(name + "_flat"));
    image.dim(0).set_bounds(0, size(product(type.shape)));
    image.dim(0).set_stride(element_stride(analysis.operand(name)));
    flat.emplace(name, image);
    return image;
}

Exprs Evaluator::broadcast(const std::vector<Size>& operand, const std::vector<Size>& shape, const Exprs& index) {
    Exprs out;
    std::size_t missing = shape.size() - operand.size();
    for (std::size_t k = 0; k < operand.size(); ++k) {
        bool stretched = is_one(operand[k]) && !is_one(shape[k + missing]);
        out.push_back(stretched ? zero_index() : index[k + missing]);
    }
    return out;
}

Expr Evaluator::linear(const std::vector<Size>& shape, const Exprs& index) const {
    Expr out = zero_index();
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (is_one(shape[k])) continue;
        out = plus(times(out, shared_.size(shape[k])), index[k]);
        if (is_zero(out)) out = zero_index();
    }
    return out;
}

Expr Evaluator::at(const std::string& value, const Exprs& index) {
    if (const auto given = given_.find(value); given != given_.end()) return given->second;
    std::vector<const void*> addresses;
    for (const Expr& e : index)
        addresses.push_back(e.get());
    auto key = std::make_pair(value, std::move(addresses));
    if (auto found = memory_.find(key); found != memory_.end()) return found->second.value;
    Expr out = compute(shared_.analysis.value(value), value, index);
    memory_.emplace(std::move(key), Remembered{index, out});
    return out;
}

Expr Evaluator::at_flat(const std::string& value, const Expr& position) {
    if (const auto given = given_.find(value); given != given_.end()) return given->second;
    auto key = std::make_pair("flat " + value, std::vector<const void*>{position.get()});
    if (auto found = memory_.find(key); found != memory_.end()) return found->second.value;
    Expr out = compute_flat(shared_.analysis.value(value), value, position);
    memory_.emplace(std::move(key), Remembered{{position}, out});
    return out;
}

Expr Evaluator::read_scalar(const std::string& name) {
    used_.scalars.insert(name);
    return from_memory(shared_.scalars.at(name), shared_.analysis.value(name).type.dtype);
}

Expr Evaluator::read_stage(const std::string& value, const std::string& dtype, const Exprs& index) {
    const StageSource source = shared_.analysis.source_of(value, reader_);
    if (source.stage->library || source.stage->kernel != kernel_) {
        used_.arrays.insert(source.buffer);
        return from_memory(shared_.array(source.buffer)(reversed(index)), dtype);
    }
    const Halide::Func& func = shared_.funcs.at(source.stage->name);
    Halide::FuncRef element = func(reversed(index));
    return from_memory(func.outputs() == 1 ? Expr(element) : Expr(element[static_cast<int>(source.element)]), dtype);
}

/// Whether the last operand is broadcast along the axis on which neighbours of the result lie.
bool Evaluator::repeats_along_rows(const Operation& operation) const {
    if (operation.operands.size() < 2) return false;
    const int axis = shared_.analysis.value(operation.result).order.contiguous_axis;
    const std::vector<Size>& shape = shared_.analysis.value(operation.operands.back()).type.shape;
    if (axis < 0) return false;
    const std::ptrdiff_t own = axis - static_cast<std::ptrdiff_t>(operation.type.shape.size() - shape.size());
    return own < 0 || is_one(shape[static_cast<std::size_t>(own)]);
}

Expr Evaluator::apply(const Operation& operation, const Exprs& operands) {
    RuleContext context;
    context.to = find_dtype(operation.type.dtype);
    context.from = context.to;
    if (!operation.operands.empty())
        context.from = find_dtype(shared_.analysis.value(operation.operands.back()).type.dtype);
    context.contraction = shared_.options.contract == "fast" ? Contraction::any
                          : shared_.options.device           ? Contraction::device
                                                             : Contraction::none;
    context.row_constant = repeats_along_rows(operation);
    const bool is_cheap = operation.op == Op::power && ops::is_cheap_power(operands, context);
    operations_ += is_cheap ? 4 : cost_of(operation.op);
    try {
        return is_elementary(operation.op) ? elementary(operation.op, operands, context.contraction)
                                           : formula_of(operation.op)(operands, context);
    } catch (const TranslateError& error) {
        throw TranslateError(shared_.analysis.where(operation) + ": " + error.what() + ".",
                             "Let NumPy run this function.");
    }
}

Expr Evaluator::compute(const ValueInfo& info, const std::string& name, const Exprs& index) {
    if (info.kind == ValueInfo::Kind::array) {
        used_.arrays.insert(name);
        return from_memory(shared_.array(name)(reversed(index)), info.type.dtype);
    }
    if (info.kind == ValueInfo::Kind::scalar) return read_scalar(name);
    const Operation& operation = *info.operation;
    if (!info.half_of.empty()) {
        if (shared_.analysis.value(info.half_of).kind == ValueInfo::Kind::scalar) return read_scalar(name);
        used_.arrays.insert(name);
        return from_memory(shared_.array(name)(reversed(index)), info.type.dtype);
    }
    if (info.kind == ValueInfo::Kind::stage) return read_stage(name, info.type.dtype, index);
    const Op op = operation.op;
    auto operand_type = [&](std::size_t k) -> const Type& {
        return shared_.analysis.value(operation.operands[k]).type;
    };
    if (op == Op::constant) return literal(operation.attributes.at(attr::value), info.type.dtype);
    if (op == Op::scalar_size) return shared_.wide_size(operation.attributes.at(attr::size));
    if (op == Op::iota) {
        auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
        return Halide::cast<int64_t>(index[axis]);
    }
    if (op == Op::index) return index_view(operation, index);
    if (op == Op::windows) return windows_view(operation, index);
    if (op == Op::update) return updated(operation, index);
    if (op == Op::take) return taken(operation, index);
    if (op == Op::reshape) return reshape_view(operation, index);
    if (op == Op::transpose) {
        std::vector<int> axes = operation.attributes.at(attr::axes);
        Exprs inner(index.size());
        for (std::size_t k = 0; k < axes.size(); ++k)
            inner[static_cast<std::size_t>(axes[k])] = index[k];
        return at(operation.operands[0], inner);
    }
    if (op == Op::broadcast_to)
        return at(operation.operands[0], broadcast(operand_type(0).shape, info.type.shape, index));
    return elementwise(operation, index);
}

Expr Evaluator::elementwise(const Operation& operation, const Exprs& index) {
    Exprs operands;
    for (const std::string& operand : operation.operands) {
        const Type& type = shared_.analysis.value(operand).type;
        operands.push_back(at(operand, broadcast(type.shape, operation.type.shape, index)));
    }
    return apply(operation, operands);
}

Expr Evaluator::define(const Operation& operation, const Exprs& index) {
    if (operation.op == Op::update) return updated(operation, index);
    return operation.op == Op::take ? taken(operation, index) : elementwise(operation, index);
}

Expr Evaluator::compute_flat(const ValueInfo& info, const std::string& name, const Expr& position) {
    const std::vector<Size>& shape = info.type.shape;
    int wide = 0;
    for (const Size& extent : shape)
        wide += is_one(extent) ? 0 : 1;
    if (wide <= 1) {
        Exprs index;
        for (const Size& extent : shape)
            index.push_back(is_one(extent) ? zero_index() : position);
        return at(name, index);
    }
    if (info.kind == ValueInfo::Kind::array || !info.half_of.empty()) {
        used_.flat.insert(name);
        return from_memory(shared_.flat_array(name)(position), info.type.dtype);
    }
    if (info.kind == ValueInfo::Kind::stage) return read_stage(name, info.type.dtype, {position});
    const Operation& operation = *info.operation;
    return is_view(operation.op) ? at_flat(operation.operands[0], position) : define_flat(operation, position);
}

Expr Evaluator::define_flat(const Operation& operation, const Expr& position) {
    Exprs operands;
    for (const std::string& operand : operation.operands)
        operands.push_back(at_flat(operand, position));
    return apply(operation, operands);
}

namespace {

/// Whether a slice of no elements may begin behind its array: x[n:] does, x[1:-1] and x[:0] do not.
bool may_start_behind(const IndexEntry& entry, const Size& count, const Size& extent) {
    if (entry.start.is_constant() && entry.start.constant() == 0) return false;
    const auto behind = constant_difference(extent - entry.start, count);
    return !(entry.step.is_constant() && entry.step.constant() == 1 && behind.value_or(0) > 0);
}

} // namespace

Expr Evaluator::index_view(const Operation& operation, const Exprs& index) {
    const std::vector<Size>& whole = shared_.analysis.value(operation.operands[0]).type.shape;
    const bool clamped = operation.attributes.has(attr::clamped);
    Exprs inner;
    std::size_t axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            ++axis;
            continue;
        }
        const Size& extent = whole[inner.size()];
        Expr start = shared_.size(entry.start);
        if (entry.kind == IndexEntry::Kind::position) {
            if (clamped)
                start = Halide::clamp(start, 0, Halide::max(shared_.size(extent) - 1, 0));
            else if (!shared_.loop_indices.empty() && !entry.start.is_constant())
                // The program guards it for all iterations, which bounds inference may not see.
                start = Halide::unsafe_promise_clamped(start, 0, shared_.size(extent) - 1);
            inner.push_back(start);
            continue;
        }
        if (clamped) {
            const Expr last = times(shared_.size(operation.type.shape[axis]) - 1, shared_.size(entry.step));
            start = Halide::clamp(start, 0, Halide::max(shared_.size(extent) - 1 - last, 0));
        } else if (part_may_be_empty_ && may_start_behind(entry, operation.type.shape[axis], extent)) {
            start = Halide::min(start, Halide::max(shared_.size(extent) - 1, 0));
        }
        inner.push_back(plus(start, times(index[axis++], shared_.size(entry.step))));
    }
    return at(operation.operands[0], inner);
}

/// Element k of window t is start + step * t + stride * k along the axis.
Expr Evaluator::windows_view(const Operation& operation, const Exprs& index) {
    const auto size = [&](const AttributeKey<Size>& key) { return shared_.size(operation.attributes.at(key)); };
    const auto axis = operation.attributes.at(attr::axis);
    Exprs inner = index;
    const auto window = inner.begin() + static_cast<std::ptrdiff_t>(axis);
    *window = plus(size(attr::start), plus(times(*window, size(attr::step)), times(*(window + 1), size(attr::stride))));
    inner.erase(window + 1);
    return at(operation.operands[0], inner);
}

Expr Evaluator::reshape_view(const Operation& operation, const Exprs& index) {
    const ValueInfo& operand = shared_.analysis.value(operation.operands[0]);
    const std::vector<Size>& from = operand.type.shape;
    const std::vector<Size>& to = operation.type.shape;
    if (operand.order.flat) return at_flat(operation.operands[0], linear(to, index));
    // Groups of axes with equal products map onto each other; inside a group only several source axes need division.
    Exprs inner(from.size(), zero_index());
    std::size_t a = 0;
    std::size_t b = 0;
    while (a < from.size()) {
        if (is_one(from[a])) {
            ++a;
            continue;
        }
        std::size_t a_end = a + 1;
        std::size_t b_end = b;
        bool matched = false;
        for (; a_end <= from.size() && !matched; ++a_end) {
            Size wanted = product(
                {from.begin() + static_cast<std::ptrdiff_t>(a), from.begin() + static_cast<std::ptrdiff_t>(a_end)});
            for (b_end = b + 1; b_end <= to.size(); ++b_end) {
                Size given = product(
                    {to.begin() + static_cast<std::ptrdiff_t>(b), to.begin() + static_cast<std::ptrdiff_t>(b_end)});
                if (same_size(wanted, given)) {
                    matched = true;
                    break;
                }
            }
            if (matched) break;
        }
        if (!matched) {
            a_end = from.size();
            b_end = to.size();
        }
        std::vector<Size> target(to.begin() + static_cast<std::ptrdiff_t>(std::min(b, to.size())),
                                 to.begin() + static_cast<std::ptrdiff_t>(b_end));
        Exprs target_index(index.begin() + static_cast<std::ptrdiff_t>(std::min(b, to.size())),
                           index.begin() + static_cast<std::ptrdiff_t>(b_end));
        Expr position = linear(target, target_index);
        // A group's first axis needs no remainder.
        for (std::size_t k = a_end; k-- > a;) {
            if (is_one(from[k])) continue;
            bool first = true;
            for (std::size_t before = a; before < k; ++before)
                first = first && is_one(from[before]);
            inner[k] = first ? position : position % shared_.size(from[k]);
            if (!first) position = position / shared_.size(from[k]);
        }
        a = a_end;
        b = b_end;
    }
    return at(operation.operands[0], inner);
}

/// The element that a position names: from the end where it is negative, the nearest one where it is outside.
Expr Evaluator::taken(const Operation& operation, const Exprs& index) {
    const auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
    const std::size_t rank = shared_.analysis.value(operation.operands[1]).type.shape.size();
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto behind = first + static_cast<std::ptrdiff_t>(rank);
    const Expr extent = shared_.size(shared_.analysis.value(operation.operands[0]).type.shape[axis]);
    const Expr wide = Halide::cast<int64_t>(extent);
    const Expr position = at(operation.operands[1], Exprs(first, behind));
    const auto* cast = position.as<Halide::Internal::Cast>();
    const bool from_start = cast != nullptr && cast->value.type().is_uint() && cast->value.type().bits() < 64;
    Expr near = position;
    if (check_of(operation) < 0)
        near = from_start ? Halide::min(position, wide - 1) : Halide::clamp(position, -wide, wide - 1);
    near = Halide::cast<int32_t>(near);
    Exprs inner(index.begin(), first);
    if (!from_start) near = Halide::select(near < 0, near + extent, near);
    // What bounds inference sees: it knows nothing of the selection.
    inner.push_back(Halide::unsafe_promise_clamped(near, 0, extent - 1));
    inner.insert(inner.end(), behind, index.end());
    operations_ += 2;
    return at(operation.operands[0], inner);
}

Expr Evaluator::updated(const Operation& operation, const Exprs& index) {
    const Type& part = shared_.analysis.value(operation.operands[1]).type;
    const Type& whole = operation.type;
    Expr inside = Halide::Internal::const_true();
    bool may_be_empty = false;
    Exprs part_index;
    std::size_t axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        Expr start = shared_.size(entry.start);
        if (entry.kind == IndexEntry::Kind::position) {
            inside = inside && index[axis++] == start;
            continue;
        }
        const Size& count = part.shape[part_index.size()];
        may_be_empty = may_be_empty || !count.is_constant();
        bool whole_axis = entry.start.is_constant() && entry.start.constant() == 0 && entry.step.is_constant() &&
                          entry.step.constant() == 1 && same_size(count, whole.shape[axis]);
        if (whole_axis) {
            part_index.push_back(index[axis++]);
            continue;
        }
        Expr step = shared_.size(entry.step);
        Expr extent = shared_.size(count);
        Expr offset = index[axis++] - start;
        Expr element = Halide::Internal::is_const_one(step) ? offset : offset / step;
        inside = inside && element >= 0 && element < extent;
        if (!Halide::Internal::is_const_one(step)) inside = inside && offset % step == 0;
        // Both sides of the select are evaluated, so the part is read inside its bounds everywhere.
        part_index.push_back(Halide::clamp(element, 0, Halide::max(extent - 1, 0)));
    }
    ++operations_;
    Expr old_value = at(operation.operands[0], index);
    // An empty part is read too, and dropped: its views then begin behind their arrays, perhaps.
    const bool outer = std::exchange(part_may_be_empty_, part_may_be_empty_ || may_be_empty);
    Expr new_value = at(operation.operands[1], part_index);
    part_may_be_empty_ = outer;
    return ops::where({inside, new_value, old_value}, {});
}

} // namespace tilewright::translator
