// dsl/passes/prefetch_lines.h: fetches cache lines ahead of dense loads.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/model/traffic.h"

namespace tilewright::dsl {

/// Before each statement inside the named loops that loads a dense vector from one of `arguments`, the cache lines
/// that lie `bytes_ahead` further on are prefetched, once for each place of memory. Loads that do not move with the
/// loop get none. Halide's own prefetch() walks the box of a stage's reads in every dimension instead: a line for each
/// row of points, where consecutive rows share one.
Halide::Internal::Stmt insert_prefetches(const Halide::Internal::Stmt& statement,
                                         const std::vector<PrefetchLines>& prefetches,
                                         const std::set<std::string>& arguments);

void add_prefetch_lines_pass(Halide::Pipeline& pipeline, std::vector<PrefetchLines> prefetches,
                             std::set<std::string> arguments);

} // namespace tilewright::dsl
