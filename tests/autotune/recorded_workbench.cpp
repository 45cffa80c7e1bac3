// tests/autotune/recorded_workbench.cpp: simulated builds and noisy simulated times.
#include "tests/autotune/recorded_workbench.h"

#include <cmath>

#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

RecordedWorkbench::RecordedWorkbench(dsl::AlgorithmInfo info, Landscape landscape, std::uint64_t seed, double noise)
    : info_(std::move(info)), landscape_(std::move(landscape)), rng_(seed), noise_(noise) {}

dsl::AlgorithmInfo RecordedWorkbench::describe(const std::map<std::string, std::string>& variant) {
    dsl::AlgorithmInfo info = info_;
    info.variant = variant;
    return info;
}

OrOutcome<dsl::Schedule> RecordedWorkbench::autoschedule(const std::string& name,
                                                         const std::map<std::string, std::string>&) {
    now_s_ += 0.2;
    const auto found = autoschedules_.find(name);
    if (found != autoschedules_.end()) return found->second;
    return Outcome{OutcomeKind::build_failed, "nothing is recorded for it"};
}

OrOutcome<Built> RecordedWorkbench::build(const dsl::Schedule& schedule) {
    if (hook_) hook_();
    ++builds_;
    const RecordedCandidate candidate = landscape_(schedule);
    now_s_ += candidate.build_s;
    switch (candidate.outcome.kind) {
    case OutcomeKind::build_timed_out:
        now_s_ += 5;
        [[fallthrough]];
    case OutcomeKind::illegal:
    case OutcomeKind::build_failed:
        return candidate.outcome;
    default:
        break;
    }
    const std::string id = dsl::schedule_digest(schedule);
    built_[id] = candidate;
    built_ids_.insert(id);
    return Built{id, candidate.build_s};
}

std::optional<Outcome> RecordedWorkbench::verify(const Built& built) {
    const RecordedCandidate& candidate = built_.at(built.id);
    now_s_ += candidate.median_ns * 2e-9;
    if (candidate.outcome.kind == OutcomeKind::run_timed_out) now_s_ += 3;
    if (candidate.outcome.kind != OutcomeKind::measured) return candidate.outcome;
    return std::nullopt;
}

double RecordedWorkbench::sample_ns(const std::string& id, double median_ns) {
    // Times are never much shorter than the true one and sometimes far longer.
    std::normal_distribution<double> normal(0, noise_);
    std::uniform_real_distribution<double> unit(0, 1);
    double factor = std::exp(normal(rng_));
    if (unit(rng_) < 0.03) factor *= 1 + 20 * noise_;
    return median_ns * factor * (slowdown_ ? slowdown_(id) : 1);
}

OrOutcome<PairedTimes> RecordedWorkbench::measure(const MeasureRequest& request) {
    if (hook_) hook_();
    auto get = [&](const std::string& id) -> RecordedCandidate& {
        const auto found = built_.find(id);
        if (found == built_.end()) throw InternalError("recorded workbench: " + id + " was never built.");
        return found->second;
    };
    auto crashed = [&](const std::string& id) {
        const int after = get(id).crashes_after;
        return after > 0 && ++timings_[id] > after;
    };
    if (crashed(request.candidate)) return Outcome{OutcomeKind::run_crashed, "ended by SIGSEGV (recorded)"};
    if (!request.incumbent.empty() && crashed(request.incumbent)) {
        Outcome outcome{OutcomeKind::run_crashed, "ended by SIGSEGV (recorded)"};
        outcome.of_incumbent = true;
        return outcome;
    }
    PairedTimes times;
    double used_s = 0;
    for (int run = 0; run < request.max_runs && (run < request.min_runs || used_s < request.budget_s); ++run) {
        if (run > 0 && request.limit_s > 0 && used_s + used_s / run > request.limit_s) break;
        times.candidate_ns.push_back(sample_ns(request.candidate, get(request.candidate).median_ns));
        used_s += times.candidate_ns.back() * 1e-9;
        if (!request.incumbent.empty()) {
            times.incumbent_ns.push_back(sample_ns(request.incumbent, get(request.incumbent).median_ns));
            used_s += times.incumbent_ns.back() * 1e-9;
            bool hopeless = run + 1 >= request.min_runs || times.candidate_ns.front() > 3 * times.incumbent_ns.front();
            for (std::size_t i = 0; i < times.candidate_ns.size(); ++i)
                hopeless = hopeless && times.candidate_ns[i] > request.give_up_ratio * times.incumbent_ns[i];
            if (hopeless) break;
        }
    }
    now_s_ += used_s;
    return times;
}

} // namespace tilewright::autotune
