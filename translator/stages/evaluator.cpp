// translator/stages/evaluator.cpp: elementwise operations and views as expressions; views are index arithmetic.
#include "translator/stages/evaluator.h"

#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/model/halide_size.h"
#include "dsl/passes/markers.h"
#include "translator/ir/attributes.h"
#include "translator/ir/literal.h"
#include "translator/loops/access.h"
#include "translator/ops/math.h"
#include "translator/stages/stage_table.h"

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

bool follows_a_number(const Size& tree) {
    std::set<std::string> symbols;
    tree.collect_symbols(symbols);
    return std::ranges::any_of(symbols, [](const std::string& name) { return name.find('.') == std::string::npos; });
}

/// A product with an index or an integer of the call, which extents do not bound.
bool has_product(const Size& tree) {
    if (tree.op() == Size::Op::mul && follows_a_number(tree)) return true;
    return std::ranges::any_of(tree.operands(), has_product);
}

} // namespace

void Parameters::describe(dsl::AlgorithmImpl& impl) const {
    impl.sizes = sizes;
    impl.inputs = arrays;
    // The long axis of an argument goes by another name: its extent is not the argument's.
    for (const auto& [name, image] : flat)
        impl.inputs.emplace(image.name(), image);
}

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

std::string identifier(const std::string& text) {
    std::string clean;
    for (char c : text)
        clean += std::isalnum(static_cast<unsigned char>(c)) != 0 && (c & 0x80) == 0 ? c : '_';
    return clean;
}

std::string Shared::symbol(const std::string& wish) {
    const std::string clean = identifier(wish);
    std::string name = clean;
    for (int k = 2; is_name_of_halide(name) || !symbols.insert(name).second; ++k)
        name = clean + "_" + std::to_string(k);
    return name;
}

/// Floats from one element to the next: the halves of complex numbers take turns.
int Shared::element_stride(const std::string& operand) {
    return operand.find('.') == std::string::npos ? 1 : 2;
}

Exprs Shared::strides(const std::vector<Size>& shape, Layout layout, int innermost) const {
    Exprs out(shape.size());
    Expr stride = innermost;
    for (std::size_t k = 0; k < shape.size(); ++k) {
        const std::size_t axis = layout == Layout::f ? k : shape.size() - 1 - k;
        out[axis] = stride;
        stride = times(stride, size(shape[axis]));
    }
    return out;
}

