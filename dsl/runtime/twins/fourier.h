// dsl/runtime/twins/fourier.h: Fourier transforms along one axis, by the library that NumPy computes them by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// complex: complex numbers of complex ones; from_real: the first half of those of real ones, which say the others;
/// to_real: back from these.
enum class Fourier { complex, from_real, to_real };

/// One transform along an axis of an array; strides are in bytes. Of complex arrays, elements are pairs.
struct FourierPass {
    Fourier kind;
    bool forward;
    std::size_t axis;
    std::vector<std::size_t> shape; ///< of what is computed; where one side is real, of that
    std::vector<std::ptrdiff_t> from_strides, to_strides;
};

/// Of float64, each result times `factor`. Of complex arrays both sides may be one array.
void transform(const FourierPass& pass, const void* from, void* to, double factor);

} // namespace tilewright::runtime
