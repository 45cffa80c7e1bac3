// translator/ir/op.cpp: operations by their text.
#include "translator/ir/op.h"

#include <iterator>
#include <unordered_map>

namespace tilewright::translator {

std::optional<Op> find_op(std::string_view text) {
    static const std::unordered_map<std::string_view, Op> by_text = [] {
        std::unordered_map<std::string_view, Op> made;
        for (std::size_t k = 0; k < std::size(kOperations); ++k)
            made.emplace(kOperations[k].text, static_cast<Op>(k));
        return made;
    }();
    const auto found = by_text.find(text);
    if (found == by_text.end()) return std::nullopt;
    return found->second;
}

} // namespace tilewright::translator
