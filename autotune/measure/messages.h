// autotune/measure/messages.h: what travels between the search and tilewright-worker: one JSON object a line.
//
// Requests: {"verb": variants | describe | autoschedule | build | verify | measure | lowered, ...}.
// Answers: {"ok": ...} with the value, {"outcome": word, "text": ...} for a candidate that failed, or {"error": class,
// "text": ...}.
#pragma once

#include <nlohmann/json.hpp>

#include "autotune/outcome.h"
#include "autotune/workbench.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

nlohmann::json algorithm_info_to_json(const dsl::AlgorithmInfo& info);
/// Throws nlohmann::json::exception for an object of another shape.
dsl::AlgorithmInfo algorithm_info_from_json(const nlohmann::json& object);

nlohmann::json measure_request_to_json(const MeasureRequest& request);
MeasureRequest measure_request_from_json(const nlohmann::json& object);

/// Where a worker is, in memory that it shares with the search: read when the worker died.
struct WorkerStatus {
    char phase[24]; ///< "build", "verify", "measure", ...
    char id[40];    ///< the schedule that runs right now
};
/// The descriptor on which a worker finds its WorkerStatus.
inline constexpr int kStatusDescriptor = 3;

} // namespace tilewright::autotune
