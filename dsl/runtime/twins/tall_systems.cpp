// dsl/runtime/twins/tall_systems.cpp: A. Householder's reflections, column by column; sums are made in eight lanes.
#include "dsl/runtime/twins/tall_systems.h"

#include <array>
#include <cmath>
#include <cstring>

namespace tilewright::runtime {
namespace {

using Pair = double __attribute__((vector_size(16)));
constexpr std::int64_t kPairs = 4, kLanes = 2 * kPairs;

Pair pair_at(const double* x) {
    Pair pair;
    std::memcpy(&pair, x, sizeof pair);
    return pair;
}

double product(const double* x, const double* y, std::int64_t count) {
    std::array<Pair, kPairs> sums{};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (std::int64_t k = 0; k < kPairs; ++k)
            sums[static_cast<std::size_t>(k)] += pair_at(x + i + 2 * k) * pair_at(y + i + 2 * k);
    const Pair both = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = both[0] + both[1];
    for (; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

void take_off(double* x, double factor, const double* y, std::int64_t count) {
    const Pair factors = {factor, factor};
    std::int64_t i = 0;
    for (; i + 2 <= count; i += 2) {
        const Pair left = pair_at(x + i) - factors * pair_at(y + i);
        std::memcpy(x + i, &left, sizeof left);
    }
    for (; i < count; ++i)
        x[i] -= factor * y[i];
}

constexpr double kLeast = 1e-250, kMost = 1e250; ///< of squares that are added

} // namespace

bool make_small(TallSystem& tall, SmallSystem& small) {
    const std::int64_t n = tall.unknowns, all = n + tall.sides;
    small.left.assign(static_cast<std::size_t>(n * n), 0.0);
    small.right.assign(static_cast<std::size_t>(n * tall.sides), 0.0);
    for (std::int64_t j = 0; j < n; ++j) {
        double* const mirror = tall.column(j) + j;
        const std::int64_t count = tall.equations - j;
        const double squares = product(mirror, mirror, count);
        if (!(squares > kLeast && squares < kMost)) return false;
        const double diagonal = mirror[0] > 0 ? -std::sqrt(squares) : std::sqrt(squares);
        const double factor = 1 / (squares - mirror[0] * diagonal);
        mirror[0] -= diagonal;
        small.left[static_cast<std::size_t>(j * n + j)] = diagonal;
        for (std::int64_t k = j + 1; k < all; ++k) {
            double* const other = tall.column(k) + j;
            take_off(other, factor * product(mirror, other, count), mirror, count);
            if (!std::isfinite(other[0])) return false;
            (k < n ? small.left[static_cast<std::size_t>(j * n + k)]
                   : small.right[static_cast<std::size_t>(j * tall.sides + k - n)]) = other[0];
        }
    }
    small.rest.clear();
    for (std::int64_t k = n; k < all; ++k) {
        small.rest.push_back(product(tall.column(k) + n, tall.column(k) + n, tall.equations - n));
        if (!(small.rest.back() < kMost)) return false;
    }
    return true;
}

double length_of(const double* x, std::int64_t count) {
    return std::sqrt(product(x, x, count));
}

} // namespace tilewright::runtime
