// dsl/runtime/element_count.h: how many elements an array has, within what kernels can index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "dsl/base/dtypes.h"
#include "dsl/runtime/found_once.h"

namespace tilewright::runtime {

/// Kernels index in elements with 32 bits, the halves of complex ones each on its own. They round extents up, to
/// vectors, tiles, blocks of threads and tasks, before they ask whether an element is there: what a schedule may round
/// up by (dsl/model/loop_nest.h, kMostRounded) is left free.
inline std::int64_t element_limit(DType dtype) {
    static constexpr std::int64_t kNumbers = (std::int64_t{1} << 31) - (std::int64_t{1} << 27);
    // Tests pretend that kernels index less.
    static constinit FoundOnce<std::int64_t> found;
    const std::int64_t numbers = found.get([] {
        const char* text = std::getenv("TILEWRIGHT_ELEMENT_LIMIT");
        return text && *text ? std::clamp<std::int64_t>(std::atoll(text), 1, kNumbers) : kNumbers;
    });
    return info(dtype).is_complex() ? numbers / 2 : numbers;
}
/// The same in words.
inline const char* element_limit_text(DType dtype) {
    return info(dtype).is_complex() ? "2**30 - 2**26" : "2**31 - 2**27";
}

/// Product of extents; -1 when one is negative or the product is beyond the limit.
inline std::int64_t count_elements(const std::int64_t* shape, std::size_t rank, std::int64_t limit) {
    std::int64_t elements = 1;
    for (std::size_t k = 0; k < rank; ++k) {
        if (shape[k] < 0 || shape[k] > limit) return -1;
        // Extents after an empty axis still have to fit, so the zero is kept apart.
        std::int64_t product = std::max<std::int64_t>(elements, 1) * std::max<std::int64_t>(shape[k], 1);
        if (product > limit) return -1;
        elements *= shape[k];
    }
    return elements;
}

} // namespace tilewright::runtime
