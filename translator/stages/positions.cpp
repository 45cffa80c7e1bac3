// translator/stages/positions.cpp: the elements that a take reads, and which of its positions loops alone decide.
#include <algorithm>

#include "dsl/base/size_polynomial.h"
#include "translator/ir/attributes.h"
#include "translator/ir/literal.h"
#include "translator/ir/values.h"
#include "translator/stages/evaluator.h"
#include "translator/stages/stage_table.h"

namespace tilewright::translator {

using Halide::Expr;

namespace {

constexpr int kDeepestPosition = 12;               // of sums of sums
constexpr std::int64_t kFarthestOutside = 1 << 27; // of an axis, where a position is put back inside: int32 has it

bool is_zero(const Size& size) {
    return same_size(size, Size::integer(0));
}

/// Whether it is a number not far from 0 or from the extent, on either side of 0.
bool is_near(const Size& place, const Size& extent) {
    for (const int sign : {0, 1, -1})
        if (const auto offset = constant_difference(place, extent * Size::integer(sign)))
            return std::abs(*offset) <= kFarthestOutside;
    return false;
}

bool is_at_most(const Size& a, const Size& b) {
    return constant_difference(b, a).value_or(-1) >= 0;
}

/// Parts the innermost loop alone: the first and the last rows of a tile are as fast as the others.
Expr likely_here(const Expr& place) {
    return Halide::likely_if_innermost(place);
}

bool is_same(const Exprs& a, const Exprs& b) {
    return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return x.same_as(y); });
}

} // namespace

std::optional<Evaluator::OfLoops> Evaluator::of_loops(const std::string& value, const Exprs& index, int depth) {
    const ValueInfo& info = shared_.analysis.value(value);
    if (depth > kDeepestPosition || info.kind != ValueInfo::Kind::expression || info.operation == nullptr ||
        given_.count(value) != 0)
        return {};
    if (narrowed_ && narrowed_->value == value && is_same(narrowed_->index, index)) return narrowed_->place;
    const Operation& operation = *info.operation;
    const auto operand = [&](std::size_t k) {
        return of_loops(operation.operands[k], along(operation.operands[k], operation, index), depth + 1);
    };
    switch (operation.op) {
    case Op::iota: {
        const auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
        return OfLoops{index[axis], Size::integer(0), operation.type.shape[axis] - Size::integer(1)};
    }
    case Op::constant: {
        const Expr number = literal(operation.attributes.at(attr::value), operation.type.dtype);
        const std::optional<std::int64_t> place = Halide::Internal::as_const_int(number);
        if (!place || *place < INT32_MIN || *place > INT32_MAX) return {};
        return OfLoops{static_cast<std::int32_t>(*place), Size::integer(*place), Size::integer(*place)};
    }
    case Op::broadcast_to:
        return operand(0);
    case Op::index: {
        Exprs inner;
        for (std::size_t axis = 0; const IndexEntry& entry : operation.attributes.at(attr::index)) {
            if (entry.kind != IndexEntry::Kind::newaxis && entry != IndexEntry::all()) return {};
            if (entry.kind != IndexEntry::Kind::newaxis) inner.push_back(index[axis]);
            ++axis;
        }
        return of_loops(operation.operands[0], inner, depth + 1);
    }
    case Op::add: {
        const auto a = operand(0), b = operand(1);
        if (operation.type.dtype != "int64" || !a || !b) return {};
        return OfLoops{a->at + b->at, a->least + b->least, a->most + b->most};
    }
    case Op::subtract: {
        const auto a = operand(0), b = operand(1);
        if (operation.type.dtype != "int64" || !a || !b) return {};
        return OfLoops{a->at - b->at, a->least - b->most, a->most - b->least};
    }
    case Op::scalar_size: {
        const Size& size = operation.attributes.at(attr::size);
        return OfLoops{shared_.size(size), size, size};
    }
    case Op::remainder:
        return on_a_ring(operand(0), operand(1));
    case Op::maximum:
    case Op::minimum:
        return clamped(operation, index, depth);
    case Op::where: {
        auto found = turned(operation, index, depth);
        return found ? found : turned_back(operation, index, depth);
    }
    case Op::negative: {
        const auto x = operand(0);
        if (operation.type.dtype != "int64" || !x) return {};
        return OfLoops{-x->at, Size::integer(0) - x->most, Size::integer(0) - x->least};
    }
    default:
        return {};
    }
}

