// translator/loops/element_axes.cpp: alignment of values with the arrays that they are computed from.
#include "translator/loops/element_axes.h"

#include "translator/ir/attributes.h"
#include "translator/ir/size.h"
#include "translator/ir/values.h"

namespace tilewright::translator {

void ElementAxes::follow(const std::string& name, const Type& type) {
    Axes axes;
    for (std::size_t k = 0; k < type.shape.size(); ++k)
        axes.push_back(static_cast<int>(k));
    axes_[name] = std::move(axes);
    types_[name] = type;
    origin_[name] = name;
}

bool ElementAxes::at_own_element(const std::string& value, std::size_t rank) const {
    const auto found = axes_.find(value);
    if (found == axes_.end() || found->second.size() != rank || elsewhere_.count(value) != 0) return false;
    for (std::size_t k = 0; k < rank; ++k) {
        // A 0-d array that was broadcast to the element's shape is no array of elements, but stands at each of them.
        if (found->second[k] != static_cast<int>(k) && found->second[k] != kNew && found->second[k] != kNone)
            return false;
    }
    return true;
}

void ElementAxes::visit(const Operation& operation) {
    types_[operation.result] = operation.type;
    bool any = false;
    bool elsewhere = false;
    for (const std::string& operand : operation.operands) {
        any = any || depends(operand);
        elsewhere = elsewhere || elsewhere_.count(operand) != 0;
    }
    if (!any) return;
    std::optional<Axes> axes = elsewhere ? std::nullopt : result_of(operation);
    if (!axes) elsewhere_.insert(operation.result);
    axes_[operation.result] = axes.value_or(Axes(operation.type.shape.size(), kNew));
    origin_[operation.result] = first_followed(operation);
}

std::string ElementAxes::first_followed(const Operation& operation) const {
    for (const std::string& operand : operation.operands) {
        if (const auto found = origin_.find(operand); found != origin_.end()) return found->second;
    }
    return "";
}

void ElementAxes::stop(const Operation& operation, const std::string& what) {
    if (!trouble_.empty()) return;
    trouble_ = what;
    trouble_line_ = operation.line;
}

std::optional<ElementAxes::Axes> ElementAxes::result_of(const Operation& operation) {
    const Op op = operation.op;
    const std::string name = first_followed(operation);
    if (is_elementwise(op) || op == Op::broadcast_to) return broadcast(operation);
    if (op == Op::index) return indexed(operation);
    if (op == Op::transpose) {
        const Axes& from = axes_.at(operation.operands[0]);
        const Axes& order = operation.attributes.at(attr::axes);
        Axes to;
        for (int axis : order)
            to.push_back(from[static_cast<std::size_t>(axis)]);
        return to;
    }
    if (op == Op::take && operation.type.shape.empty() && !depends(operation.operands[0])) return Axes();
    if (op == Op::update) {
        stop(operation, "writes a part of " + name);
        return std::nullopt;
    }
    if (is_reduction(op) || op == Op::matmul)
        stop(operation, (op == Op::matmul ? "multiplies the matrix " : "takes the " + text_of(op) + " of ") + name);
    else
        stop(operation, "reads " + name + " at another element");
    return std::nullopt;
}

std::optional<ElementAxes::Axes> ElementAxes::broadcast(const Operation& operation) {
    const std::vector<Size>& shape = operation.type.shape;
    Axes out(shape.size(), kNone);
    for (const std::string& operand : operation.operands) {
        const auto found = axes_.find(operand);
        if (found == axes_.end()) continue;
        const std::size_t missing = shape.size() - found->second.size();
        for (std::size_t k = 0; k < found->second.size(); ++k) {
            const int axis = found->second[k];
            if (axis < 0) continue;
            int& into = out[k + missing];
            const auto type = types_.find(operand);
            const bool stretched = type != types_.end() && is_one(type->second.shape[k]) && !is_one(shape[k + missing]);
            if (stretched || (into >= 0 && into != axis)) {
                stop(operation, "combines elements of " + first_followed(operation) + " with other elements");
                return std::nullopt;
            }
            into = axis;
        }
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
        if (out[k] == kNone && !is_one(shape[k])) out[k] = kNew;
    }
    return out;
}

std::optional<ElementAxes::Axes> ElementAxes::indexed(const Operation& operation) {
    const std::string& operand = operation.operands[0];
    const Axes& from = axes_.at(operand);
    Axes out;
    std::size_t axis = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            out.push_back(kNone);
            continue;
        }
        const int moves = from[axis];
        const Size extent = types_.at(operand).shape[axis];
        ++axis;
        const bool still = moves < 0 || is_one(extent);
        if (entry.kind == IndexEntry::Kind::position) {
            if (still) continue;
            stop(operation, "reads " + origin_.at(operand) + " at another element");
            return std::nullopt;
        }
        const bool whole = entry.start.is_constant() && entry.start.constant() == 0 && entry.step.is_constant() &&
                           entry.step.constant() == 1 && same_size(extent, operation.type.shape[out.size()]);
        if (!whole && moves >= 0) {
            stop(operation, "reads " + origin_.at(operand) + " at another element");
            return std::nullopt;
        }
        out.push_back(moves);
    }
    return out;
}

} // namespace tilewright::translator
