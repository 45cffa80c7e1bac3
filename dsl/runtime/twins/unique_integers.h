// dsl/runtime/twins/unique_integers.h: which integers are among others, by a table of all that could be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright::runtime {

/// What is asked for beside the integers themselves.
struct UniqueParts {
    bool index = false;   ///< where each is for the first time
    bool inverse = false; ///< which of them each element is
    bool counts = false;
};

template <class T> struct UniqueIntegers {
    std::vector<T> values; ///< rising
    std::vector<std::int64_t> index, inverse, counts;
};

/// Nothing where the table would be too large for so few elements, or there is none.
template <class T>
std::optional<UniqueIntegers<T>> unique_integers(const T* from, std::int64_t count, UniqueParts parts);

} // namespace tilewright::runtime