/// A position on either side of the end of an axis. Loop partitioning (Halide's) makes a loop of its own of those where
/// the `likely` side holds, which reads whole vectors.
Evaluator::OfLoops Evaluator::inside(const Expr& position, const Size& extent) const {
    const Size last = extent - Size::integer(1);
    shared_.turns_at_ends = true;
    // Bounds inference knows nothing of the selection.
    return {Halide::unsafe_promise_clamped(position, 0, shared_.size(last)), Size::integer(0), last};
}

/// The neighbour on a ring: x % n where x is at most one place outside.
std::optional<Evaluator::OfLoops> Evaluator::on_a_ring(const std::optional<OfLoops>& x,
                                                       const std::optional<OfLoops>& by) const {
    if (!x || !by || !same_size(by->least, by->most)) return {};
    const Size& extent = by->most;
    if (is_at_most(Size::integer(0), x->least) && is_at_most(x->most, extent))
        return inside(Halide::select(x->at < by->at, likely_here(x->at), x->at - by->at), extent);
    // From arange(n) - 1 alone follows that n is not 0.
    if (same_size(x->least, Size::integer(-1)) && same_size(x->most + Size::integer(2), extent))
        return inside(Halide::select(x->at < 0, x->at + by->at, likely_here(x->at)), extent);
    return {};
}

/// The nearest place of an axis: min(max(x, 0), n - 1), where the axis has an element.
std::optional<Evaluator::OfLoops> Evaluator::clamped(const Operation& operation, const Exprs& index, int depth) {
    const Operation* const inner = shared_.analysis.value(operation.operands[0]).operation;
    const Op other = operation.op == Op::minimum ? Op::maximum : Op::minimum;
    if (operation.type.dtype != "int64" || inner == nullptr || inner->op != other) return {};
    const auto operand = [&](const Operation& made, std::size_t k) {
        return of_loops(made.operands[k], along(made.operands[k], operation, index), depth + 1);
    };
    const auto x = operand(*inner, 0);
    auto first = operand(*inner, 1), last = operand(operation, 1);
    if (operation.op == Op::maximum) std::swap(first, last);
    if (!x || !first || !last || !is_zero(first->least) || !is_zero(first->most) || !same_size(last->least, last->most))
        return {};
    const Size extent = last->most + Size::integer(1);
    if (!is_near(x->least, extent) || !is_near(x->most, extent)) return {};
    // Where a condition holds, beyond an end, nothing is likely.
    return inside(Halide::clamp(narrowed_ ? x->at : likely_here(x->at), 0, last->at), extent);
}

/// Another place where x is beyond an end of the axis: where(x < 0, a, b). What lies within is likely.
std::optional<Evaluator::OfLoops> Evaluator::turned_back(const Operation& operation, const Exprs& index, int depth) {
    if (operation.type.dtype != "int64" || narrowed_) return {};
    const auto beyond = beyond_an_end(operation, index, depth);
    if (!beyond) return {};
    const auto arm = [&](std::size_t k) {
        return of_loops(operation.operands[k], along(operation.operands[k], operation, index), depth + 1);
    };
    const auto within = arm(2);
    if (!within) return {};
    narrowed_ = beyond->narrowed;
    const auto other = arm(1);
    narrowed_.reset();
    if (!other || !same_size(other->least, within->least) || !same_size(other->most, within->most)) return {};
    return OfLoops{Halide::select(beyond->is_beyond, other->at, likely_here(within->at)), within->least, within->most};
}

/// The condition of where(x < end, …) or where(x > end, …), of a position and a size.
std::optional<Evaluator::BeyondAnEnd> Evaluator::beyond_an_end(const Operation& operation, const Exprs& index,
                                                               int depth) {
    const Operation* const condition = shared_.analysis.value(operation.operands[0]).operation;
    if (condition == nullptr || (condition->op != Op::less && condition->op != Op::greater) ||
        given_.count(operation.operands[0]) != 0)
        return {};
    const std::string& position = condition->operands[0];
    const Exprs index_of_x = along(position, operation, index);
    const auto x = of_loops(position, index_of_x, depth + 1);
    const auto end =
        x ? of_loops(condition->operands[1], along(condition->operands[1], operation, index), depth + 1) : std::nullopt;
    if (!end || !same_size(end->least, end->most) || same_size(x->least, x->most)) return {};
    for (const Size& limit : {x->least, x->most, end->most})
        if (std::ranges::none_of(operation.type.shape, [&](const Size& extent) { return is_near(limit, extent); }))
            return {}; // int32 may not have it
    const Size one = Size::integer(1);
    if (condition->op == Op::less)
        return BeyondAnEnd{x->at < end->at, {position, index_of_x, {x->at, x->least, end->most - one}}};
    return BeyondAnEnd{x->at > end->at, {position, index_of_x, {x->at, end->most + one, x->most}}};
}

