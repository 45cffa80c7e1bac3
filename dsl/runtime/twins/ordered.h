// dsl/runtime/twins/ordered.h: the places of numbers in their order, by counting digits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "dsl/runtime/twins/unique_integers.h"

namespace tilewright::runtime {

/// Numbers of 64 bits in the order of elements: NaN is the last one, zeros of both signs are one.
template <class T> std::vector<std::uint64_t> order_keys(const T* from, std::int64_t count);

/// The places 0, 1, … of less than 2^32 keys.
std::vector<std::uint32_t> places_as_given(std::size_t count);

/// Puts places in the order of their keys; places of equal keys stay in their order.
void order_places(const std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places);

/// Whether keys are equal at neighbouring places.
bool has_equal_neighbours(const std::vector<std::uint64_t>& keys, const std::vector<std::uint32_t>& places);

/// Whether no order of equal elements shows: no NaN, and no zero of the other sign.
template <class T> bool are_equals_alike(const T* from, std::int64_t count) {
    if constexpr (std::is_floating_point_v<T>)
        return std::none_of(from, from + count, [](T x) { return x != x || (x == 0 && std::signbit(x)); });
    return true;
}

/// What unique_integers() finds, of numbers of any kind that are not too few. Nothing where NumPy's way shows.
template <class T>
std::optional<UniqueIntegers<T>> unique_in_order(const T* from, std::int64_t count, UniqueParts parts);

/// Whether it is likely that keys are equal: some of them are.
bool seems_to_have_equals(const std::vector<std::uint64_t>& keys);

} // namespace tilewright::runtime
