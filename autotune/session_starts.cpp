// autotune/session_starts.cpp: schedules that do not come from the space: defaults, the store, files, Halide's
// autoschedulers.
#include <algorithm>

#include "autotune/search_session.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

dsl::Schedule SearchSession::default_of(const Variant& variant) {
    const dsl::AlgorithmInfo* info = try_describe(variant);
    if (info == nullptr) throw InternalError("default schedule: variant " + words_of(variant) + " has no translation.");
    return env_.rules.default_schedule(*info, machine_);
}

bool SearchSession::starts_over() {
    return spent_s() > job_.budget_s * kStartsShare || !stop_reason().empty();
}

void SearchSession::try_start(const dsl::Schedule& schedule, const std::string& origin) {
    if (!schedule.is_concrete())
        throw ScheduleError(origin + ": it has holes or choices; a start must be one schedule.", "Give it as --space.");
    attempt(schedule, origin, "");
}

/// What ran before this search, and nobody asked for: that it fails is no detail of a search.
void SearchSession::say_default_failed(const Trial* trial) {
    if (trial == nullptr || trial->measured()) return;
    std::string kind = outcome_name(trial->outcome.kind);
    std::replace(kind.begin(), kind.end(), '_', ' ');
    default_failure_ = kind + ": " + trial->outcome.text;
    emit({{"event", "warning"},
          {"text", job_.function + ": the default schedule failed (" + default_failure_ +
                       "). It is what calls run without a tuned schedule. Please report it."}});
}

void SearchSession::try_stored_best() {
    if (!stored_best_ || cancelled()) return;
    try {
        const dsl::Schedule schedule = dsl::parse_schedule(stored_best_->schedule, "<store>");
        const Trial* trial = attempt(schedule, "stored best", "", true);
        if (trial == nullptr) trial = try_known(schedule);
        stored_best_trial_ = trial;
        stored_best_judged_ = trial != nullptr && !trial->earlier && !trial->outcome.killed;
    } catch (const ScheduleError& error) {
        notes_.push_back(std::string("the stored best schedule could not be read: ") + error.what());
        stored_best_judged_ = true;
    }
}

void SearchSession::try_present() {
    if (!job_.present_schedule) return;
    present_fate_ = "not measured";
    if (cancelled()) return;
    try {
        const dsl::Schedule schedule = for_this_target(dsl::parse_schedule(*job_.present_schedule, "<present>"));
        present_ = attempt(schedule, "present", "", true);
        if (present_ == nullptr) present_ = try_known(schedule);
        if (present_ != nullptr && !present_->measured() && !present_->outcome.killed) present_fate_ = "failed";
    } catch (const ScheduleError& error) {
        notes_.push_back(std::string("the schedule in use could not be read: ") + error.what());
    }
}

