// translator/parts/split_reduction.h: a program that reduces along the first axis of its arguments, as two programs or
// more.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// What a call is that reduces the rows of its arguments, in parts: `partial` of each part of the rows gives one row of
/// each reduction; `total` takes the rows of all parts, one below another, and gives what the program gives.
///   np.sqrt(np.sum((x - y)**2))   ->   partial(x, y): [sum((x - y)**2)];   total(sums): np.sqrt(np.sum(sums))
/// Where rows need what reductions give, or are results themselves, `total` gives the values that they need and those
/// results that it has, and `rest` gives the others, of the program's arguments and those values:
///   x - x.mean()   ->   partial(x): [sum(x)], [n];   total(sums, ns): [sum(sums) / sum(ns)];   rest(x, mean): x - mean
struct Partials {
    std::vector<std::string> rows;   ///< the arguments that are given in parts
    std::vector<std::string> stacks; ///< what `total` calls the results of `partial`
    Program partial;                 ///< of the very arguments of the program
    Program total;                   ///< of the stacks, then of those arguments that it needs
    /// Each row of its results needs that row alone (sliced_arguments), or it is taken apart in its turn, as for
    /// x.var().
    std::optional<Program> rest;
    std::vector<std::string> handed; ///< what `rest` calls the first results of `total`, behind the program's arguments
    std::vector<std::size_t> kept;   ///< where there is a rest: the program's results that are the others of `total`
};

/// One for each extent that may be the rows; none where the program is not of that kind, or that is not seen, or where
/// each row of its results needs that row alone (sliced_arguments). `taken`: names that no stack must have.
std::vector<Partials> partials_of(const Program& program, const std::set<std::string>& taken = {});

} // namespace tilewright::translator
