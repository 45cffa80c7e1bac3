// translator/parts/rows.cpp: follows one extent through a program, axis by axis; calls in parts of it.
#include "translator/parts/rows.h"

#include <algorithm>

#include "translator/ir/size.h"
#include "translator/ir/values.h"

namespace tilewright::translator {
Rows::Rows(const Program& program, std::string extent)
    : program_(program), extent_(std::move(extent)), values_(program) {}

bool Rows::are_clear() const {
    bool all = true;
    values_.for_each([&](const std::string&, const Type& type) { all = all && place(type); });
    return all && std::ranges::all_of(program_.arrays,
                                      [&](const ArrayArgument& argument) { return *place(argument.type) <= 0; });
}

bool Rows::is_argument(const std::string& value) const {
    return std::ranges::find(program_.argument_order, value) != program_.argument_order.end();
}

std::vector<std::string> Rows::arguments() const {
    std::vector<std::string> names;
    for (const ArrayArgument& argument : program_.arrays)
        if (*place(argument.type) == 0) names.push_back(argument.name);
    return names;
}

bool Rows::speaks_of_it(const Size& size) const {
    const auto symbols = size.symbols();
    return std::ranges::find(symbols, extent_) != symbols.end();
}

std::optional<int> Rows::place(const Type& type) const {
    int found = kNone;
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
        if (!speaks_of_it(type.shape[k])) continue;
        if (found != kNone || type.shape[k].op() != Size::Op::symbol) return std::nullopt;
        found = static_cast<int>(k);
    }
    return found;
}

bool Rows::fits(const Guard& guard) const {
    if (!speaks_of_it(guard.condition)) return true;
    const Size &left = guard.condition.operands()[0], &bound = guard.condition.operands()[1];
    if (left != Size::symbol(extent_) || !bound.is_constant()) return false;
    const std::int64_t number = bound.constant();
    switch (guard.condition.op()) {
    case Size::Op::ne:
    case Size::Op::gt:
        return number <= 0;
    case Size::Op::ge:
        return number <= 1;
    case Size::Op::eq:
        return false;
    default:
        return true;
    }
}

bool Rows::fits(const Block& block) const {
    return std::ranges::all_of(block.operations, [&](const Operation& operation) { return fits(operation); });
}

bool Rows::fits(const Operation& operation) const {
    const Op op = operation.op;
    for (const Attribute& attribute : operation.attributes)
        if (const Size* size = std::get_if<Size>(&attribute.value); size != nullptr && speaks_of_it(*size))
            return false;
    if (!operation.regions.empty()) return fits_region(operation);
    const int to = *place(operation.type);
    const auto has_none = [&](const std::string& operand) { return place_of(operand) == kNone; };
    if (op == Op::index) return fits_index(operation, operation.operands[0], to);
    if (op == Op::update) return fits_update(operation, to);
    const bool untouched = std::ranges::all_of(operation.operands, has_none);
    if (is_elementwise(op) || is_half(op) || op == Op::broadcast_to || op == Op::complex || op == Op::conjugate) {
        const int rank = static_cast<int>(operation.type.shape.size());
        return std::ranges::all_of(operation.operands, [&](const std::string& operand) {
            return has_none(operand) || (to != kNone && rank_of(operand) - place_of(operand) == rank - to);
        });
    }
    if (to == kNone && untouched) return true;
    if (untouched) return false; // it makes the axis itself
    const int from = place_of(operation.operands[0]);
    if (op == Op::transpose) {
        const std::vector<int> axes = operation.attributes.at(attr::axes);
        return to != kNone && axes[static_cast<std::size_t>(to)] == from;
    }
    if (is_reduction(op)) {
        const std::vector<int> axes = reduced_axes(operation);
        const auto before = std::ranges::count_if(axes, [&](int axis) { return axis < from; });
        return std::ranges::count(axes, from) == 0 && to == from - static_cast<int>(before);
    }
    return op == Op::matmul && fits_matmul(operation, to);
}

