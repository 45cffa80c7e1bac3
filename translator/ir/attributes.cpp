// translator/ir/attributes.cpp: attributes as text, and the sizes in them.
#include "translator/ir/attributes.h"

#include <algorithm>

#include "dsl/base/error.h"

namespace tilewright::translator {
namespace {

std::string text_of_each(const auto& entries, const auto& text) {
    std::string out = "[";
    for (std::size_t k = 0; k < entries.size(); ++k)
        out += (k > 0 ? ", " : "") + text(entries[k]);
    return out + "]";
}

/// "2cj3": two axes of iterations, contiguous, the last three axes are one.
std::string text_of(const SumOrder& order) {
    return std::to_string(order.iterations) + (order.contiguous ? "c" : "") + (order.library ? "l" : "") +
           (order.joined == 1 ? "" : "j" + std::to_string(order.joined));
}

} // namespace

const std::vector<AttributeInfo>& attribute_infos() {
    static const std::vector<AttributeInfo> infos{
#define ATTRIBUTE(name, type, text) {#name, AttributeText::text},
#define OF_PASSES(name, type) {#name, AttributeText::none},
#include "translator/ir/attributes.def"
#undef ATTRIBUTE
#undef OF_PASSES
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
    for (const Attribute& entry : entries_) {
        if (const Size* size = std::get_if<Size>(&entry.value)) see(*size);
        if (const auto* index = std::get_if<std::vector<IndexEntry>>(&entry.value))
            for (const IndexEntry& each : *index) {
                if (each.kind != IndexEntry::Kind::newaxis) see(each.start);
                if (each.kind == IndexEntry::Kind::slice) see(each.step);
            }
    }
}

void Attributes::map_sizes(const std::function<Size(const Size&)>& replace) {
    for (Attribute& entry : entries_) {
        if (Size* size = std::get_if<Size>(&entry.value)) *size = replace(*size);
        if (auto* index = std::get_if<std::vector<IndexEntry>>(&entry.value))
            for (IndexEntry& each : *index) {
                if (each.kind != IndexEntry::Kind::newaxis) each.start = replace(each.start);
                if (each.kind == IndexEntry::Kind::slice) each.step = replace(each.step);
            }
    }
}

void exchange_axes(Attributes& attributes) {
    std::vector<IndexEntry> entries = attributes.at(attr::index);
    if (entries.size() == 2) std::swap(entries[0], entries[1]);
    attributes.set(attr::index, std::move(entries));
}

std::string text_of(const std::vector<IndexEntry>& entries) {
    return text_of_each(entries, [](const IndexEntry& entry) -> std::string {
        if (entry.kind == IndexEntry::Kind::newaxis) return "newaxis";
        return entry.start.text() + (entry.kind == IndexEntry::Kind::slice ? ":" + entry.step.text() : "");
    });
}

std::string text_of(const std::vector<int>& axes) {
    return text_of_each(axes, [](int axis) { return std::to_string(axis); });
}

std::string value_text(const Attribute& attribute) {
    struct Writer {
        std::string operator()(bool value) const { return value ? "true" : "false"; }
        std::string operator()(int value) const { return std::to_string(value); }
        std::string operator()(const std::string& value) const { return value; }
        std::string operator()(const Size& value) const { return value.text(); }
        std::string operator()(const std::vector<int>& value) const { return text_of(value); }
        std::string operator()(const std::vector<IndexEntry>& value) const { return text_of(value); }
        std::string operator()(const SumOrder& value) const { return text_of(value); }
    };
    return std::visit(Writer(), attribute.value);
}

} // namespace tilewright::translator
