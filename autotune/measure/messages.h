// autotune/measure/messages.h: what travels between the search and tilewright-worker: one JSON object a line.
//
// Requests: {"verb": variants | describe | autoschedule | build | verify | measure | lowered, ...}.
// Answers: {"ok": ...} with the value, {"outcome": word, "text": ...} for a candidate that failed, or {"error": class,
// "text": ...}. Descriptions of algorithms and measurement requests are the JSON of their fields.
#pragma once

#include <nlohmann/json.hpp>

#include "autotune/fields_json.h"
#include "autotune/outcome.h"
#include "autotune/workbench.h"
#include "dsl/model/algorithm_fields.h"

template <> struct nlohmann::adl_serializer<tilewright::dsl::StagePart> {
    using Part = tilewright::dsl::StagePart;
    static void to_json(nlohmann::json& to, Part from) { to = tilewright::dsl::part_name(from); }
    static void from_json(const nlohmann::json& from, Part& to) {
        to = Part::loop; // the last one
        while (to != Part::whole && from != tilewright::dsl::part_name(to))
            to = static_cast<Part>(static_cast<int>(to) - 1);
    }
};

namespace tilewright::autotune {

/// Where a worker is, in memory that it shares with the search: read when the worker died.
struct WorkerStatus {
    char phase[24]; ///< "build", "verify", "measure", ...
    char id[40];    ///< the schedule that runs right now
};
/// The descriptor on which a worker finds its WorkerStatus.
inline constexpr int kStatusDescriptor = 3;

} // namespace tilewright::autotune