/// A matrix of a stack at the same place in each stack; of one matrix alone, its rows.
bool Rows::fits_matmul(const Operation& operation, int to) const {
    const int behind = static_cast<int>(operation.type.shape.size()) - to; // axes from this one on
    if (to == kNone || behind == 1) return false;
    const auto is_there = [&](const std::string& operand) { return rank_of(operand) - place_of(operand) == behind; };
    const auto has_none = [&](const std::string& operand) { return place_of(operand) == kNone; };
    const std::string &a = operation.operands[0], &b = operation.operands[1];
    if (behind == 2) return is_there(a) && has_none(b);
    return (is_there(a) || has_none(a)) && (is_there(b) || has_none(b));
}

/// All of the axis, and nothing of it elsewhere.
bool Rows::fits_index(const Operation& operation, const std::string& array, int to) const {
    const int from = place_of(array);
    int axis = 0, result = 0;
    for (const IndexEntry& entry : operation.attributes.at(attr::index)) {
        if (entry.kind == IndexEntry::Kind::newaxis) {
            if (result++ == to) return false;
            continue;
        }
        const bool is_slice = entry.kind == IndexEntry::Kind::slice;
        if (speaks_of_it(entry.start) || (is_slice && speaks_of_it(entry.step))) return false;
        if (axis == from) {
            if (entry != IndexEntry::all() || result != to) return false;
        } else if (is_slice && result == to) {
            return false;
        }
        ++axis;
        result += is_slice ? 1 : 0;
    }
    return (from == kNone) == (to == kNone);
}

/// The part has the axis where the array has it.
bool Rows::fits_update(const Operation& operation, int to) const {
    return place_of(operation.operands[0]) == to &&
           fits_index(operation, operation.operands[0], place_of(operation.operands[1]));
}

/// What a loop carries stays where it is. What it asks has no dimensions, and nothing in it mixes positions.
bool Rows::fits_region(const Operation& operation) const {
    for (const Block& region : operation.regions) {
        for (std::size_t k = 0; k < region.parameters.size(); ++k)
            if (place_of(operation.operands[k]) != *place(region.parameters[k].second)) return false;
        if (!fits(region)) return false;
    }
    return true;
}

std::vector<std::string> extents_of_rows(const Program& program) {
    std::vector<std::string> extents;
    for (const ArrayArgument& argument : program.arrays) {
        if (argument.type.shape.empty() || argument.type.shape[0].op() != Size::Op::symbol) continue;
        const std::string& extent = argument.type.shape[0].name();
        if (extent.find('.') != std::string::npos && std::ranges::find(extents, extent) == extents.end())
            extents.push_back(extent);
    }
    return extents;
}

namespace {

/// No part has the length that the whole must have.
bool is_equality(const Guard& guard) {
    return guard.condition.op() == Size::Op::eq;
}

bool hold(const Program& program, const Rows& rows) {
    if (!rows.are_clear()) return false;
    for (const Write& write : program.writes)
        if (rows.place_of(write.argument) != 0) return false;
    for (const std::string& name : program.body.yields)
        if (rows.is_argument(name) || rows.place_of(name) != 0) return false;
    // Memory for a result is made when a first part has shown its shape; a written argument must not see that.
    if (program.body.yields.empty() == program.writes.empty()) return false;
    // The whole is asked before it is cut. A part that is then none for the program ends the call, which must not have
    // written anything.
    const auto asks_no_more = [&](const Guard& guard) {
        return rows.fits(guard) || (program.writes.empty() && !is_equality(guard));
    };
    const auto fits = [&](const Operation& operation) { return rows.fits(operation); };
    return std::ranges::all_of(program.guards, asks_no_more) && std::ranges::all_of(program.body.operations, fits);
}

} // namespace

std::vector<std::string> sliced_arguments(const Program& program) {
    for (const std::string& extent : extents_of_rows(program))
        if (const Rows rows(program, extent); hold(program, rows)) return rows.arguments();
    return {};
}

} // namespace tilewright::translator
