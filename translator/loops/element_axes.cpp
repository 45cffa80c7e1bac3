// translator/loops/element_axes.cpp: alignment of values with the arrays that they are computed from.
#include "translator/loops/element_axes.h"

#include <numeric>

#include "translator/ir/attributes.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"

namespace tilewright::translator {

void ElementAxes::follow(const std::string& name, const Type& type) {
    Axes axes(type.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    values_[name] = {type, std::move(axes), name};
}

bool ElementAxes::at_own_element(const std::string& value, std::size_t rank) const {
    const auto found = values_.find(value);
    if (found == values_.end() || found->second.axes.size() != rank || found->second.elsewhere) return false;
    for (std::size_t k = 0; k < rank; ++k) {
        // A 0-d array that was broadcast to the element's shape is no array of elements, but stands at each of them.
        const int axis = found->second.axes[k];
        if (axis != static_cast<int>(k) && axis != kNew && axis != kNone) return false;
    }
    return true;
}

void ElementAxes::visit(const Operation& operation) {
    std::string origin;
    bool elsewhere = false;
    for (const std::string& operand : operation.operands) {
        const auto found = values_.find(operand);
        if (found == values_.end()) continue;
        if (origin.empty()) origin = found->second.origin;
        elsewhere = elsewhere || found->second.elsewhere;
    }
    if (origin.empty()) return;
    const std::optional<Axes> axes = elsewhere ? std::nullopt : result_of(operation, origin);
    values_[operation.result] = {operation.type, axes.value_or(Axes(operation.type.shape.size(), kNew)), origin,
                                 !axes.has_value()};
}

std::nullopt_t ElementAxes::stop(const Operation& operation, const std::string& what) {
    if (trouble_.empty()) {
        trouble_ = what;
        trouble_line_ = operation.line;
    }
    return std::nullopt;
}

std::optional<ElementAxes::Axes> ElementAxes::result_of(const Operation& operation, const std::string& origin) {
    const Op op = operation.op;
    if (is_elementwise(op) || op == Op::broadcast_to) return broadcast(operation, origin);
    if (op == Op::index) return indexed(operation);
    if (op == Op::transpose) {
        const Axes& from = values_.at(operation.operands[0]).axes;
        Axes to;
        for (const int axis : operation.attributes.at(attr::axes))
            to.push_back(from[static_cast<std::size_t>(axis)]);
        return to;
    }
    if (op == Op::take && operation.type.shape.empty() && !depends(operation.operands[0])) return Axes();
    if (op == Op::update) return stop(operation, "writes a part of " + origin);
    if (op == Op::matmul) return stop(operation, "multiplies the matrix " + origin);
    if (is_reduction(op)) return stop(operation, "takes the " + text_of(op) + " of " + origin);
    return stop(operation, "reads " + origin + " at another element");
}

std::optional<ElementAxes::Axes> ElementAxes::broadcast(const Operation& operation, const std::string& origin) {
    const std::vector<Size>& shape = operation.type.shape;
    Axes out(shape.size(), kNone);
    for (const std::string& operand : operation.operands) {
        const auto found = values_.find(operand);
        if (found == values_.end()) continue;
        const auto& [type, axes, own_origin, elsewhere] = found->second;
        const std::size_t missing = shape.size() - axes.size();
        for (std::size_t k = 0; k < axes.size(); ++k) {
            if (axes[k] < 0) continue;
            int& into = out[k + missing];
            const bool stretched = is_one(type.shape[k]) && !is_one(shape[k + missing]);
            if (stretched || (into >= 0 && into != axes[k]))
                return stop(operation, "combines elements of " + origin + " with other elements");
            into = axes[k];
        }
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (out[k] == kNone && !is_one(shape[k])) out[k] = kNew;
    }
    return out;
}

std::optional<ElementAxes::Axes> ElementAxes::indexed(const Operation& operation) {
    const Follower& from = values_.at(operation.operands[0]);
    Axes out;
    std::size_t axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            out.push_back(kNone);
            continue;
        }
        const int moves = from.axes[axis];
        const Size& extent = from.type.shape[axis++];
        const bool position = entry.kind == IndexEntry::Kind::position;
        const bool stays =
            moves < 0 || (position ? is_one(extent) : is_whole(entry, operation.type.shape[out.size()], extent));
        if (!stays) return stop(operation, "reads " + from.origin + " at another element");
        if (!position) out.push_back(moves);
    }
    return out;
}

} // namespace tilewright::translator
