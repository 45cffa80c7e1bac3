// autotune/tune.cpp: the search: propose, check, build, verify, measure, record.
#include "autotune/tune.h"

#include <deque>

#include "autotune/search_session.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

using nlohmann::json;

TuneResult SearchSession::run() {
    emit({{"event", "started"},
          {"workload", job_.workload_key},
          {"summary", job_.summary},
          {"budget_s", job_.budget_s}});
    log_.begin({job_.workload_key, job_.family_key, job_.function, job_.summary, machine_.fingerprint, 0});
    open_spaces();
    read_known();
    if (job_.fixed_schedule) {
        run_fixed();
        return result();
    }
    run_starts();
    run_strategy();
    run_finals();
    compare_with_default();
    compare_with_present();
    raise_limit_of_device();
    store_best(reason_);
    return result();
}

/// "host" and the level that it is here are one target, so that one schedule has one digest.
dsl::Schedule SearchSession::for_this_target(dsl::Schedule schedule) const {
    if (schedule.target.empty() || schedule.target == "host") schedule.target = machine_.isa;
    return schedule;
}

/// check -> build -> verify -> measure -> record. Null only when the same schedule is known already and `again` is
/// false.
Trial* SearchSession::attempt(const dsl::Schedule& given, const std::string& origin, const std::string& point,
                              bool again) {
    const dsl::Schedule schedule = for_this_target(given);
    const std::string digest = dsl::schedule_digest(schedule);
    const auto known = trials_.find(digest);
    if (known != trials_.end() && !(again && known->second.earlier)) return nullptr;
    Trial& trial = trials_[digest];
    trial = {.digest = digest,
             .text = dsl::print_schedule(schedule),
             .schedule = schedule,
             .origin = origin,
             .outcome = {},
             .earlier_median_ns = trial.earlier_median_ns};
    if (digest == default_digest_) default_ = &trial;

    Trial* const before = incumbent_;
    trial.outcome = build_verify_measure(trial);
    if (cancelled() && !trial.measured()) {
        // The interruption may be what failed it: no verdict on the candidate is kept.
        if (default_ == &trial) default_ = nullptr;
        trials_.erase(digest);
        return nullptr;
    }
    ++new_trials_;
    ++outcomes_[outcome_name(trial.outcome.kind)];
    keep(trial, point, incumbent_ == &trial && before != &trial);
    emit({{"event", "trial"},
          {"trial", new_trials_},
          {"digest", digest},
          {"origin", origin},
          {"outcome", outcome_name(trial.outcome.kind)},
          {"text", trial.outcome.text},
          {"median_ns", trial.median_ns},
          {"best_ns", incumbent_ != nullptr ? incumbent_->median_ns : 0.0}});
    if (incumbent_ == &trial && before != &trial)
        emit({{"event", "new_best"},
              {"trial", new_trials_},
              {"digest", digest},
              {"origin", origin},
              {"schedule", trial.text},
              {"median_ns", trial.median_ns},
              {"ratio_to_default", default_ != nullptr && default_->measured() && default_->cost > 0
                                       ? json(trial.cost / default_->cost)
                                       : json()}});
    return &trial;
}

/// Beyond noise; where there is time for a few pairs alone, clearly in each.
bool SearchSession::wins(const PairedTimes& times, double confidence) {
    const PairedRatio ratio = paired_ratio(times.candidate_ns, times.incumbent_ns, confidence);
    return ratio.interval ? is_faster(ratio) : is_faster_in_each(times.candidate_ns, times.incumbent_ns);
}

/// Sets times and cost of `trial` on success; may make it the incumbent.
Outcome SearchSession::build_verify_measure(Trial& trial) {
    const Variant variant = variant_of(trial.schedule, variants_.front());
    if (const auto wrong = wrong_variants_.find(variant); wrong != wrong_variants_.end())
        return {OutcomeKind::wrong_answer, "its variant (" + words_of(variant) + ") is wrong: " + wrong->second};
    const dsl::AlgorithmInfo* info = try_describe(variant);
    if (info == nullptr) return {OutcomeKind::illegal, "variant " + words_of(variant) + ": no translation."};
    const std::vector<dsl::Violation> violations = env_.rules.check(*info, trial.schedule);
    if (!violations.empty()) return {OutcomeKind::illegal, violations.front().text()};
    const OrOutcome<Built> built = bench_.build(trial.schedule);
    if (!built.value) return built.outcome;
    trial.build_s = built.value->build_s;
    shortest_build_s_ = std::min(shortest_build_s_, built.value->build_s);
    if (cancelled()) return {OutcomeKind::build_failed, "cancelled"};
    if (const std::optional<Outcome> wrong = bench_.verify(*built.value)) return *wrong;

    for (int attempt = 0; attempt < 3; ++attempt) {
        MeasureRequest request = first_request(
            trial.digest, incumbent_ != nullptr && incumbent_ != &trial ? incumbent_->digest : std::string());
        const auto more_runs = [&](int most) {
            request.budget_s = kMoreRunsS;
            request.limit_s = kMoreLongRunsS;
            request.min_runs = 8;
            request.max_runs = most;
            return bench_.measure(request);
        };
        OrOutcome<PairedTimes> times = measure(request);
        if (times.value && !times.value->incumbent_ns.empty() && times.value->beside.empty()) {
            // What may be a gain is worth more runs; ties are not: they cannot win.
            const PairedRatio first = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
            if (first.ratio < 1 - 2 * kLeastGain && !is_faster(first) && !cancelled()) {
                const OrOutcome<PairedTimes> more = more_runs(48);
                if (more.value) {
                    auto append = [](std::vector<double>& to, const std::vector<double>& from) {
                        to.insert(to.end(), from.begin(), from.end());
                    };
                    append(times.value->candidate_ns, more.value->candidate_ns);
                    append(times.value->incumbent_ns, more.value->incumbent_ns);
                } else {
                    times = more;
                }
            }
        }
        if (!times.value) {
            if (!times.outcome.of_incumbent || cancelled()) return times.outcome;
            // What everything is compared with has failed: it cannot stay the best.
            drop_incumbent(times.outcome);
            continue;
        }
        trial.median_ns = median(times.value->candidate_ns);
        trial.runs = static_cast<int>(times.value->candidate_ns.size());
        if (times.value->incumbent_ns.empty()) {
            trial.cost = trial.median_ns;
            // Without an incumbent to pair with, an earlier frame (if any) is joined by plain medians.
            trial.outcome = {};
            make_incumbent(trial);
        } else {
            PairedRatio ratio = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
            bool confirmed = false;
            if (times.value->beside.empty() && wins(*times.value) && !cancelled()) {
                // Of a hundred equal candidates one looks better by luck: a new best has to win a second time, on fresh
                // times.
                const OrOutcome<PairedTimes> again = more_runs(24);
                if (!again.value) {
                    times = again;
                    if (!times.outcome.of_incumbent || cancelled()) return times.outcome;
                    drop_incumbent(times.outcome);
                    continue;
                }
                ratio = paired_ratio(again.value->candidate_ns, again.value->incumbent_ns, 0.95);
                confirmed = wins(*again.value, 0.95);
            }
            trial.cost = taken_beside(*times.value).cost * ratio.ratio;
            trial.outcome = {};
            if (confirmed) make_incumbent(trial);
        }
        return {};
    }
    return {OutcomeKind::run_crashed, "the schedules it was to be compared with failed too"};
}

