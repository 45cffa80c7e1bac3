// translator/ir/attributes.cpp: attributes as text, and the sizes in them.
#include "translator/ir/attributes.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "translator/ir/program.h"

namespace tilewright::translator {
namespace {

/// "2cj3": two axes of iterations, contiguous, the last three axes are one.
std::string text_of(const SumOrder& order) {
    return std::to_string(order.iterations) + (order.contiguous ? "c" : "") + (order.library ? "l" : "") +
           (order.joined == 1 ? "" : "j" + std::to_string(order.joined));
}

/// Of attributes, or of constant ones.
void each_size(auto& entries, const auto& use) {
    for (auto& entry : entries) {
        if (auto* const size = std::get_if<Size>(&entry.value)) use(*size);
        if (auto* const index = std::get_if<std::vector<IndexEntry>>(&entry.value))
            for (auto& each : *index) {
                if (each.kind != IndexEntry::Kind::newaxis) use(each.start);
                if (each.kind == IndexEntry::Kind::slice) use(each.step);
            }
    }
}

} // namespace

const std::vector<AttributeInfo>& attribute_infos() {
    static const std::vector<AttributeInfo> infos{
#define ATTRIBUTE(name, type) {#name, AttributeInfo::Place::braces, type()},
#define OF_LOOPS(name, type) {#name, AttributeInfo::Place::loops, type()},
#define OF_PASSES(name, type) {#name, AttributeInfo::Place::passes, type()},
#include "translator/ir/attributes.def"
    };
    return infos;
}

const char* text_of(AttributeName name) {
    return attribute_infos()[static_cast<std::size_t>(name)].name;
}

void Attributes::set(Attribute attribute) {
    const auto at =
        std::ranges::lower_bound(entries_, attribute.name, {}, [](const Attribute& entry) { return entry.name; });
    if (at != entries_.end() && at->name == attribute.name)
        *at = std::move(attribute);
    else
        entries_.insert(at, std::move(attribute));
}

void Attributes::refuse(AttributeName name) {
    throw InternalError(std::string("an operation has no attribute ") + text_of(name) + ".");
}

void Attributes::for_each_size(const std::function<void(const Size&)>& see) const {
    each_size(entries_, see);
}

void Attributes::map_sizes(const std::function<Size(const Size&)>& replace) {
    each_size(entries_, [&](Size& size) { size = replace(size); });
}

void exchange_axes(Attributes& attributes) {
    std::vector<IndexEntry> entries = attributes.at(attr::index);
    if (entries.size() == 2) std::swap(entries[0], entries[1]);
    attributes.set(attr::index, std::move(entries));
}

std::string text_of(const std::vector<IndexEntry>& entries) {
    const auto text = [](const IndexEntry& entry) -> std::string {
        if (entry.kind == IndexEntry::Kind::newaxis) return "newaxis";
        return entry.start.text() + (entry.kind == IndexEntry::Kind::slice ? ":" + entry.step.text() : "");
    };
    return "[" + dsl::joined(entries, ", ", text) + "]";
}

std::string text_of(const std::vector<int>& axes) {
    return "[" + dsl::joined(axes, ", ", [](int axis) { return std::to_string(axis); }) + "]";
}

std::string value_text(const Attribute& attribute) {
    struct Writer {
        std::string operator()(bool value) const { return value ? "true" : "false"; }
        std::string operator()(int value) const { return std::to_string(value); }
        std::string operator()(const std::string& value) const { return value; }
        std::string operator()(const Text& value) const { return quoted(value.text); }
        std::string operator()(const Size& value) const { return value.text(); }
        std::string operator()(const std::vector<int>& value) const { return text_of(value); }
        std::string operator()(const std::vector<IndexEntry>& value) const { return text_of(value); }
        std::string operator()(const SumOrder& value) const { return text_of(value); }
    };
    return std::visit(Writer(), attribute.value);
}

} // namespace tilewright::translator
