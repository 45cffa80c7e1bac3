// tests/dsl/random_directives.h: random schedules for real algorithms, legal ones and nearly legal ones.
#pragma once

#include <random>

#include "dsl/algorithm.h"
#include "dsl/schedule.h"

namespace tilewright::dsl::test {

/// Adds random directives one by one, and mostly keeps those that check() accepts: a legal schedule of up to `length`
/// directives.
Schedule random_legal_schedule(const AlgorithmInfo& info, std::mt19937_64& rng, int length);

} // namespace tilewright::dsl::test
