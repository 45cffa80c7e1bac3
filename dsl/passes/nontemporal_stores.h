// dsl/passes/nontemporal_stores.h: stores that go past the caches.
#pragma once

#include <vector>

#include "Halide.h"
#include "dsl/model/traffic.h"

namespace tilewright::dsl {

/// Sends dense vector stores of the named outputs, where they turn out to be aligned to a cache line, through the
/// marked base of memory_hints.h, and puts a fence behind them: at the end of each task of a parallel loop and of the
/// kernel.
void add_nontemporal_stores_pass(Halide::Pipeline& pipeline, const std::vector<NonTemporalStores>& outputs);

} // namespace tilewright::dsl
