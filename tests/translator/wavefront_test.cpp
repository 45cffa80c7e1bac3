// tests/translator/wavefront_test.cpp: distances between the iterations of a nest and the skew that honours them,
// beside an enumeration of all iterations; which loops of programs become wavefronts.
#include <gtest/gtest.h>

#include <random>

#include "translator/loop_report.h"
#include "translator/loops/nest_distances.h"

namespace {

using namespace tilewright;
using namespace tilewright::translator;

Size number(std::int64_t value) {
    return Size::integer(value);
}

/// start + row * (the row) + column * (the column)
Size at(std::int64_t start, std::int64_t row, std::int64_t column) {
    return number(start) + number(row) * Size::symbol(kRow) + number(column) * Size::symbol(kColumn);
}

NestAccess access(std::vector<Size> position, const Size& columns = Size::symbol("m"), std::int64_t first = 0) {
    return {"A", std::move(position), first, columns};
}

std::string text(const std::optional<Distance>& found) {
    if (!found) return "never";
    const auto part = [](const std::optional<std::int64_t>& each) { return each ? std::to_string(*each) : "any"; };
    return part(found->rows) + ", " + part(found->columns);
}

const Size kRows = Size::symbol("n");

std::string between(const NestAccess& from, const NestAccess& to) {
    return text(distance(from, to, kRows));
}

TEST(NestDistances, OfElementsBesideEachOther) {
    const NestAccess own = access({at(1, 1, 0), at(1, 0, 1)});
    EXPECT_EQ(between(own, own), "0, 0");
    EXPECT_EQ(between(own, access({at(0, 1, 0), at(1, 0, 1)})), "1, 0");  // A[i - 1, j]
    EXPECT_EQ(between(own, access({at(1, 1, 0), at(0, 0, 1)})), "0, 1");  // A[i, j - 1]
    EXPECT_EQ(between(own, access({at(0, 1, 0), at(3, 0, 1)})), "1, -2"); // A[i - 1, j + 2]
    EXPECT_EQ(between(own, access({at(2, 1, 0), at(1, 0, 1)})), "-1, 0"); // A[i + 1, j]
}

TEST(NestDistances, OfRowsThatShareMemory) {
    EXPECT_EQ(between(access({at(1, 0, 1)}), access({at(0, 0, 1)})), "any, 1"); // v[j], v[j - 1]
    EXPECT_EQ(between(access({at(1, 1, 0)}), access({at(1, 1, 0)})), "0, any"); // w[i]
    EXPECT_EQ(between(access({}), access({})), "any, any");                     // a number
}

TEST(NestDistances, StepsAndDirections) {
    EXPECT_EQ(between(access({at(0, 2, 0)}), access({at(1, 2, 0)})), "never"); // even and odd rows
    EXPECT_EQ(between(access({at(9, -1, 0)}), access({at(10, -1, 0)})), "1, any");
    EXPECT_EQ(between(access({at(0, 0, 1)}), access({at(5, 0, -1)})), "any, any"); // there and back
    EXPECT_EQ(between(access({at(0, 1, 0), at(0, 1, 1)}), access({at(-1, 1, 0), at(0, 1, 1)})), "1, -1");
    EXPECT_EQ(between(access({at(0, 1, 1)}), access({at(1, 1, 1)})), "any, any"); // one equation, two unknowns
}

TEST(NestDistances, PlacesApart) {
    const NestAccess inside = access({at(1, 1, 0), at(1, 0, 1)});
    EXPECT_EQ(between(inside, access({at(0, 1, 0), at(0, 0, 0)})), "never"); // A[i - 1, 0]
    EXPECT_EQ(between(inside, access({at(0, 0, 0), at(0, 0, 1)})), "never"); // A[0, j]
    const Size last = Size::symbol("m");
    EXPECT_EQ(between(inside, access({at(0, 1, 0), last})), "1, any"); // the last one that is written
    EXPECT_EQ(between(inside, access({at(0, 1, 0), last + number(1)})), "never");
    // The very number of columns matters, and from where they are counted.
    EXPECT_EQ(between(access({at(0, 0, 1)}, number(5)), access({at(5, 0, 1)}, number(5))), "never");
    EXPECT_EQ(between(access({at(0, 0, 1)}, number(5), 1), access({at(5, 0, 1)}, number(5))), "any, -5");
}

TEST(NestDistances, WhatIsNotKnownIsAnyDistance) {
    const NestAccess own = access({at(1, 1, 0), at(1, 0, 1)});
    EXPECT_EQ(between(own, {"A", std::nullopt, 0, Size::symbol("m")}), "any, any");
    EXPECT_EQ(between(own, access({at(0, 1, 0), Size::symbol("p") + Size::symbol(kColumn)})), "1, any");
    const Size folded = floor_mod(Size::symbol(kColumn), number(3));
    EXPECT_EQ(between(own, access({at(0, 1, 0), folded})), "1, any");
}

std::optional<std::int64_t> skew(std::vector<Distance> distances) {
    return smallest_skew(distances);
}

TEST(Skew, SmallestThatHonoursAllDistances) {
    EXPECT_EQ(skew({}), 0);
    EXPECT_EQ(skew({{0, 1}}), 0);                          // along the row alone
    EXPECT_EQ(skew({{1, 1}, {0, 1}}), 0);                  // lockstep
    EXPECT_EQ(skew({{1, 0}, {0, 1}}), 1);                  // a table of distances
    EXPECT_EQ(skew({{1, -1}, {1, 0}, {1, 1}, {0, 1}}), 2); // Gauss-Seidel on nine points
    EXPECT_EQ(skew({{-1, 1}, {0, 1}}), 2);                 // the same from the other side
    EXPECT_EQ(skew({{2, -5}}), 3);                         // half of what two rows may take
    EXPECT_EQ(skew({{std::nullopt, 1}}), 2);               // one row of memory for all
    EXPECT_EQ(skew({{1, std::nullopt}}), std::nullopt);    // all of the row before
    EXPECT_EQ(skew({{0, std::nullopt}}), 0);               // all of its own row, in order
    EXPECT_EQ(skew({{std::nullopt, std::nullopt}}), std::nullopt);
}

/// Every pair of iterations of random linear accesses, beside what the equations say.
TEST(NestDistances, HoldForAllIterationsThatMeet) {
    std::mt19937_64 rng(3);
    const auto any = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
    for (int round = 0; round < 4000; ++round) {
        const int rows = any(1, 5), columns = any(1, 6), axes = any(1, 2);
        struct Linear {
            int start, row, column;
        };
        std::vector<Linear> one, two;
        std::vector<Size> at_one, at_two;
        for (int axis = 0; axis < axes; ++axis) {
            one.push_back({any(-3, 3), any(-1, 2), any(-1, 2)});
            two.push_back(any(0, 2) ? Linear{any(-3, 3), one.back().row, one.back().column}
                                    : Linear{any(-3, 3), any(-1, 2), any(-1, 2)});
            at_one.push_back(at(one.back().start, one.back().row, one.back().column));
            at_two.push_back(at(two.back().start, two.back().row, two.back().column));
        }
        const int first = any(0, 2);
        const auto found =
            distance(access(at_one, number(columns)), access(at_two, number(columns), first), number(rows));
        const auto place = [](const std::vector<Linear>& lines, int row, int column) {
            std::vector<int> out;
            for (const Linear& line : lines)
                out.push_back(line.start + line.row * row + line.column * column);
            return out;
        };
        for (int iteration = 0; iteration < rows * columns; ++iteration) {
            for (int other = 0; other < rows * columns; ++other) {
                const int r1 = iteration / columns, c1 = iteration % columns, r2 = other / columns,
                          c2 = first + other % columns;
                if (place(one, r1, c1) != place(two, r2, c2)) continue;
                ASSERT_TRUE(found.has_value());
                EXPECT_EQ(found->rows.value_or(r2 - r1), r2 - r1);
                EXPECT_EQ(found->columns.value_or(c2 - c1), c2 - c1);
            }
        }
    }
}

/// At the skew that was found each earlier iteration comes first; at any smaller one some does not.
TEST(Skew, IsTheSmallestOfAllThatDo) {
    std::mt19937_64 rng(4);
    const auto any = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); };
    const auto works = [](const std::vector<Distance>& distances, std::int64_t by) {
        for (const Distance& each : distances)
            for (std::int64_t rows = -3; rows <= 3; ++rows)
                for (std::int64_t columns = -60; columns <= 60; ++columns) {
                    const bool met = each.rows.value_or(rows) == rows && each.columns.value_or(columns) == columns;
                    const std::int64_t sign = rows > 0 || (rows == 0 && columns > 0) ? 1 : -1;
                    if (met && (rows != 0 || columns != 0) && sign * (columns + by * rows) < 1) return false;
                }
        return true;
    };
    for (int round = 0; round < 2000; ++round) {
        std::vector<Distance> distances;
        for (int k = any(1, 4); k > 0; --k) {
            Distance one{any(-3, 3), any(-4, 4)};
            if (any(0, 5) == 0) one.rows.reset();
            if (any(0, 9) == 0) one.columns.reset();
            distances.push_back(one);
        }
        const auto found = smallest_skew(distances);
        if (!found) {
            EXPECT_FALSE(works(distances, 19));
            continue;
        }
        EXPECT_TRUE(works(distances, *found));
        EXPECT_FALSE(*found > 0 && works(distances, *found - 1));
    }
}

