// autotune/search/random.h: makes the strategy "random"; see random.cpp.
#pragma once

#include "autotune/search/strategy.h"

namespace tilewright::autotune {

std::unique_ptr<Strategy> make_random(const std::vector<SearchSpace>& spaces, std::uint64_t seed);

} // namespace tilewright::autotune
