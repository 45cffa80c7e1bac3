// translator/loops/nest_distances.cpp: linear equations between iterations, and the hyperplane that honours them.
#include "translator/loops/nest_distances.h"

#include <algorithm>
#include <cstdlib>

#include "translator/loops/access.h"

namespace tilewright::translator {
namespace {

/// A position as start + row * (its row) + column * (its column); a slope is nothing where it is no number.
struct Line {
    Size start;
    std::optional<std::int64_t> row, column;
};

std::optional<std::int64_t> slope(const Size& position, const char* symbol) {
    const Size next = substitute(position, symbol, Size::symbol(symbol) + Size::integer(1));
    return constant_difference(next, position);
}

Line line(const Size& position) {
    const Size zero = Size::integer(0);
    return {substitute(substitute(position, kRow, zero), kColumn, zero), slope(position, kRow),
            slope(position, kColumn)};
}

/// The lowest or highest position that an access touches along an axis, if any iteration makes it.
std::optional<Size> end(const Line& line, const NestAccess& access, const Size& rows, bool highest) {
    if (!line.row || !line.column) return std::nullopt;
    const auto last = [](const Size& count) { return count - Size::integer(1); };
    const Size first = Size::integer(access.first);
    const Size row = (*line.row > 0) == highest ? last(rows) : Size::integer(0);
    const Size column = (*line.column > 0) == highest ? first + last(access.columns) : first;
    Size out = line.start;
    if (*line.row != 0) out = out + Size::integer(*line.row) * row;
    if (*line.column != 0) out = out + Size::integer(*line.column) * column;
    return out;
}

bool apart(const Line& a, const NestAccess& of_a, const Line& b, const NestAccess& of_b, const Size& rows) {
    const auto below = [&](const Line& low, const NestAccess& of_low, const Line& high, const NestAccess& of_high) {
        const auto top = end(low, of_low, rows, true);
        const auto bottom = end(high, of_high, rows, false);
        if (!top || !bottom) return false;
        const auto gap = constant_difference(*bottom, *top);
        return gap && *gap > 0;
    };
    return below(a, of_a, b, of_b) || below(b, of_b, a, of_a);
}

/// row * (rows between) + column * (columns between) = sum
struct Equation {
    std::int64_t row, column, sum;
};

/// Puts what is known into the equation. False where it cannot hold.
bool solve(const Equation& equation, Distance& known) {
    std::int64_t left = equation.sum;
    std::optional<std::int64_t>* open = nullptr;
    std::int64_t factor = 0;
    int unknown = 0;
    const auto term = [&](std::int64_t slope, std::optional<std::int64_t>& value) {
        if (slope == 0) return;
        if (value) {
            left -= slope * *value;
        } else {
            ++unknown;
            open = &value;
            factor = slope;
        }
    };
    term(equation.row, known.rows);
    term(equation.column, known.columns);
    if (unknown == 0) return left == 0;
    if (unknown == 2) return true; // many answers
    if (left % factor != 0) return false;
    *open = left / factor;
    return true;
}

} // namespace

std::optional<Distance> distance(const NestAccess& from, const NestAccess& to, const Size& rows) {
    Distance out;
    if (!from.at || !to.at || from.at->size() != to.at->size()) return out;
    std::vector<Equation> equations;
    for (std::size_t axis = 0; axis < from.at->size(); ++axis) {
        const Line a = line((*from.at)[axis]);
        const Line b = line((*to.at)[axis]);
        if (apart(a, from, b, to, rows)) return std::nullopt;
        // An axis that says nothing leaves more distances than there are, never fewer.
        const auto sum = constant_difference(a.start, b.start);
        if (sum && a.row && a.column && a.row == b.row && a.column == b.column)
            equations.push_back({*a.row, *a.column, *sum});
    }
    // The second time with what later axes said.
    for (int round = 0; round < 2; ++round)
        for (const Equation& equation : equations)
            if (!solve(equation, out)) return std::nullopt;
    return out;
}

std::optional<std::int64_t> smallest_skew(const std::vector<Distance>& distances) {
    std::int64_t skew = 0;
    // `columns` apart, `rows` > 0 later: skew * rows + columns >= 1
    const auto need = [&](std::int64_t rows, std::int64_t columns) {
        if (columns < 1) skew = std::max(skew, (1 - columns + rows - 1) / rows);
    };
    for (const Distance& each : distances) {
        if (each.rows == 0) continue; // the columns of a row keep their order
        if (!each.columns) return std::nullopt;
        // Of rows at any distance, neighbours are the nearest.
        if (!each.rows)
            need(1, -std::abs(*each.columns));
        else if (*each.rows > 0)
            need(*each.rows, *each.columns);
        else
            need(-*each.rows, -*each.columns);
    }
    return skew;
}

} // namespace tilewright::translator
