// dsl/runtime/twins/wrapping.h: sums and differences of integers that wrap, as NumPy's do.
#pragma once

#include <type_traits>

namespace tilewright::runtime {

template <class T> T wrapping_sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
        return a + b;
}

template <class T> T wrapping_difference(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
    else
        return a - b;
}

template <class T> T wrapping_product(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
    else
        return a * b;
}

} // namespace tilewright::runtime
