// dsl/runtime/twins/tall_systems.h: linear systems of many more equations than unknowns, as small ones.
#pragma once

#include <cstdint>
#include <vector>

namespace tilewright::runtime {

/// Columns of numbers, one after the other: those of the unknowns, then right sides.
struct TallSystem {
    std::int64_t equations, unknowns, sides;
    std::vector<double> columns;

    double* column(std::int64_t k) { return columns.data() + k * equations; }
};

/// A system of as many equations as unknowns that has the same solutions, row by row.
struct SmallSystem {
    std::vector<double> left, right;
    std::vector<double> rest; ///< of each right side, the squares that no solution takes away, added
};

/// By reflections, which change no length. False where numbers are too small or too large for their squares, or are
/// none.
bool make_small(TallSystem& tall, SmallSystem& small);

/// The root of the sum of squares.
double length_of(const double* x, std::int64_t count);

} // namespace tilewright::runtime