// ---- programs
// --------------------------------------------------------------------------------------------------------

/// A nest over rows i and columns j of x; `update`: of x_3 as %9.
std::string kind_of(const std::string& update, const std::string& range = "1, x.1, 1") {
    const Program program =
        read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg w: int64[w.0]\nscalar p: int64\n"
                     "x_4: float64[x.0, x.1] = for i in range(1, x.0, 1) carry (x_2: float64[x.0, x.1] = x) {\n"
                     "  x_5: float64[x.0, x.1] = for j in range(" +
                     range + ") carry (x_3: float64[x.0, x.1] = x_2) {\n" + update +
                     "    yield %9\n  } @4\n  yield x_5\n} @3\nwrite x = x_4\nreturn none\n");
    return loop_reports(program)[0].kind;
}

std::string mean_with(const std::string& one, const std::string& two) {
    return "    %1: float64[] = index(x_3) {index=[" + one + "]} @5\n    %2: float64[] = index(x_3) {index=[" + two +
           "]} @5\n    %3: float64[] = add(%1, %2) @5\n    %9: float64[x.0, x.1] = update(x_3, %3) {index=[i, j]} @5\n";
}

TEST(Wavefront, KindsOfNests) {
    const auto starts = [](const std::string& kind, const std::string& with) { return kind.rfind(with, 0) == 0; };
    EXPECT_EQ(kind_of(mean_with("i - 1, j", "i, j - 1")),
              "wavefront: several iterations are under way together, each 1 iteration of the inner loop behind the one "
              "before "
              "it; no map: an iteration reads x where others write it (not pixelwise: line 4 is a loop inside it)");
    EXPECT_EQ(
        kind_of(mean_with("i - 1, j - 1", "i, j - 1")),
        "wavefront: several iterations are under way together; no map: an iteration reads x where others write it (not "
        "pixelwise: line 4 is a loop inside it)");
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, j + 1", "i, j - 1"), "1, x.1 - 1, 1"),
                       "wavefront: several iterations are under way together, each 2 iterations"));
    // No column needs the one before it.
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, j", "i - 1, j")), "serial: "));
    // No row needs another one.
    EXPECT_TRUE(starts(kind_of(mean_with("i, j", "i, j - 1")), "map: "));
    // All of the row above, or a place in it that nobody knows.
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, x.1 - j", "i, j - 1")), "serial: "));
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, p", "i, j - 1")), "serial: "));
    // Too far behind for rows of a usual length.
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, j + 40", "i, j - 1"), "1, x.1 - 40, 1"), "serial: "));
    // Rows of different lengths.
    EXPECT_TRUE(starts(kind_of(mean_with("i - 1, j", "i, j - 1"), "1, min(i, x.1), 1"), "serial: "));
}

} // namespace