/// Elements of one array at the ends of an axis and of another one within: where(x < 0, a, b).
std::optional<Expr> Evaluator::framed(const Operation& operation, const Exprs& index) {
    const auto beyond = beyond_an_end(operation, index, 0);
    if (!beyond) return {};
    const auto arm = [&](std::size_t k) {
        return at(operation.operands[k], along(operation.operands[k], operation, index));
    };
    operations_ += cost_of(Op::where);
    return Halide::select(beyond->is_beyond, arm(1), likely_here(arm(2)));
}

/// What np.roll reads by e = shift % n: x - e where that is inside, and n further elsewhere. The side that the program
/// names first is the likely one. No sum leaves int32 where it is selected.
std::optional<Evaluator::OfLoops> Evaluator::turned(const Operation& operation, const Exprs& index, int depth) {
    const auto made = [&](const std::string& value, Op op) -> const Operation* {
        const Operation* const maker = shared_.analysis.value(value).operation;
        return maker != nullptr && maker->op == op ? maker : nullptr;
    };
    const Operation* const behind = made(operation.operands[0], Op::less);
    const Operation* const condition = behind != nullptr ? behind : made(operation.operands[0], Op::greater_equal);
    const Operation* const inner = made(operation.operands[behind != nullptr ? 2 : 1], Op::subtract);
    const Operation* const outer = made(operation.operands[behind != nullptr ? 1 : 2], Op::subtract);
    if (condition == nullptr || inner == nullptr || outer == nullptr || inner->operands != condition->operands ||
        outer->operands[0] != inner->operands[0])
        return {};
    const std::string& shift = inner->operands[1];
    const Operation* const remainder = made(shift, Op::remainder);
    const Operation* const beyond = made(outer->operands[1], Op::subtract);
    if (remainder == nullptr || !remainder->type.shape.empty() || beyond == nullptr ||
        beyond->operands != std::vector<std::string>{shift, remainder->operands[1]})
        return {};
    const auto x = of_loops(inner->operands[0], index, depth + 1);
    const auto n = of_loops(remainder->operands[1], {}, depth + 1);
    if (!x || !n || !same_size(n->least, n->most) || !same_size(x->most + Size::integer(1), n->most)) return {};
    // Halide's % is NumPy's for an extent.
    const std::string& by = remainder->operands[0];
    const auto known = of_loops(by, {}, depth + 1);
    const Expr e = known ? known->at % n->at : Halide::cast<int32_t>(at(by, {}) % Halide::cast<int64_t>(n->at));
    const Expr straight = x->at - e;
    const Expr around = x->at - (e - n->at);
    return inside(behind != nullptr ? Halide::select(x->at < e, likely_here(around), straight)
                                    : Halide::select(x->at >= e, likely_here(straight), around),
                  n->most);
}

/// The element that a position names: from the end where it is negative, the nearest one where it is outside.
Expr Evaluator::taken(const Operation& operation, const Exprs& index) {
    const auto axis = static_cast<std::size_t>(operation.attributes.at(attr::axis));
    const std::size_t rank = shared_.analysis.value(operation.operands[1]).type.shape.size();
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto behind = first + static_cast<std::ptrdiff_t>(rank);
    const Size& elements = shared_.analysis.value(operation.operands[0]).type.shape[axis];
    const Expr extent = shared_.size(elements);
    auto place = of_loops(operation.operands[1], Exprs(first, behind));
    if (place && !is_at_most(place->most, elements - Size::integer(1))) place.reset();
    if (place && same_size(place->least, Size::integer(-1)))
        place = inside(Halide::select(place->at < 0, place->at + extent, likely_here(place->at)), elements);
    // A part that may be empty is read inside its bounds also where it is.
    if (!part_may_be_empty_ && place && is_at_most(Size::integer(0), place->least)) {
        Exprs inner(index.begin(), first);
        inner.push_back(place->at);
        inner.insert(inner.end(), behind, index.end());
        return at(operation.operands[0], inner);
    }
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

} // namespace tilewright::translator
