// dsl/size_text.h: size expressions ("(X.0 + 1023) // 1024") as trees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/schedule.h"

namespace tilewright::dsl {

/// Integers, names with dots, + - * // %, comparisons, and, or, not, min, max and parentheses. Throws InternalError:
/// such text is made by code, never by a user.
Expression parse_size_text(std::string_view text);

/// The value of a size expression without symbols ("64", "16 * 4"); nullopt for all else.
std::optional<std::int64_t> constant_size(const std::string& text);

} // namespace tilewright::dsl
