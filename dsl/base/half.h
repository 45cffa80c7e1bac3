// dsl/base/half.h: NumPy's float16 on the host: its bits and the number that they are. Header-only, as dtypes.h is.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tilewright {

/// The number with these bits; exact.
inline float half_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 0x1F;
    const int fraction = bits & 0x3FF;
    float magnitude = 0;
    if (exponent == 0x1F)
        magnitude = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    else
        magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                  : std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
    return std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}

/// The bits of the float16 nearest to a number, halves to even; rounded once.
inline std::uint16_t half_bits(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double magnitude = std::abs(value);
    if (std::isnan(magnitude)) return sign | 0x7E00;
    if (magnitude >= 65520) return sign | 0x7C00; // halfway between the largest number and the next
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    // Of a number in [2^(e-1), 2^e) neighbours lie 2^(e-11) apart, of subnormal ones 2^-24.
    const int unit = magnitude == 0 || exponent < -13 ? -24 : exponent - 11;
    const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
    // Steps that carry into the next binade carry into the exponent's bits likewise.
    return static_cast<std::uint16_t>(sign + (unit == -24 ? steps : ((unit + 24) << 10) + steps));
}

/// Two bytes of an array or of a scalar.
struct Half {
    std::uint16_t bits = 0;
    explicit operator float() const { return half_value(bits); }
    explicit operator double() const { return static_cast<double>(half_value(bits)); }
};

} // namespace tilewright
