// translator/attributes.h: the attributes of an operation as values.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/program.h"
#include "translator/size.h"

namespace tilewright::translator {

// Attributes that passes add: no traced program has them.

/// Of an `index`: its positions are clamped to the array.
inline constexpr const char* kClamped = "clamped";
/// Of a `take`: the number of the check that has seen that its positions are inside of the axis.
inline constexpr const char* kChecked = "checked";
/// Of a `broadcast_to`: the array that begins with it is written before it is read.
inline constexpr const char* kUnread = "unread";
/// Of a reduction or product: where its order comes from, if not from its operand (sum_order.h).
inline constexpr const char* kOrder = "order";

/// One entry of `index=[...]`.
struct IndexEntry {
    enum class Kind { slice, position, newaxis };
    Kind kind = Kind::newaxis;
    Size start; ///< slice: of its first element; position: the index
    Size step;  ///< slice
};

/// "[1, 0]" -> {1, 0}; nullopt where an entry is no constant.
std::optional<std::vector<int>> try_axes(const std::string& text);
std::vector<IndexEntry> index_entries(const std::string& text);
/// Of two axes: "[1:1, j - 1]" -> "[j - 1, 1:1]".
std::string exchanged_index(const std::string& index);
/// The symbols in an operation's extents, positions and size, as far as it has these. Limits of loops are not among
/// them.
void collect_symbols(const Operation& operation, std::set<std::string>& symbols);
/// The operands' names and attributes as the program writes them: "sum(%3) {axes=[2]}".
std::string call_text(const Operation& operation);

} // namespace tilewright::translator
