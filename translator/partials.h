// translator/partials.h: a program that reduces along the first axis of its arguments, as two.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "translator/program.h"

namespace tilewright::translator {

/// What a call is that reduces the rows of its arguments, in parts: `partial` of each part of the rows gives one row of
/// each reduction; `total` takes the rows of all parts, one below another, and gives what the program gives.
///   np.sqrt(np.sum((x - y)**2))   ->   partial(x, y): [sum((x - y)**2)];   total(sums): np.sqrt(np.sum(sums))
/// What needs a reduction back along the rows, as x - x.mean() does, is not taken apart.
struct Partials {
    std::vector<std::string> rows;   ///< the arguments that are given in parts
    std::vector<std::string> stacks; ///< what `total` calls the results of `partial`
    Program partial;                 ///< of the very arguments of the program
    Program total;                   ///< of the stacks, then of those arguments that it needs
};

/// One for each extent that may be the rows; none where the program is not of that kind, or that is not seen, or where
/// each row of its results needs that row alone (sliced_arguments). `taken`: names that no stack must have.
std::vector<Partials> partials_of(const Program& program, const std::set<std::string>& taken = {});

} // namespace tilewright::translator
