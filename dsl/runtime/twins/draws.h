// dsl/runtime/twins/draws.h: random numbers of PCG64, as numpy.random.Generator makes them of its words.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tilewright::runtime {

/// A state that moves by s -> factor s + increment, so many steps on: F. Brown, "Random number generation with
/// arbitrary strides".
template <class Word> Word steps_on(Word state, Word factor, Word increment, std::uint64_t steps) {
    if (steps == 1) return state * factor + increment; // of loops that draw one by one
    for (; steps != 0; steps >>= 1) {
        if (steps & 1) state = state * factor + increment;
        increment = increment * (factor + 1);
        factor = factor * factor;
    }
    return state;
}

/// A state that moves on with each word.
struct Pcg64 {
    __extension__ using Words = unsigned __int128;

    Words state = 0, increment = 0;
    bool has_half = false; ///< the upper half of the last word is still to be given
    std::uint32_t half = 0;

    static constexpr Words kFactor = Words{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;
    static constexpr Words kBack = Words{0x7dda22b93979860} << 64 | 0x98abc8b0716eac8d; ///< times kFactor, 1

    std::uint64_t next() {
        state = state * kFactor + increment;
        return word_of(state);
    }
    static std::uint64_t word_of(Words state) {
        const auto mixed = static_cast<std::uint64_t>(state >> 64) ^ static_cast<std::uint64_t>(state);
        return std::rotr(mixed, static_cast<int>(state >> 122));
    }
    void skip(std::uint64_t words) { state = steps_on(state, kFactor, increment, words); }
    std::uint32_t next_half() {
        if (has_half) {
            has_half = false;
            return half;
        }
        const std::uint64_t word = next();
        has_half = true;
        half = static_cast<std::uint32_t>(word >> 32);
        return static_cast<std::uint32_t>(word);
    }
    /// One of 0, 1, …, most, which is less than 2^32 - 1: D. Lemire's way, "Fast random integer generation in an
    /// interval".
    std::uint32_t up_to(std::uint32_t most) {
        const std::uint32_t count = most + 1;
        std::uint64_t product = std::uint64_t{next_half()} * count;
        if (static_cast<std::uint32_t>(product) < count) {
            const std::uint32_t uneven = -count % count;
            while (static_cast<std::uint32_t>(product) < uneven)
                product = std::uint64_t{next_half()} * count;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }
    /// From 0 on, less than 1.
    double fraction() { return fraction_of(next()); }
    static double fraction_of(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }
};

/// low + one of 0, 1, …, most.
void draw_integers(Pcg64& from, std::int64_t low, std::uint32_t most, std::int64_t* to, std::int64_t count);
/// low + a share of `range`.
void draw_floats(Pcg64& from, double low, double range, double* to, std::int64_t count);
/// What lies under the normal curve in 256 layers of one area: G. Marsaglia and W. Tsang, "The ziggurat method for
/// generating random variables". Places in a layer have 52 bits.
struct NormalLayers {
    static constexpr double kEnd = 3.6541528853610088; ///< from which on is the tail, the lowest layer's other part

    std::array<std::uint64_t, 256> inside; ///< so many places lie under the curve for certain
    std::array<double, 256> unit, height;
};

/// middle + a normal number times `scale`.
void draw_normals(Pcg64& from, const NormalLayers& layers, double middle, double scale, double* to, std::int64_t count);
/// Exchanges elements of 1, 2, 4 or 8 bytes, from the last one on, each with one up to itself; false for others.
bool shuffle(Pcg64& from, void* elements, std::int64_t count, std::size_t bytes);

} // namespace tilewright::runtime
