// autotune/variant_combinations.h: which combinations of structural choices get separate spaces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autotune/workbench.h"

namespace tilewright::autotune {

/// All combinations where they are at most `most`; otherwise the default, every single change of it, then pairs of
/// changes, up to `most`. The default comes first.
std::vector<std::map<std::string, std::string>> variant_combinations(const std::vector<VariantOptions>& variants,
                                                                     std::size_t most = 12);

} // namespace tilewright::autotune
