// translator/loops/nest_distances.h: which iterations of a nest over rows and columns touch one element, and how far
// its rows have to stay behind each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "translator/ir/size.h"

namespace tilewright::translator {

/// The symbols of a nest's iterations, both counted from 0. No size of a program is called so.
inline constexpr const char* kRow = "@row";
inline constexpr const char* kColumn = "@column";

/// An element that an iteration (row, column) of a nest reads or writes.
struct NestAccess {
    std::string memory;
    std::optional<std::vector<Size>> at; ///< per axis, of kRow and kColumn; without it: anywhere
    std::int64_t first = 0;              ///< the column from which on the access is made,
    Size columns;                        ///< and in how many
};

/// How many rows and columns lie between two iterations; nothing where they may be any number.
struct Distance {
    std::optional<std::int64_t> rows, columns;
};

/// From the iterations that make one access to those that make the other at the same element. Nothing where no two
/// iterations meet. What cannot be decided is any distance.
std::optional<Distance> distance(const NestAccess& from, const NestAccess& to, const Size& rows);

/// The smallest number of columns by which each row has to follow the one before it so that, of any two iterations at
/// one of these distances, the one that is earlier row by row ends before the other begins: iteration (row, column) at
/// the time column + skew * row, several rows at once. Nothing where no number will do.
std::optional<std::int64_t> smallest_skew(const std::vector<Distance>& distances);

} // namespace tilewright::translator
