// translator/attributes.cpp: reading axes and index lists.
#include "translator/attributes.h"

namespace tilewright::translator {
namespace {

/// Splits "[a, min(b, c)]" at commas outside parentheses.
std::vector<std::string> entries(const std::string& text) {
    std::vector<std::string> out;
    std::string entry;
    int depth = 0;
    for (std::size_t k = 1; k + 1 < text.size(); ++k) {
        char c = text[k];
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (c == ',' && depth == 0) {
            out.push_back(entry);
            entry.clear();
        } else if (c != ' ' || !entry.empty()) {
            entry += c;
        }
    }
    if (!entry.empty()) out.push_back(entry);
    return out;
}

} // namespace

std::optional<std::vector<int>> try_axes(const std::string& text) {
    std::vector<int> out;
    for (const std::string& entry : entries(text)) {
        std::optional<Size> tree = try_parse_size(entry);
        if (!tree || !tree->is_constant() || tree->constant() < 0 || tree->constant() > 63) return std::nullopt;
        out.push_back(static_cast<int>(tree->constant()));
    }
    return out;
}

std::vector<IndexEntry> index_entries(const std::string& text) {
    std::vector<IndexEntry> out;
    for (const std::string& entry : entries(text)) {
        IndexEntry item;
        std::size_t colon = entry.find(':');
        if (entry == "newaxis") {
            item.kind = IndexEntry::Kind::newaxis;
        } else if (colon != std::string::npos) {
            item.kind = IndexEntry::Kind::slice;
            item.start = parse_size(std::string_view(entry).substr(0, colon));
            item.step = parse_size(std::string_view(entry).substr(colon + 1));
        } else {
            item.kind = IndexEntry::Kind::position;
            item.start = parse_size(entry);
        }
        out.push_back(std::move(item));
    }
    return out;
}

std::string exchanged_index(const std::string& index) {
    int depth = 0;
    for (std::size_t k = 1; k + 1 < index.size(); ++k) {
        depth += index[k] == '(' ? 1 : index[k] == ')' ? -1 : 0;
        if (index[k] != ',' || depth != 0) continue;
        const std::size_t second = index.find_first_not_of(' ', k + 1);
        return "[" + index.substr(second, index.size() - 1 - second) + ", " + index.substr(1, k - 1) + "]";
    }
    return index;
}

void collect_symbols(const Operation& operation, std::set<std::string>& symbols) {
    for (const Size& extent : operation.type.shape)
        extent.collect_symbols(symbols);
    if (operation.op == "windows") {
        for (const char* key : {"start", "step", "stride"})
            parse_size(operation.attributes.at(key)).collect_symbols(symbols);
    }
    for (const char* key : {"index", "size"}) {
        auto found = operation.attributes.find(key);
        if (found == operation.attributes.end()) continue;
        if (std::string(key) == "size") {
            parse_size(found->second).collect_symbols(symbols);
            continue;
        }
        for (const IndexEntry& entry : index_entries(found->second)) {
            if (entry.kind != IndexEntry::Kind::newaxis) entry.start.collect_symbols(symbols);
            if (entry.kind == IndexEntry::Kind::slice) entry.step.collect_symbols(symbols);
        }
    }
}

std::string call_text(const Operation& operation) {
    if (operation.op == "for") {
        const auto& attributes = operation.attributes;
        return "for " + attributes.at("variable") + " in range(" + attributes.at("start") + ", " +
               attributes.at("stop") + ", " + attributes.at("step") + ")";
    }
    std::string out = operation.op + "(";
    for (std::size_t k = 0; k < operation.operands.size(); ++k)
        out += (k > 0 ? ", " : "") + operation.operands[k];
    out += ")";
    std::string separator = " {";
    for (const auto& [key, value] : operation.attributes) {
        out += separator + key + "=" + value;
        separator = ", ";
    }
    return operation.attributes.empty() ? out : out + "}";
}

} // namespace tilewright::translator