Halide::ImageParam Shared::array(const std::string& name) {
    if (auto found = arrays.find(name); found != arrays.end()) return found->second;
    const auto stage = analysis.buffer(name);
    const Type& type = analysis.value(stage ? stage->value : name).type;
    const std::size_t rank = type.shape.size();
    Halide::ImageParam image(storage_type(type.dtype), static_cast<int>(rank), symbol(name));
    const Layout layout = analysis.layout(name);
    const Exprs steps = strides(type.shape, layout, element_stride(analysis.operand(name)));
    for (std::size_t axis = 0; axis < rank; ++axis)
        image.dim(static_cast<int>(rank - 1 - axis))
            .set_bounds(0, size(type.shape[axis]))
            .set_stride(layout == Layout::any ? Expr() : steps[axis]);
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

Exprs Evaluator::along(const std::string& value, const Operation& reader, const Exprs& index) const {
    return broadcast(shared_.analysis.value(value).type.shape, reader.type.shape, index);
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

Expr Evaluator::at(const std::string& value, const Exprs& index, bool flat) {
    if (const auto given = given_.find(value); given != given_.end()) return given->second;
    std::vector<const void*> addresses;
    for (const Expr& e : index)
        addresses.push_back(e.get());
    auto key = std::make_pair(flat ? "flat " + value : value, std::move(addresses));
    if (auto found = memory_.find(key); found != memory_.end()) return found->second.value;
    const Expr out = compute(shared_.analysis.value(value), value, index, flat);
    memory_.emplace(std::move(key), Remembered{index, out});
    return out;
}

Expr Evaluator::read_array(const Halide::ImageParam& array, const std::string& dtype, const Exprs& index) {
    return from_memory(array(Exprs(index.rbegin(), index.rend())), *find_dtype(dtype));
}

Expr Evaluator::read_scalar(const std::string& name) {
    used_.scalars.insert(name);
    return from_memory(shared_.scalars.at(name), *find_dtype(shared_.analysis.value(name).type.dtype));
}

Expr Evaluator::read_stage(const std::string& value, const std::string& dtype, const Exprs& index) {
    const StageSource source = shared_.analysis.source_of(value, reader_);
    if (source.stage->library || source.stage->kernel != kernel_) {
        used_.arrays.insert(source.buffer);
        return read_array(shared_.array(source.buffer), dtype, index);
    }
    return from_memory(elements_of(shared_.funcs.at(source.stage->name), index)[source.element], *find_dtype(dtype));
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
    context.device = shared_.options.device;
    context.keeps_apart = shared_.turns_at_ends;
    context.row_constant = repeats_along_rows(operation);
    const bool is_cheap = operation.op == Op::power && ops::is_cheap_power(operands, context);
    operations_ += is_cheap ? 4 : cost_of(operation.op);
    try {
        const Expr value = is_elementary(operation.op) ? elementary(operation.op, operands, context.contraction)
                                                       : formula_of(operation.op)(operands, context);
        const bool rounds = context.to->dtype == DType::float16 && !has_trait(operation.op, Trait::keeps_digits);
        return rounds ? dsl::rounded_to_half(value) : value;
    } catch (const TranslateError& error) {
        throw TranslateError(shared_.analysis.where(operation) + ": " + error.what() + ".",
                             "Let NumPy run this function.");
    }
}

Expr Evaluator::compute(const ValueInfo& info, const std::string& name, const Exprs& index, bool flat) {
    const std::vector<Size>& shape = info.type.shape;
    if (flat && std::ranges::count_if(shape, std::not_fn(is_one)) <= 1) {
        Exprs along;
        for (const Size& extent : shape)
            along.push_back(is_one(extent) ? zero_index() : index[0]);
        return at(name, along);
    }
    const bool is_half = !info.half_of.empty();
    if (info.kind == ValueInfo::Kind::scalar ||
        (is_half && shared_.analysis.value(info.half_of).kind == ValueInfo::Kind::scalar))
        return read_scalar(name);
    if (info.kind == ValueInfo::Kind::array || is_half) {
        (flat ? used_.flat : used_.arrays).insert(name);
        return read_array(flat ? shared_.flat_array(name) : shared_.array(name), info.type.dtype, index);
    }
    if (info.kind == ValueInfo::Kind::stage) return read_stage(name, info.type.dtype, index);
    if (flat && is_view(info.operation->op)) return at(info.operation->operands[0], index, flat);
    return define(*info.operation, index, flat);
}

Expr Evaluator::define(const Operation& operation, const Exprs& index, bool flat) {
    const Op op = operation.op;
    if (op == Op::constant) return literal(operation.attributes.at(attr::value), operation.type.dtype);
    if (op == Op::scalar_size) return shared_.wide_size(operation.attributes.at(attr::size));
    if (op == Op::iota) {
        auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
        return Halide::cast<int64_t>(index[axis]);
    }
    if (op == Op::index) return index_view(operation, index);
    if (op == Op::windows) return windows_view(operation, index);
    if (op == Op::update) return updated(operation, index);
    if (op == Op::take) return taken(operation, index);
    if (op == Op::where && !flat) {
        if (const auto found = framed(operation, index)) return *found;
    }
    if (op == Op::reshape) return reshape_view(operation, index);
    if (op == Op::transpose) {
        std::vector<int> axes = operation.attributes.at(attr::axes);
        Exprs inner(index.size());
        for (std::size_t k = 0; k < axes.size(); ++k)
            inner[static_cast<std::size_t>(axes[k])] = index[k];
        return at(operation.operands[0], inner);
    }
    Exprs operands;
    for (const std::string& operand : operation.operands)
        operands.push_back(at(operand, flat ? index : along(operand, operation, index), flat));
    return op == Op::broadcast_to ? operands[0] : apply(operation, operands);
}

namespace {

/// Whether a slice of no elements may begin behind its array: x[n:] does, x[1:-1] and x[:0] do not.
bool may_start_behind(const IndexEntry& entry, const Size& count, const Size& extent) {
    if (entry.start.is_constant() && entry.start.constant() == 0) return false;
    const auto behind = constant_difference(extent - entry.start, count);
    return !(entry.step.is_constant() && entry.step.constant() == 1 && behind.value_or(0) > 0);
}

/// Where the shortest groups of axes from `a` and `b` on end that have one number of elements; behind all axes where
/// there are none.
std::pair<std::size_t, std::size_t> ends_of_group(const std::vector<Size>& from, std::size_t a,
                                                  const std::vector<Size>& to, std::size_t b) {
    const auto between = [](const std::vector<Size>& shape, std::size_t first, std::size_t end) {
        return product(
            {shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(end)});
    };
    for (std::size_t a_end = a + 1; a_end <= from.size(); ++a_end)
        for (std::size_t b_end = b + 1; b_end <= to.size(); ++b_end)
            if (same_size(between(from, a, a_end), between(to, b, b_end))) return {a_end, b_end};
    return {from.size(), to.size()};
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
    if (operand.order.flat) return at(operation.operands[0], {linear(to, index)}, true);
    // Groups of axes with equal products map onto each other; inside a group only several source axes need division.
    Exprs inner(from.size(), zero_index());
    std::size_t a = 0;
    std::size_t b = 0;
    while (a < from.size()) {
        if (is_one(from[a])) {
            ++a;
            continue;
        }
        const auto [a_end, b_end] = ends_of_group(from, a, to, b);
        const auto first_to = static_cast<std::ptrdiff_t>(std::min(b, to.size()));
        const auto last_to = static_cast<std::ptrdiff_t>(b_end);
        Expr position =
            linear({to.begin() + first_to, to.begin() + last_to}, {index.begin() + first_to, index.begin() + last_to});
        // A group's first axis needs no remainder.
        for (std::size_t k = a_end; k-- > a;) {
            if (is_one(from[k])) continue;
            const bool first = std::all_of(from.begin() + static_cast<std::ptrdiff_t>(a),
                                           from.begin() + static_cast<std::ptrdiff_t>(k), is_one);
            inner[k] = first ? position : position % shared_.size(from[k]);
            if (!first) position = position / shared_.size(from[k]);
        }
        a = a_end;
        b = b_end;
    }
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
        if (entry == IndexEntry::all() && same_size(count, whole.shape[axis])) {
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
