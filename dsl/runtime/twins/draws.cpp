// dsl/runtime/twins/draws.cpp: loops over draws, with the state in registers.
#include "dsl/runtime/twins/draws.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <utility>

namespace tilewright::runtime {
namespace {

constexpr std::uint32_t kTogether = 512; ///< places that are drawn before elements are exchanged

template <class T> void shuffle_elements(Pcg64& from, void* elements, std::int64_t count) {
    auto* const x = static_cast<T*>(elements);
    Pcg64 here = from;
    std::array<std::uint32_t, kTogether> places;
    for (auto last = static_cast<std::uint32_t>(count - 1); last > 0;) {
        const std::uint32_t wanted = std::min(last, kTogether), next = last - wanted;
        // Of as many bits as the last place has, those that lie behind it are drawn again: nobody can predict which.
        for (std::uint32_t i = last; i > next;) {
            const std::uint32_t place = here.next_half() & (~std::uint32_t{0} >> std::countl_zero(i));
            places[last - i] = place;
            i -= place <= i;
        }
        for (std::uint32_t i = last; i > next; --i)
            std::swap(x[i], x[places[last - i]]);
        last = next;
    }
    from = here;
}

double normal_number(Pcg64& from, const NormalLayers& layers) {
    for (;;) {
        const std::uint64_t word = from.next(), place = word >> 9 & 0xfffffffffffff;
        const std::size_t layer = word & 0xff;
        const double along = static_cast<double>(place) * layers.unit[layer];
        // Nobody can predict the sign.
        const auto x = std::bit_cast<double>(std::bit_cast<std::uint64_t>(along) | (word >> 8 & 1) << 63);
        if (place < layers.inside[layer]) return x;
        if (layer > 0) {
            const double below = layers.height[layer - 1] - layers.height[layer];
            if (below * from.fraction() + layers.height[layer] < std::exp(-0.5 * x * x)) return x;
            continue;
        }
        constexpr double end = NormalLayers::kEnd;
        for (;;) {
            const double beyond = -(1 / end) * std::log1p(-from.fraction());
            const double other = -std::log1p(-from.fraction());
            if (other + other > beyond * beyond) return place >> 8 & 1 ? -(end + beyond) : end + beyond;
        }
    }
}

} // namespace

void draw_normals(Pcg64& from, const NormalLayers& layers, double middle, double scale, double* to,
                  std::int64_t count) {
    Pcg64 here = from;
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = middle + scale * normal_number(here, layers);
    from = here;
}

void draw_integers(Pcg64& from, std::int64_t low, std::uint32_t most, std::int64_t* to, std::int64_t count) {
    Pcg64 here = from;
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = low + (most ? here.up_to(most) : 0);
    from = here;
}

void draw_floats(Pcg64& from, double low, double range, double* to, std::int64_t count) {
    Pcg64 here = from;
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = low + range * here.fraction();
    from = here;
}

bool shuffle(Pcg64& from, void* elements, std::int64_t count, std::size_t bytes) {
    switch (bytes) {
    case 1:
        shuffle_elements<std::uint8_t>(from, elements, count);
        return true;
    case 2:
        shuffle_elements<std::uint16_t>(from, elements, count);
        return true;
    case 4:
        shuffle_elements<std::uint32_t>(from, elements, count);
        return true;
    case 8:
        shuffle_elements<std::uint64_t>(from, elements, count);
        return true;
    default:
        return false;
    }
}

} // namespace tilewright::runtime
