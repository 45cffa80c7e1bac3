// dsl/base/spelling.h: lists of words, and the known word that somebody probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

/// The candidate nearest to `word` by insertions, deletions, replacements and swaps of neighbours;
/// nullopt when none is near enough to be worth suggesting (more than a third of the letters differ).
std::optional<std::string> near_name(std::string_view word, const std::vector<std::string>& candidates);

/// "a, b, c" out of what `print` makes of each item.
template <class List, class Print> std::string joined(const List& items, const char* separator, const Print& print) {
    std::string text;
    for (const auto& item : items) {
        if (!text.empty()) text += separator;
        text += print(item);
    }
    return text;
}
template <class List> std::string joined(const List& words, const char* separator = ", ") {
    return joined(
        words, separator, [](const auto& word) -> const auto& { return word; });
}

} // namespace tilewright::dsl
