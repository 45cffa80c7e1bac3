// tests/few.h: what examples.py's one_in() is, for C++.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace tilewright::tests {

/// Whether a combination of factors' values, whose places add up to so much, is tried: one in n, and each under
/// TILEWRIGHT_EXAMPLES.
inline bool one_in(std::size_t n, std::size_t sum_of_places) {
    return sum_of_places % n == 0 || std::getenv("TILEWRIGHT_EXAMPLES") != nullptr;
}

} // namespace tilewright::tests
