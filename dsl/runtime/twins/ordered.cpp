// dsl/runtime/twins/ordered.cpp: places are put in order by the highest 32 bits in which their keys differ, beside
// which they fit into a word; those that have these in common, which are few, by what is left.
#include "dsl/runtime/twins/ordered.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

namespace tilewright::runtime {
namespace {

using Keys = std::vector<std::uint64_t>;
using Places = std::span<std::uint32_t>;

constexpr int kDigitBits = 11, kDigits = 3; ///< of 32 bits: as many counts as fit into the first cache
constexpr std::size_t kFew = 48;            ///< places that are put in order one by one

template <class T> std::uint64_t key_of(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
        constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
        if (value != value) return std::numeric_limits<Bits>::max();
        const Bits bits = std::bit_cast<Bits>(value + T(0)); // -0.0 is 0.0
        return bits & sign ? static_cast<Bits>(~bits) : bits | sign;
    } else if constexpr (std::is_signed_v<T>) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) ^ (std::uint64_t{1} << 63);
    } else {
        return value;
    }
}

/// Whether the places are in order already, or backwards, which is put right.
bool are_in_order(const Keys& keys, Places places) {
    std::size_t rises = 0, falls = 0;
    for (std::size_t k = 1; k < places.size(); ++k) {
        rises += keys[places[k - 1]] <= keys[places[k]];
        falls += keys[places[k - 1]] > keys[places[k]];
        if (rises && falls) return false;
    }
    if (falls) std::reverse(places.begin(), places.end());
    return true;
}

void order_few(const Keys& keys, Places places) {
    for (std::size_t k = 1; k < places.size(); ++k) {
        const std::uint32_t place = places[k];
        const std::uint64_t key = keys[place];
        std::size_t to = k;
        for (; to > 0 && keys[places[to - 1]] > key; --to)
            places[to] = places[to - 1];
        places[to] = place;
    }
}

/// Words in the order of `bits` of their upper half, from the lowest one on; equal ones stay in their order.
void order_words(std::vector<std::uint64_t>& words, std::vector<std::uint64_t>& other, int bits) {
    const int digits = std::max(1, (bits + kDigitBits - 1) / kDigitBits), each = (bits + digits - 1) / digits;
    const std::uint64_t most = (std::uint64_t{1} << each) - 1;
    std::array<std::array<std::uint32_t, 1 << kDigitBits>, kDigits> counts{};
    for (const std::uint64_t word : words)
        for (int d = 0; d < digits; ++d)
            ++counts[static_cast<std::size_t>(d)][word >> (32 + d * each) & most];
    for (int d = 0; d < digits; ++d) {
        auto& next = counts[static_cast<std::size_t>(d)];
        std::uint32_t before = 0;
        for (std::size_t k = 0; k <= most; ++k)
            before += std::exchange(next[k], before);
        for (const std::uint64_t word : words)
            other[next[word >> (32 + d * each) & most]++] = word;
        words.swap(other);
    }
}

void order_some(const Keys& keys, Places places) {
    if (places.size() <= kFew) return order_few(keys, places);
    if (are_in_order(keys, places)) return;
    std::uint64_t least = keys[places[0]], most = least;
    for (const std::uint32_t place : places) {
        least = std::min(least, keys[place]);
        most = std::max(most, keys[place]);
    }
    const int bits = std::bit_width(most - least), left = std::max(0, bits - 32);
    std::vector<std::uint64_t> words(places.size()), other(places.size());
    std::ranges::transform(places, words.begin(),
                           [&](std::uint32_t place) { return (keys[place] - least) >> left << 32 | place; });
    order_words(words, other, bits - left);
    std::ranges::transform(words, places.begin(), [](std::uint64_t word) { return static_cast<std::uint32_t>(word); });
    for (std::size_t begin = 0; left && begin < words.size();) {
        std::size_t end = begin + 1;
        while (end < words.size() && words[end] >> 32 == words[begin] >> 32)
            ++end;
        if (end - begin > 1) order_some(keys, places.subspan(begin, end - begin));
        begin = end;
    }
}

} // namespace

template <class T> std::vector<std::uint64_t> order_keys(const T* from, std::int64_t count) {
    Keys keys(static_cast<std::size_t>(count));
    std::transform(from, from + count, keys.begin(), key_of<T>);
    return keys;
}

std::vector<std::uint32_t> places_as_given(std::size_t count) {
    std::vector<std::uint32_t> places(count);
    std::iota(places.begin(), places.end(), 0U);
    return places;
}

void order_places(const std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& places) {
    order_some(keys, places);
}

bool has_equal_neighbours(const std::vector<std::uint64_t>& keys, const std::vector<std::uint32_t>& places) {
    const auto are_equal = [&keys](std::uint32_t one, std::uint32_t other) { return keys[one] == keys[other]; };
    return std::ranges::adjacent_find(places, are_equal) != places.end();
}

bool seems_to_have_equals(const std::vector<std::uint64_t>& keys) {
    // Of n keys, each of which is there about twice, eight pairs are among so many.
    const auto wanted = static_cast<std::size_t>(4 * std::sqrt(static_cast<double>(keys.size())));
    const std::size_t step = std::max<std::size_t>(1, keys.size() / std::max<std::size_t>(1, wanted));
    Keys sample;
    for (std::size_t k = 0; k < keys.size(); k += step)
        sample.push_back(keys[k]);
    std::ranges::sort(sample);
    return std::ranges::adjacent_find(sample) != sample.end();
}

template <class T>
std::optional<UniqueIntegers<T>> unique_in_order(const T* from, std::int64_t count, UniqueParts parts) {
    constexpr std::int64_t least = 1024, most = std::numeric_limits<std::uint32_t>::max();
    if (count < least || count >= most || !are_equals_alike(from, count)) return std::nullopt;
    const Keys keys = order_keys(from, count);
    std::vector<std::uint32_t> places = places_as_given(keys.size());
    order_places(keys, places);
    UniqueIntegers<T> out;
    if (parts.inverse) out.inverse.resize(keys.size());
    for (std::size_t k = 0; k < places.size(); ++k) {
        const std::uint32_t place = places[k];
        if (k == 0 || keys[place] != keys[places[k - 1]]) {
            out.values.push_back(from[place]);
            if (parts.index) out.index.push_back(place);
            if (parts.counts) out.counts.push_back(0);
        }
        if (parts.counts) ++out.counts.back();
        if (parts.inverse) out.inverse[place] = static_cast<std::int64_t>(out.values.size()) - 1;
    }
    return out;
}

template std::vector<std::uint64_t> order_keys(const float*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const double*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::int16_t*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::uint16_t*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::int32_t*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::uint32_t*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::int64_t*, std::int64_t);
template std::vector<std::uint64_t> order_keys(const std::uint64_t*, std::int64_t);

template std::optional<UniqueIntegers<float>> unique_in_order(const float*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<double>> unique_in_order(const double*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int8_t>> unique_in_order(const std::int8_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint8_t>> unique_in_order(const std::uint8_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int16_t>> unique_in_order(const std::int16_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint16_t>> unique_in_order(const std::uint16_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int32_t>> unique_in_order(const std::int32_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint32_t>> unique_in_order(const std::uint32_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int64_t>> unique_in_order(const std::int64_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint64_t>> unique_in_order(const std::uint64_t*, std::int64_t, UniqueParts);

} // namespace tilewright::runtime
