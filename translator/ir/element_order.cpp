// translator/ir/element_order.cpp: views, and how NumPy lays out what it computes.
#include "translator/ir/element_order.h"

#include "translator/ir/attributes.h"
#include "translator/ir/size.h"

namespace tilewright::translator {
namespace {

int first_wide_axis(const std::vector<Size>& shape) {
    for (std::size_t k = 0; k < shape.size(); ++k) {
        if (!is_one(shape[k])) return static_cast<int>(k);
    }
    return shape.empty() ? -1 : 0;
}

int last_wide_axis(const std::vector<Size>& shape) {
    for (std::size_t k = shape.size(); k-- > 0;) {
        if (!is_one(shape[k])) return static_cast<int>(k);
    }
    return static_cast<int>(shape.size()) - 1;
}

/// Where the operand's axis `axis` is in the result of an index operation, -1 if dropped.
int axis_after_index(const Operation& operation, int axis) {
    int operand_axis = 0;
    int result_axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            ++result_axis;
            continue;
        }
        if (operand_axis == axis) return entry.kind == IndexEntry::Kind::slice ? result_axis : -1;
        ++operand_axis;
        if (entry.kind == IndexEntry::Kind::slice) ++result_axis;
    }
    return -1;
}

ElementOrder order_of_view(const Operation& operation, const OrderedOperand& operand) {
    const std::vector<Size>& shape = operation.type.shape;
    const std::vector<Size>& from = operand.type.shape;
    const int axis = operand.order.contiguous_axis;
    ElementOrder out = by_axes(operation.type);
    if (is_half(operation.op)) return operand.order;
    switch (operation.op) {
    case Op::reshape:
        out.flat = out.flat || operand.order.flat;
        break;
    case Op::index: {
        out.flat = out.flat || (operand.order.flat && keeps_order(operation, operand.type));
        const int after = axis_after_index(operation, axis);
        if (after >= 0) out.contiguous_axis = after;
        break;
    }
    case Op::windows:
        if (axis >= 0) out.contiguous_axis = axis + (axis >= operation.attributes.at(attr::axis) ? 1 : 0);
        break;
    case Op::transpose: {
        const std::vector<int>& axes = operation.attributes.at(attr::axes);
        for (std::size_t k = 0; k < axes.size(); ++k) {
            if (axes[k] == axis) out.contiguous_axis = static_cast<int>(k);
        }
        break;
    }
    case Op::broadcast_to:
        out.flat = out.flat || (operand.order.flat && wide_extents(from) == wide_extents(shape));
        if (axis >= 0 && !is_one(from[static_cast<std::size_t>(axis)]))
            out.contiguous_axis = axis + static_cast<int>(shape.size() - from.size());
        break;
    default:
        break;
    }
    return out;
}

ElementOrder order_of_elementwise(const Operation& operation, const std::vector<OrderedOperand>& operands,
                                  bool stored) {
    const std::vector<Size>& shape = operation.type.shape;
    const std::vector<std::string> wide = wide_extents(shape);
    ElementOrder out = by_axes(operation.type);
    bool flat = !stored;
    std::size_t most = 0;
    for (const auto& [type, order] : operands) {
        const std::vector<std::string> extents = wide_extents(type.shape);
        flat = flat && (extents.empty() || (order.flat && extents == wide));
        // NumPy's result follows the order of its operands; the first with most axes decides. One that does not move
        // along the last axis says nothing about it: a column by a row is in C order.
        const int shift = static_cast<int>(shape.size() - type.shape.size());
        const int last = last_wide_axis(shape) - shift;
        if (extents.size() > most && order.contiguous_axis >= 0 && last >= 0 &&
            !is_one(type.shape[static_cast<std::size_t>(last)])) {
            most = extents.size();
            out.contiguous_axis = order.contiguous_axis + shift;
        }
    }
    out.flat = out.flat || flat;
    return out;
}

} // namespace

bool keeps_order(const Operation& operation, const Type& operand) {
    std::size_t axis = 0;
    std::size_t result_axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            ++result_axis;
            continue;
        }
        const Size& extent = operand.shape[axis++];
        const bool whole = entry.kind == IndexEntry::Kind::position
                               ? is_one(extent)
                               : is_whole(entry, operation.type.shape[result_axis++], extent);
        if (!whole) return false;
    }
    return true;
}

std::vector<std::string> wide_extents(const std::vector<Size>& shape) {
    std::vector<std::string> out;
    for (const Size& extent : shape) {
        if (!is_one(extent)) out.push_back(normal_form(extent));
    }
    return out;
}

ElementOrder by_axes(const Type& type) {
    return {last_wide_axis(type.shape), wide_extents(type.shape).size() <= 1};
}

ElementOrder c_order(const Type& type) {
    return {last_wide_axis(type.shape), true};
}

ElementOrder f_order(const Type& type) {
    return {first_wide_axis(type.shape), wide_extents(type.shape).size() <= 1};
}

ElementOrder element_order(const Operation& operation, const std::vector<OrderedOperand>& operands, bool stored) {
    if (is_view(operation.op)) return order_of_view(operation, operands[0]);
    if (is_elementwise(operation.op)) return order_of_elementwise(operation, operands, stored);
    return by_axes(operation.type);
}

bool is_stored(const Operation& operation) {
    const bool named = operation.result[0] != '%';
    return is_reduction(operation.op) || operation.op == Op::matmul || operation.op == Op::call ||
           (named && !is_free(operation.op) && operation.op != Op::complex);
}

} // namespace tilewright::translator
