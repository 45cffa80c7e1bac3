// translator/passes/complex_builder.cpp: appending operations, and operators for formulas.
#include "translator/passes/complex_builder.h"

#include <algorithm>
#include <utility>

#include "translator/ir/attributes.h"
#include "translator/ir/size.h"

namespace tilewright::translator {
namespace {

std::vector<Size> broadcast(const std::vector<Size>& a, const std::vector<Size>& b) {
    std::vector<Size> out = a.size() >= b.size() ? a : b;
    const std::vector<Size>& other = a.size() >= b.size() ? b : a;
    const std::size_t missing = out.size() - other.size();
    for (std::size_t k = 0; k < other.size(); ++k) {
        if (is_one(out[k + missing])) out[k + missing] = other[k];
    }
    return out;
}

} // namespace

void ComplexBuilder::begin(int line) {
    at_line(line);
    begin_ = open_.back().out->size();
}

Value ComplexBuilder::make(Op op, std::vector<std::string> operands, const Type& type, const Attributes& attributes) {
    // a * b is b * a, which squares and products with conjugates use.
    if (op == Op::multiply) std::ranges::sort(operands);
    return value(once(type, op, std::move(operands), attributes));
}

Value ComplexBuilder::apply(Op op, const std::vector<Value>& operands) {
    Type out{type(operands.back().name).dtype, {}};
    if (is_truth(op)) out.dtype = "bool";
    std::vector<std::string> names;
    for (const Value& operand : operands) {
        out.shape = broadcast(out.shape, type(operand.name).shape);
        names.push_back(operand.name);
    }
    return make(op, names, out);
}

Value ComplexBuilder::constant(const std::string& literal, const std::string& dtype) {
    return make(Op::constant, {}, Type{dtype, {}}, {attr::value(literal)});
}

Value ComplexBuilder::named(const Value& given, const std::string& wish) {
    if (given.name[0] != '%') return given;
    std::vector<Operation>& operations = *open_.back().out;
    auto made = std::find_if(operations.begin(), operations.end(),
                             [&](const Operation& operation) { return operation.result == given.name; });
    if (made != operations.end() && is_free(made->op)) return given;
    const std::string own = values().names().named(wish);
    name(given, own);
    return value(own);
}

void ComplexBuilder::name(const Value& given, const std::string& own) {
    std::vector<Operation>& operations = *open_.back().out;
    auto made = std::find_if(operations.begin(), operations.end(),
                             [&](const Operation& operation) { return operation.result == given.name; });
    const bool is_new = made != operations.end() && made - operations.begin() >= static_cast<std::ptrdiff_t>(begin_);
    const Type of_given = type(given.name);
    // To its own dtype: a copy.
    if (!is_new) return emit(own, of_given, Op::cast, {given.name});
    values().declare(own, of_given);
    for (Operation& operation : operations) {
        if (operation.result == given.name) operation.result = own;
        std::replace(operation.operands.begin(), operation.operands.end(), given.name, own);
    }
    for (auto& [text, result] : open_.back().made) {
        if (result == given.name) result = own;
    }
}

Value Value::call(Op op, const std::vector<Value>& operands) {
    return operands.front().builder->apply(op, operands);
}

Value constant(const Value& like, const std::string& literal) {
    return like.builder->constant(literal, like.builder->type(like.name).dtype);
}

Complex where(const Value& condition, const Complex& a, const Complex& b) {
    return {where(condition, a.real, b.real), where(condition, a.imag, b.imag)};
}

} // namespace tilewright::translator
