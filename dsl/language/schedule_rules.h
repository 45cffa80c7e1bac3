// dsl/language/schedule_rules.h: what a space must obey whatever the algorithm: holes, variants and conditions on them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/language/expression.h"
#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// Holes: declared once, with different values, and used by some directive. Variants: declared once, with different
/// options; conditions of `when` compare declared variants. In textual order.
///
/// An option that is not listed is not a violation, since a space may be narrowed (variant norm = {serial})
/// without taking out what speaks of the others; `spelling` refuses those that look like a misspelt option.
std::vector<Violation> check_space(const Schedule& space, bool spelling = false);

/// The option that a variant has, or nullopt where it is not known or not declared.
using VariantLookup = std::function<std::optional<std::string>(const std::string&)>;

/// Replaces comparisons of a variant with an option by 1 or 0 (norm == lanes -> 1), and a variant whose option is a
/// number by that number. What the lookup does not know stays.
Expression bind_variants(const Expression& expression, const VariantLookup& option);

} // namespace tilewright::dsl
