// dsl/base/spelling.h: the known word that somebody probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

/// The candidate nearest to `word` by insertions, deletions, replacements and swaps of neighbours;
/// nullopt when none is near enough to be worth suggesting (more than a third of the letters differ).
std::optional<std::string> near_name(std::string_view word, const std::vector<std::string>& candidates);

} // namespace tilewright::dsl
