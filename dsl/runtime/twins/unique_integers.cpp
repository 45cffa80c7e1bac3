// dsl/runtime/twins/unique_integers.cpp: bytes that say what is there, and tables of numbers where more is asked.
#include "dsl/runtime/twins/unique_integers.h"

#include <algorithm>
#include <cstring>

namespace tilewright::runtime {
namespace {

// So many entries of a table take as long to look through as an element of a hash table or a sort.
constexpr std::uint64_t kBytesOfElement = 32, kNumbersOfElement = 4, kAlways = 1024;

} // namespace

template <class T>
std::optional<UniqueIntegers<T>> unique_integers(const T* from, std::int64_t count, UniqueParts parts) {
    if (count <= 0) return std::nullopt;
    T least = from[0], most = from[0];
    for (std::int64_t i = 1; i < count; ++i) {
        least = std::min(least, from[i]);
        most = std::max(most, from[i]);
    }
    const auto place = [least](T value) {
        return static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(least);
    };
    const std::uint64_t last = place(most);
    const bool has_numbers = parts.index || parts.inverse || parts.counts;
    const std::uint64_t of_element = has_numbers ? kNumbersOfElement : kBytesOfElement;
    if (last >= kAlways + of_element * static_cast<std::uint64_t>(count)) return std::nullopt;
    const std::size_t places = last + 1;
    std::vector<std::uint8_t> seen(places + 8); // words of them may be read
    for (std::int64_t i = 0; i < count; ++i)
        seen[place(from[i])] = 1;
    UniqueIntegers<T> out;
    const auto is_seen_within = [&seen](std::size_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, seen.data() + at, sizeof word);
        return word != 0;
    };
    for (std::size_t at = 0; at < places; at += 8) {
        if (!is_seen_within(at)) continue;
        for (std::size_t k = at; k < std::min(at + 8, places); ++k)
            if (seen[k]) out.values.push_back(static_cast<T>(static_cast<std::uint64_t>(least) + k));
    }
    if (!has_numbers) return out;
    std::vector<std::int64_t> rank(places);
    for (std::size_t k = 0; k < out.values.size(); ++k)
        rank[place(out.values[k])] = static_cast<std::int64_t>(k);
    if (parts.index) out.index.resize(out.values.size());
    if (parts.inverse) out.inverse.resize(static_cast<std::size_t>(count));
    if (parts.counts) out.counts.resize(out.values.size());
    for (std::int64_t i = count - 1; i >= 0; --i) {
        const std::int64_t own = rank[place(from[i])];
        const auto k = static_cast<std::size_t>(own);
        if (parts.index) out.index[k] = i;
        if (parts.inverse) out.inverse[static_cast<std::size_t>(i)] = own;
        if (parts.counts) ++out.counts[k];
    }
    return out;
}

template std::optional<UniqueIntegers<std::int8_t>> unique_integers(const std::int8_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int16_t>> unique_integers(const std::int16_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int32_t>> unique_integers(const std::int32_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::int64_t>> unique_integers(const std::int64_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint8_t>> unique_integers(const std::uint8_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint16_t>> unique_integers(const std::uint16_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint32_t>> unique_integers(const std::uint32_t*, std::int64_t, UniqueParts);
template std::optional<UniqueIntegers<std::uint64_t>> unique_integers(const std::uint64_t*, std::int64_t, UniqueParts);

} // namespace tilewright::runtime
