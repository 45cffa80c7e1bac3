// autotune/search/evolutionary.h: makes the strategy "evolutionary"; see evolutionary.cpp.
#pragma once

#include "autotune/search/strategy.h"

namespace tilewright::autotune {

std::unique_ptr<Strategy> make_evolutionary(const std::vector<SearchSpace>& spaces, std::uint64_t seed);

} // namespace tilewright::autotune
