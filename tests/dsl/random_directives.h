// tests/dsl/random_directives.h: random schedules for real algorithms, legal ones and nearly legal ones.
#pragma once

#include <random>
#include <string>

#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::dsl::test {

/// Adds random directives one by one, and mostly keeps those that check() accepts: a legal schedule of up to `length`
/// directives.
/// For a CUDA device nothing is legal without loops over blocks: `seed` is a legal schedule's body to begin with.
Schedule random_legal_schedule(const AlgorithmInfo& info, std::mt19937_64& rng, int length,
                               const std::string& target = "x86-64-v3", const std::string& seed = "");

} // namespace tilewright::dsl::test
