// python/native/tune_job.h: a tuning job from its JSON to its result, with the real workbench, store and rules.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "autotune/machine.h"
#include "autotune/tune.h"

namespace tilewright::native {

/// Runs the search. A store that cannot be opened is a warning event; see autotune::tune for what is thrown.
nlohmann::json tune_job(const std::string& job_text, const autotune::Observer& observer,
                        const std::atomic<bool>* cancel);

/// This machine, with its measured limits when `db` names a store: taken from it, or measured now (half a second) and
/// kept in it.
autotune::Machine machine_with_limits(const std::optional<std::string>& db, const std::string& isa = "host");

nlohmann::json machine_to_json(const autotune::Machine& machine);

} // namespace tilewright::native
