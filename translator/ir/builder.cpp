// translator/ir/builder.cpp: operations by their text, so that equal ones are made once.
#include "translator/ir/builder.h"

namespace tilewright::translator {
namespace {

std::string key_of(const Type& type, Op op, const std::vector<std::string>& operands, const Attributes& attributes) {
    std::string out = text_of(op) + " " + type.dtype;
    for (const Size& extent : type.shape)
        out += "," + extent.text();
    for (const std::string& operand : operands)
        out += " " + operand;
    for (const Attribute& attribute : attributes)
        out += std::string(" ") + text_of(attribute.name) + "=" + value_text(attribute);
    return out;
}

} // namespace

void Builder::append(Operation operation) {
    values_.declare(operation.result, operation.type);
    for (const auto& [name, type] : operation.more_results)
        values_.declare(name, type);
    open_.back().out->push_back(std::move(operation));
}

void Builder::emit(const std::string& name, const Type& type, Op op, std::vector<std::string> operands,
                   Attributes attributes) {
    append(make_operation(name, type, op, std::move(operands), std::move(attributes), line_));
}

std::string Builder::add(const Type& type, Op op, std::vector<std::string> operands, Attributes attributes) {
    std::string name = fresh();
    emit(name, type, op, std::move(operands), std::move(attributes));
    return name;
}

std::string Builder::once(const Type& type, Op op, std::vector<std::string> operands, Attributes attributes) {
    const std::string key = key_of(type, op, operands, attributes);
    for (const Open& open : open_)
        if (const auto found = open.made.find(key); found != open.made.end()) return found->second;
    std::string name = add(type, op, std::move(operands), std::move(attributes));
    open_.back().made.emplace(key, name);
    return name;
}

} // namespace tilewright::translator