void SearchSession::run_starts() {
    phase("starts");
    // Starts of a person are read first: a mistake in them should be said at once, not after seconds of search.
    std::vector<dsl::Schedule> given;
    for (std::size_t i = 0; i < job_.starts.size(); ++i)
        given.push_back(dsl::parse_schedule(job_.starts[i], "<start " + std::to_string(i + 1) + ">"));

    const dsl::Schedule first = for_this_target(default_of(variants_.front()));
    default_digest_ = dsl::schedule_digest(first);
    for (const Variant& variant : variants_)
        if (try_describe(variant) != nullptr) expect(for_this_target(default_of(variant)));
    const Trial* first_trial = attempt(first, "default", "", true);
    if (first_trial != nullptr && first_trial->outcome.kind == OutcomeKind::wrong_answer)
        wrong_variants_[variants_.front()] = first_trial->outcome.text;
    say_default_failed(first_trial);
    try_stored_best();
    try_present();
    for (std::size_t i = 0; i < given.size() && !cancelled(); ++i)
        try_start(given[i], "file");
    const auto relatives = log_.read(
        [&](const Store& store) { return store.family(job_.family_key, machine_.fingerprint, job_.workload_key); });
    for (const StoredRecord& record : relatives) {
        if (starts_over()) break;
        try {
            attempt(dsl::parse_schedule(record.schedule, "<store>"), "family", "");
        } catch (const ScheduleError&) {
            // Written by another release: it is only a hint.
        }
    }
    for (std::size_t i = 1; i < variants_.size() && !starts_over(); ++i) {
        if (try_describe(variants_[i]) == nullptr) continue;
        const Trial* trial = attempt(default_of(variants_[i]), "default", "");
        // One wrong default condemns its variant: whatever is bit-equal to it is wrong as well.
        if (trial != nullptr && trial->outcome.kind == OutcomeKind::wrong_answer)
            wrong_variants_[variants_[i]] = trial->outcome.text;
    }
    const Variant best =
        incumbent_ != nullptr ? variant_of(incumbent_->schedule, variants_.front()) : variants_.front();
    for (const char* name : kAutoschedulers) {
        // Those of Halide for GPUs know nothing of our runtime's rules.
        if (machine_.is_device() || starts_over()) break;
        const OrOutcome<dsl::Schedule> proposed = bench_.autoschedule(name, best);
        if (proposed.value)
            attempt(*proposed.value, name, "");
        else
            notes_.push_back(std::string(name) + " has no schedule: " + proposed.outcome.text);
    }
    // Spaces of wrong variants hold nothing worth a build.
    leave_out_spaces([&](const SearchSpace& space) {
        const auto wrong = wrong_variants_.find(variant_of(space.space.text(), variants_.front()));
        return wrong == wrong_variants_.end() ? "" : wrong->second;
    });
}

/// Measures one given schedule beside the stored best one (or the default).
void SearchSession::run_fixed() {
    phase("fixed");
    const dsl::Schedule fixed = for_this_target(dsl::parse_schedule(*job_.fixed_schedule, "<schedule>"));
    if (!fixed.is_concrete())
        throw ScheduleError("<schedule>: it has holes or choices, so it is not one schedule but a space.",
                            "Give it as --space.");
    const dsl::Schedule first = for_this_target(default_of(variants_.front()));
    default_digest_ = dsl::schedule_digest(first);
    say_default_failed(attempt(first, "default", "", true));
    try_stored_best();
    try_present();
    Trial* const beside = incumbent_;
    Trial* trial = attempt(fixed, "file", "", true);
    if (trial == nullptr) trial = try_known(fixed);
    reason_ = "one schedule was measured";
    if (trial == nullptr) {
        reason_ = "interrupted";
        return;
    }
    fixed_ = FixedResult{};
    fixed_->outcome = trial->outcome;
    if (!trial->measured()) return;
    fixed_->median_ns = trial->median_ns;
    fixed_->best_ns = beside != nullptr ? beside->median_ns : trial->median_ns;
    if (beside == nullptr || beside == trial) fixed_->to_best = {1, Interval{1, 1}, trial->runs};
    if (beside != nullptr && beside != trial && !cancelled()) {
        const OrOutcome<PairedTimes> times =
            bench_.measure(request_of_pair(*trial, *beside, std::clamp(left_s() - job_.reserved_s, 0.5, 3.0)));
        if (times.value) {
            fixed_->to_best = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
            fixed_->best_ns = median(times.value->incumbent_ns);
            // The pairs' ratio is not that of the medians; what is said of the two has to agree with itself.
            fixed_->median_ns = fixed_->best_ns * fixed_->to_best.ratio;
        }
    }
    compare_with_default();
    compare_with_present();
    // The record changes only where the given schedule beat what was stored, or nothing was.
    const bool has_record = stored_best_ && (stored_best_trial_ == nullptr || stored_best_trial_->measured());
    if (incumbent_ == trial || !has_record) store_best(reason_);
}

} // namespace tilewright::autotune
