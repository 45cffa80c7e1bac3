// dsl/language/expression.h: the holes of a schedule's expressions, and what their names stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// Values for the holes, symbols and calls of an Expression (?tile, X.0, cores, lanes(float64), extent(k), ...);
/// nullopt for what it does not know. Space resolves holes and variants itself.
using Environment = std::function<std::optional<std::int64_t>(const Expression&)>;

/// An environment that knows nothing.
std::optional<std::int64_t> no_environment(const Expression& leaf);

/// Calls `visit` with every hole in textual order, as often as it stands there.
void for_each_hole(const Expression& expression, const std::function<void(const Expression&)>& visit);

/// Replaces holes by values and computes what becomes constant by that: ?tile // 2 -> 2048. Parts without a hole stay
/// as written.
Expression fill_holes(const Expression& expression,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& value);

} // namespace tilewright::dsl
