// autotune/tune.h: the search: propose, check, build, verify, measure, record.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "autotune/job.h"
#include "autotune/machine.h"
#include "autotune/measure/statistics.h"
#include "autotune/store/store.h"
#include "autotune/workbench.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// What the search knows of schedules, given by the composition root (tests give their own).
struct SchedulingRules {
    std::function<dsl::Schedule(const dsl::AlgorithmInfo&, const Machine&)> default_schedule;
    std::function<dsl::Schedule(const dsl::AlgorithmInfo&, const Machine&)> default_space;
    std::function<std::vector<dsl::Violation>(const dsl::AlgorithmInfo&, const dsl::Schedule&)> check;
    /// Measured anew, beside the candidate, when one comes near to or beyond the limit that is known.
    std::function<Roofline(const Machine&)> measure_roofline;
};

/// Events, as JSON objects with a field "event": started, warning, phase, trial, new_best, finished. Called on the
/// search's thread.
using Observer = std::function<void(const nlohmann::json&)>;

struct TuneEnvironment {
    Workbench* workbench = nullptr;
    Store* store = nullptr; ///< may be null
    Machine machine;
    SchedulingRules rules;
    Observer observer;                         ///< may be empty
    const std::atomic<bool>* cancel = nullptr; ///< looked at between any two steps
    std::function<double()> clock_s;           ///< empty: the steady clock
    std::optional<double> start_s;             ///< of the budget, by that clock; empty: when tune() is called
};

/// A schedule that was measured beside the best one on request (job.fixed_schedule).
struct FixedResult {
    Outcome outcome;
    double median_ns = 0;
    double best_ns = 0;
    PairedRatio to_best; ///< fixed / best
};

/// How near a candidate is to the limit that binds it.
struct LimitUse {
    Roof roof = Roof::none;
    double share = 0;   ///< at most 1
    double reached = 0; ///< GB/s, or GFLOP/s
};

struct TuneResult {
    bool found = false; ///< at least one schedule was measured and right
    std::string schedule;
    std::string digest;
    double median_ns = 0;
    double default_ns = 0;  ///< of the default schedule, 0 where it failed
    PairedRatio to_default; ///< best / default
    double gbps = 0;        ///< arguments and results once
    LimitUse limit;         ///< none where nothing was measured for a call so small
    std::string reason;     ///< why it stopped
    bool cancelled = false;
    int trials = 0;                      ///< of this session
    int known = 0;                       ///< of earlier sessions
    std::map<std::string, int> outcomes; ///< of this session, by name
    double elapsed_s = 0;
    std::vector<std::string> notes; ///< for people: variants that had to be left out, and why
    std::optional<FixedResult> fixed;
    std::string default_failure; ///< what became of the default schedule, where that failed; else empty
    /// What became of job.present_schedule: "kept" (it is the result), "beaten", "failed", "not measured", or "" where
    /// there was none.
    std::string present = {};
};

/// Throws ScheduleError for a space or a start that does not parse, DeviceError when no candidate can be run at all. A
/// store that fails costs one warning event, never the search.
TuneResult tune(const Job& job, const TuneEnvironment& environment);

nlohmann::json to_json(const TuneResult& result);

} // namespace tilewright::autotune
