// translator/passes/reduction_recognition.h: loops that only count and add up, as reductions over their iterations.
#pragma once

#include <optional>
#include <string>

#include "translator/ir/program.h"

namespace tilewright::translator {

/// The program with each `for`, those inside of loops that stay too, whose carried values are sums of integers (or
/// truths that are all, or any, true) as reductions over the iterations, which run in any order: each iteration's term
/// becomes an element of an array.
///   c = for i in range(0, n, 1) carry (p = c0) { ... yield add(p, f(i)) }   ->   c = add(c0, sum(f(iota)))
/// Sums of floats keep their order, and stay loops.
Program reduction_recognition(const Program& program);

/// "" where reduction_recognition takes the loop, which may be inside of another one; else the reason, for people.
std::string why_no_sum(const Program& program, const Operation& loop, bool inner = false);

} // namespace tilewright::translator