/// Has a schedule built ahead, unless it is known or not legal.
void SearchSession::expect(const dsl::Schedule& schedule) {
    if (bench_.builds_ahead() == 0 || trials_.count(dsl::schedule_digest(schedule)) != 0) return;
    const dsl::AlgorithmInfo* info = try_describe(variant_of(schedule, variants_.front()));
    if (info != nullptr && env_.rules.check(*info, schedule).empty()) bench_.expect(schedule);
}

/// The strategy's next proposal. Where others can be built meanwhile it is asked for some more, which it then makes
/// without knowing what became of the ones before.
std::optional<Proposal> SearchSession::next_proposal(Strategy& strategy, std::deque<Proposal>& ahead) {
    const auto most = static_cast<std::size_t>(bench_.builds_ahead());
    for (int tries = 0; ahead.size() < most && tries < kKnownInARow; ++tries) {
        std::optional<Proposal> proposal = strategy.propose();
        if (!proposal) break;
        expect(for_this_target(spaces_[proposal->space].space.at(proposal->point)));
        ahead.push_back(std::move(*proposal));
    }
    if (ahead.empty()) return strategy.propose();
    Proposal next = std::move(ahead.front());
    ahead.pop_front();
    return next;
}

void SearchSession::run_strategy() {
    if (stop_reason().empty()) phase("search");
    const std::unique_ptr<Strategy> strategy =
        make_strategy(job_.strategy, spaces_, job_.seed * 0x9e3779b97f4a7c15ULL + earlier_.size() + 1);
    observe_known(*strategy);
    std::deque<Proposal> ahead;
    for (int known_in_a_row = 0; (reason_ = stop_reason()).empty();) {
        const std::optional<Proposal> proposal =
            known_in_a_row < kKnownInARow ? next_proposal(*strategy, ahead) : std::nullopt;
        if (!proposal) {
            reason_ = "every point of the space was tried";
            return;
        }
        const dsl::Schedule schedule = spaces_[proposal->space].space.at(proposal->point);
        const Trial* trial = attempt(schedule, proposal->origin, point_text(*proposal));
        // Two points may be the same schedule: the second costs nothing.
        known_in_a_row = trial == nullptr ? known_in_a_row + 1 : 0;
        if (trial == nullptr) trial = try_known(schedule);
        if (trial != nullptr)
            strategy->observe(*proposal, trial->measured() ? std::optional<double>(trial->cost) : std::nullopt);
    }
}

/// Why the search should stop now; empty: it should not.
std::string SearchSession::stop_reason() {
    if (cancelled()) return "interrupted";
    if (job_.max_trials > 0 && new_trials_ >= job_.max_trials) return "the number of trials was used up";
    if (left_for_search_s() <= 0) return "the time budget was used up";
    // Not even the fastest build so far would end in time, with a check and two runs of what it gives.
    if (incumbent_ != nullptr && shortest_build_s_ < kNoBuild &&
        left_for_search_s() <= shortest_build_s_ + 3e-9 * incumbent_->median_ns)
        return "the time budget was used up";
    if (near_limit())
        return "95 % of this machine's measured limit was reached (" +
               std::string(roof_name(use_of_limit(incumbent_->median_ns).roof)) + "), measured beside it";
    if (new_trials_ - last_gain_ >= kTrialsWithoutGain)
        return "nothing better was found in " + std::to_string(kTrialsWithoutGain) + " trials";
    return "";
}

TuneResult tune(const Job& job, const TuneEnvironment& environment) {
    if (environment.workbench == nullptr) throw InternalError("tune: no workbench.");
    return SearchSession(job, environment).run();
}

} // namespace tilewright::autotune
