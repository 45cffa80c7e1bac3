// autotune/space/loop_rule.h: a loop that runs inside its elements, inside the loops of the stage that reads it.
#pragma once

#include <string>
#include <vector>

#include "autotune/machine.h"
#include "autotune/space/root_rule.h"
#include "autotune/space/stage_graph.h"

namespace tilewright::autotune {

/// The loop stage that `root` alone reads, each of its elements at the same element of the loop; nullptr for none.
const dsl::StageInfo* hosted_loop(const dsl::StageInfo& root, const StageGraph& graph, const dsl::AlgorithmInfo& info);

/// Loops for a root that hosts a loop: a group of a few vectors, whose state stays in registers while all iterations
/// run, is the innermost of the root's loops. Groups are uneven work, so tasks are small.
RootLoops loop_host_rule(const dsl::StageInfo& root, const dsl::StageInfo& loop, const StageGraph& graph,
                         const Machine& machine);

/// The directives of the hosted loop itself.
std::vector<Line> hosted_loop_lines(const dsl::StageInfo& loop, const dsl::StageInfo& root, const RootLoops& loops);

/// Several iterations a visit, ?loop_n_chunk{10, 1, 2, ...}: `first` to begin with where they are short.
/// Gives the name of the loop that it splits.
const std::string& add_chunks(Line& line, const dsl::StageInfo& loop, std::int64_t first = 10);

} // namespace tilewright::autotune
