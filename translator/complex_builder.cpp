// translator/complex_builder.cpp: appending operations, and operators for formulas.
#include "translator/complex_builder.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "translator/attributes.h"
#include "translator/size.h"
#include "translator/values.h"

namespace tilewright::translator {
namespace {

bool is_truth(const std::string& op) {
    static const std::set<std::string> list = {"equal",
                                               "not_equal",
                                               "less",
                                               "less_equal",
                                               "greater",
                                               "greater_equal",
                                               "logical_and",
                                               "logical_or",
                                               "logical_xor",
                                               "logical_not",
                                               "isnan",
                                               "isinf",
                                               "isfinite",
                                               "signbit",
                                               "magnitude_less",
                                               "magnitude_less_equal",
                                               "magnitude_greater",
                                               "magnitude_greater_equal"};
    return list.count(op) != 0;
}

bool is_one(const Size& size) {
    return size.is_constant() && size.constant() == 1;
}

std::vector<Size> broadcast(const std::vector<Size>& a, const std::vector<Size>& b) {
    std::vector<Size> out = a.size() >= b.size() ? a : b;
    const std::vector<Size>& other = a.size() >= b.size() ? b : a;
    const std::size_t missing = out.size() - other.size();
    for (std::size_t k = 0; k < other.size(); ++k) {
        if (is_one(out[k + missing])) out[k + missing] = other[k];
    }
    return out;
}

std::string key_of(const Operation& operation) {
    std::string out = call_text(operation) + operation.type.dtype + "[";
    for (const Size& extent : operation.type.shape)
        out += extent.text() + ",";
    return out;
}

} // namespace

void ComplexBuilder::enter(Block& block) {
    open_.push_back({&block, {}});
}

void ComplexBuilder::begin(int line) {
    line_ = line;
    begin_ = open_.back().block->operations.size();
}

void ComplexBuilder::leave() {
    open_.pop_back();
}

std::string ComplexBuilder::unique(const std::string& wish) {
    std::string name = wish;
    for (int k = 2; !names_.insert(name).second; ++k)
        name = wish + "_" + std::to_string(k);
    return name;
}

std::string ComplexBuilder::temporary() {
    std::string name;
    do
        name = "%" + std::to_string(++temporaries_);
    while (!names_.insert(name).second);
    return name;
}

void ComplexBuilder::append(const Operation& operation) {
    declare(operation.result, operation.type);
    for (const auto& [name, type] : operation.more_results)
        declare(name, type);
    open_.back().block->operations.push_back(operation);
}

Value ComplexBuilder::make(const std::string& op, const std::vector<std::string>& operands, const Type& type,
                           const std::map<std::string, std::string>& attributes) {
    // It gets a name once it is known to be new.
    Operation operation = make_operation("", type, op, operands, attributes, line_);
    // a * b is b * a, which squares and products with conjugates use.
    if (op == "multiply") std::sort(operation.operands.begin(), operation.operands.end());
    const std::string key = key_of(operation);
    for (const Open& open : open_) {
        if (auto found = open.made.find(key); found != open.made.end()) return value(found->second);
    }
    operation.result = temporary();
    append(operation);
    open_.back().made[key] = operation.result;
    return value(operation.result);
}

Value ComplexBuilder::apply(const std::string& op, const std::vector<Value>& operands) {
    Type out{types_.at(operands.back().name).dtype, {}};
    if (is_truth(op)) out.dtype = "bool";
    std::vector<std::string> names;
    for (const Value& operand : operands) {
        out.shape = broadcast(out.shape, types_.at(operand.name).shape);
        names.push_back(operand.name);
    }
    return make(op, names, out);
}

Value ComplexBuilder::constant(const std::string& literal, const std::string& dtype) {
    return make("const", {}, Type{dtype, {}}, {{"value", literal}});
}

Value ComplexBuilder::named(const Value& given, const std::string& wish) {
    if (given.name[0] != '%') return given;
    std::vector<Operation>& operations = open_.back().block->operations;
    auto made = std::find_if(operations.begin(), operations.end(),
                             [&](const Operation& operation) { return operation.result == given.name; });
    static const std::set<std::string> never_stages = {"const", "index", "transpose", "reshape",    "broadcast_to",
                                                       "real",  "imag",  "iota",      "scalar_size"};
    if (made != operations.end() && never_stages.count(made->op) != 0) return given;
    const std::string own = unique(wish);
    name(given, own);
    return value(own);
}

void ComplexBuilder::name(const Value& given, const std::string& own) {
    std::vector<Operation>& operations = open_.back().block->operations;
    auto made = std::find_if(operations.begin(), operations.end(),
                             [&](const Operation& operation) { return operation.result == given.name; });
    const bool is_new = made != operations.end() && made - operations.begin() >= static_cast<std::ptrdiff_t>(begin_);
    declare(own, types_.at(given.name));
    if (!is_new) {
        // To its own dtype: a copy.
        return append(make_operation(own, types_.at(given.name), "cast", {given.name}, {}, line_));
    }
    for (Operation& operation : operations) {
        if (operation.result == given.name) operation.result = own;
        std::replace(operation.operands.begin(), operation.operands.end(), given.name, own);
    }
    for (auto& [text, result] : open_.back().made) {
        if (result == given.name) result = own;
    }
}

Value operator+(const Value& a, const Value& b) {
    return a.builder->apply("add", {a, b});
}
Value operator-(const Value& a, const Value& b) {
    return a.builder->apply("subtract", {a, b});
}
Value operator*(const Value& a, const Value& b) {
    return a.builder->apply("multiply", {a, b});
}
Value operator/(const Value& a, const Value& b) {
    return a.builder->apply("divide", {a, b});
}
Value operator-(const Value& a) {
    return a.builder->apply("negative", {a});
}
Value operator<(const Value& a, const Value& b) {
    return a.builder->apply("less", {a, b});
}
Value operator>(const Value& a, const Value& b) {
    return a.builder->apply("greater", {a, b});
}
Value operator<=(const Value& a, const Value& b) {
    return a.builder->apply("less_equal", {a, b});
}
Value operator>=(const Value& a, const Value& b) {
    return a.builder->apply("greater_equal", {a, b});
}
Value operator==(const Value& a, const Value& b) {
    return a.builder->apply("equal", {a, b});
}
Value operator!=(const Value& a, const Value& b) {
    return a.builder->apply("not_equal", {a, b});
}
Value operator&(const Value& a, const Value& b) {
    return a.builder->apply("logical_and", {a, b});
}
Value operator|(const Value& a, const Value& b) {
    return a.builder->apply("logical_or", {a, b});
}
Value operator!(const Value& a) {
    return a.builder->apply("logical_not", {a});
}
Value where(const Value& condition, const Value& yes, const Value& no) {
    return condition.builder->apply("where", {condition, yes, no});
}
Value call(const std::string& op, const Value& a) {
    return a.builder->apply(op, {a});
}
Value hypot(const Value& a, const Value& b) {
    return a.builder->apply("hypot", {a, b});
}
Value constant(const Value& like, const std::string& literal) {
    return like.builder->constant(literal, like.builder->type(like.name).dtype);
}

Complex where(const Value& condition, const Complex& a, const Complex& b) {
    return {where(condition, a.real, b.real), where(condition, a.imag, b.imag)};
}

} // namespace tilewright::translator
