// autotune/session_finish.cpp: who is best, the finalists' second timing, the evidence and the result.
#include <algorithm>

#include "autotune/fields_json.h"
#include "autotune/search_session.h"

namespace tilewright::autotune {

using nlohmann::json;

void SearchSession::make_incumbent(Trial& trial) {
    incumbent_ = &trial;
    last_gain_ = new_trials_;
    to_default_.reset();
}

/// The incumbent failed while it was timed: it is no longer right, and the next best one takes its place.
void SearchSession::drop_incumbent(const Outcome& outcome) {
    if (incumbent_ == nullptr) return;
    Trial& failed = *incumbent_;
    failed.outcome = {outcome.kind, outcome.text, false, outcome.killed};
    emit({{"event", "warning"},
          {"text", "the best schedule so far (" + failed.digest.substr(0, 8) +
                       ") failed when it was run again: " + outcome.text + " The next best one takes its place."}});
    incumbent_ = nullptr;
    to_default_.reset();
    for (auto& [digest, trial] : trials_)
        if (trial.measured() && !trial.earlier && trial.cost > 0 &&
            (incumbent_ == nullptr || trial.cost < incumbent_->cost))
            incumbent_ = &trial;
    keep(failed, "", false);
    store_best("running");
}

void SearchSession::keep(const Trial& trial, const std::string& point, bool is_best) {
    // Killed from outside: what was measured before still holds.
    if (trial.outcome.killed && (trial.earlier_median_ns > 0 || trial.median_ns > 0)) return;
    log_.write([&](Store& store) {
        store.put_trial(stored(trial, point),
                        is_best && may_record() ? std::optional(record("running")) : std::nullopt);
    });
}

void SearchSession::store_best(const std::string& reason) {
    if (incumbent_ == nullptr || !may_record()) return;
    log_.write([&](Store& store) { store.put_record(record(reason)); });
}

void SearchSession::store_limits() {
    log_.write([&](Store& store) { store.put_machine(machine_); });
}

LimitUse SearchSession::use_of_limit(double ns) const {
    const Bound bound = machine_.roofline.bound(job_.work());
    if (bound.roof == Roof::none || ns <= 0 || beyond_limits_) return {};
    const double amount = bound.roof == Roof::memory ? data_bytes() : job_.flops.total();
    return {bound.roof, bound.ns / ns, amount / ns};
}

/// The limits and then the best candidate once more, one after the other: what was measured at another time was
/// another machine, busier or less so. Limits are only ever raised.
bool SearchSession::measure_beside_limit() {
    if (roofline_renewals_ >= kMostRenewals || !env_.rules.measure_roofline) return false;
    ++roofline_renewals_;
    phase("the machine's limits");
    machine_.roofline.raise_to(env_.rules.measure_roofline(machine_));
    store_limits();
    const OrOutcome<PairedTimes> times = bench_.measure(first_request(incumbent_->digest, ""));
    if (!times.value) {
        if (!cancelled()) drop_incumbent(times.outcome);
        return false;
    }
    incumbent_->median_ns = median(times.value->candidate_ns);
    measured_beside_limit_ = incumbent_;
    return true;
}

/// The driver's copies read and write at once and are all that is measured beforehand; kernels that mostly read get
/// more. What one has reached is the limit from then on.
void SearchSession::raise_limit_of_device() {
    if (!machine_.is_device() || incumbent_ == nullptr) return;
    const LimitUse use = use_of_limit(incumbent_->median_ns);
    if (use.roof != Roof::memory || use.share <= 1 || use.share > kMostBeyondCopies) return;
    machine_.roofline.raise_memory(job_.read_bytes(), job_.written_bytes(), use.share);
    store_limits();
}

bool SearchSession::near_limit() {
    // A device's limit is what the driver's copies reach, which good kernels exceed by a quarter on some machines; what
    // its clock and width would give is not said truly by every driver.
    if (machine_.is_device() || incumbent_ == nullptr) return false;
    if (use_of_limit(incumbent_->median_ns).share < kLimitShare) return false;
    if (measured_beside_limit_ != incumbent_ && !measure_beside_limit()) return false;
    const double share = use_of_limit(incumbent_->median_ns).share;
    // It reads less than all of its arguments, or computes less than the program says.
    if (share > kBeyondShare) beyond_limits_ = true;
    return share >= kLimitShare && share <= kBeyondShare;
}

/// The schedule beside which times were taken.
Trial& SearchSession::taken_beside(const PairedTimes& times) {
    return times.beside.empty() ? *incumbent_ : trials_.at(times.beside);
}

/// Times beside an earlier incumbent say nothing where that one was faster than what is the best now: it failed since.
OrOutcome<PairedTimes> SearchSession::measure(const MeasureRequest& request) {
    OrOutcome<PairedTimes> times = bench_.measure(request);
    if (times.value && !times.value->beside.empty() && taken_beside(*times.value).cost < incumbent_->cost)
        times = bench_.measure(request);
    return times;
}

MeasureRequest SearchSession::final_request(const Trial& trial, double budget_s) const {
    return {.candidate = trial.digest,
            .incumbent = incumbent_->digest,
            .budget_s = budget_s,
            .min_runs = 8,
            .max_runs = 100,
            .limit_s = std::max(budget_s, finals_s() / (kFinalists + 1)),
            .give_up_ratio = 1.05};
}

void SearchSession::measure_finalist(Trial& trial, double budget_s) {
    const OrOutcome<PairedTimes> times = measure(final_request(trial, budget_s));
    if (!times.value) {
        if (cancelled()) return;
        if (times.outcome.of_incumbent)
            drop_incumbent(times.outcome);
        else
            trial.outcome = times.outcome;
        return;
    }
    const PairedRatio ratio = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
    Trial& beside = taken_beside(*times.value);
    trial.cost = beside.cost * ratio.ratio;
    trial.median_ns = median(times.value->candidate_ns);
    beside.median_ns = median(times.value->incumbent_ns);
    if (&beside == incumbent_ && wins(*times.value)) make_incumbent(trial);
}

/// Among hundreds of candidates the luckiest looks best: the top few are timed again in pairs.
void SearchSession::run_finals() {
    if (incumbent_ == nullptr || cancelled()) return;
    phase("finals");
    std::vector<Trial*> finalists;
    for (auto& [digest, trial] : trials_)
        if (&trial != incumbent_ && trial.measured() && !trial.earlier && trial.cost > 0 &&
            trial.cost <= incumbent_->cost * kFinalistRatio)
            finalists.push_back(&trial);
    std::sort(finalists.begin(), finalists.end(), [](const Trial* a, const Trial* b) { return a->cost < b->cost; });
    if (finalists.size() > kFinalists) finalists.resize(kFinalists);
    const double each_s = std::clamp(finals_s() / static_cast<double>(finalists.size() + 1), 0.1, 1.5);
    // One pair says nothing: calls so long that there is no time for two keep the order that the search found.
    if (4e-9 * incumbent_->median_ns > std::max(each_s, finals_s() / (kFinalists + 1))) finalists.clear();
    // Where there are several devices they are timed at once, and the best beside the default.
    for (const Trial* trial : finalists)
        bench_.expect(final_request(*trial, each_s));
    if (default_ != nullptr && default_ != incumbent_ && default_->measured() && !default_->earlier)
        bench_.expect(request_beside(*default_));
    for (Trial* trial : finalists) {
        if (cancelled() || incumbent_ == nullptr) return;
        if (trial != incumbent_ && trial->measured()) measure_finalist(*trial, each_s);
    }
}

/// Two schedules in pairs, whichever is the slower one.
MeasureRequest SearchSession::request_of_pair(const Trial& one, const Trial& other, double budget_s) {
    return {.candidate = one.digest,
            .incumbent = other.digest,
            .budget_s = budget_s,
            .min_runs = 8,
            .max_runs = 60,
            .limit_s = 2 * budget_s,
            .give_up_ratio = 1e9};
}

/// The best one and another that ran before it.
MeasureRequest SearchSession::request_beside(const Trial& other) const {
    return request_of_pair(*incumbent_, other, std::clamp(job_.budget_s * kFinalShare / 2, 0.3, 2.0));
}

void SearchSession::compare_with_default() {
    while (incumbent_ != nullptr && default_ != nullptr && default_->measured() && !default_->earlier) {
        if (incumbent_ == default_) {
            to_default_ = PairedRatio{1, Interval{1, 1}, default_->runs};
            return;
        }
        if (cancelled()) return;
        const OrOutcome<PairedTimes> times = bench_.measure(request_beside(*default_));
        if (times.value) {
            to_default_ = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
            incumbent_->median_ns = median(times.value->candidate_ns);
            default_->median_ns = median(times.value->incumbent_ns);
            if (to_default_->ratio >= 1) { // what looked faster was lucky
                make_incumbent(*default_);
                to_default_ = PairedRatio{1, Interval{1, 1}, default_->runs};
            }
            return;
        }
        if (cancelled()) return;
        // Whichever failed now is no longer right; when it is the best one, the next best is compared.
        if (times.outcome.of_incumbent) {
            default_->outcome = times.outcome;
            return;
        }
        drop_incumbent(times.outcome);
    }
}

/// For people: at most all of it. Times differ by some percent from one moment to the next, and a limit that was
/// exceeded by more is none.
LimitUse SearchSession::limit_of_best() const {
    LimitUse use = use_of_limit(incumbent_->median_ns);
    if (use.share > (machine_.is_device() ? kMostBeyondCopies : kBeyondShare)) return {};
    use.share = std::min(use.share, 1.0);
    return use;
}

/// What calls run now stays where nothing is faster, timed in turns.
void SearchSession::compare_with_present() {
    if (present_ == nullptr || incumbent_ == nullptr || !present_->measured() || present_->earlier) return;
    if (incumbent_ == present_) {
        present_fate_ = "kept";
        return;
    }
    if (cancelled()) return;
    const OrOutcome<PairedTimes> times = bench_.measure(request_beside(*present_));
    if (!times.value) {
        // The best one was right until now, and what runs stays: it did not lose.
        if (times.outcome.of_incumbent && !times.outcome.killed) present_fate_ = "failed";
        return;
    }
    const PairedRatio ratio = paired_ratio(times.value->candidate_ns, times.value->incumbent_ns);
    present_fate_ = ratio.ratio < 1 ? "beaten" : "kept";
    if (ratio.ratio < 1) return;
    const std::optional<PairedRatio> to_default = to_default_;
    present_->median_ns = median(times.value->incumbent_ns);
    make_incumbent(*present_);
    if (to_default) to_default_ = PairedRatio{to_default->ratio / ratio.ratio, std::nullopt, ratio.pairs};
}

StoredRecord SearchSession::record(const std::string& reason) const {
    StoredRecord record;
    record.workload = job_.workload_key;
    record.digest = incumbent_->digest;
    record.schedule = incumbent_->text;
    record.median_ns = incumbent_->median_ns;
    record.reason = reason;
    record.trials = new_trials_ + static_cast<int>(earlier_.size());
    if (default_ != nullptr && default_->measured() && default_->cost > 0) {
        record.default_ns = default_->median_ns;
        record.ratio = to_default_ ? to_default_->ratio : incumbent_->cost / default_->cost;
        if (to_default_ && to_default_->interval) {
            record.ratio_low = to_default_->interval->low;
            record.ratio_high = to_default_->interval->high;
        }
    }
    if (incumbent_->median_ns > 0) {
        record.gbps = data_bytes() / incumbent_->median_ns;
        record.limit_share = limit_of_best().share;
    }
    return record;
}

StoredTrial SearchSession::stored(const Trial& trial, const std::string& point) const {
    return {.workload = job_.workload_key,
            .digest = trial.digest,
            .schedule = trial.text,
            .outcome = trial.outcome,
            .median_ns = trial.measured() ? trial.median_ns : 0,
            .runs = trial.runs,
            .origin = trial.origin,
            .point = point};
}

TuneResult SearchSession::result() {
    TuneResult result;
    result.reason = reason_;
    result.cancelled = cancelled();
    result.trials = new_trials_;
    result.known = static_cast<int>(earlier_.size());
    result.outcomes = outcomes_;
    result.notes = notes_;
    result.fixed = fixed_;
    result.default_failure = default_failure_;
    result.present = present_fate_;
    if (incumbent_ != nullptr) {
        const StoredRecord best = record(reason_);
        result.found = true;
        result.schedule = best.schedule;
        result.digest = best.digest;
        result.median_ns = best.median_ns;
        result.default_ns = best.default_ns;
        result.gbps = best.gbps;
        result.limit = limit_of_best();
        result.to_default = to_default_.value_or(PairedRatio{});
        if (!to_default_ && best.ratio > 0) result.to_default.ratio = best.ratio;
    }
    result.elapsed_s = elapsed_s();
    json event = to_json(result);
    event["event"] = "finished";
    emit(std::move(event));
    return result;
}

void to_json(json& to, const PairedRatio& ratio) {
    to = {{"ratio", ratio.ratio}, {"pairs", ratio.pairs}, {"low", nullptr}, {"high", nullptr}};
    if (!ratio.interval) return;
    to["low"] = ratio.interval->low;
    to["high"] = ratio.interval->high;
}

void to_json(json& to, const LimitUse& limit) {
    if (limit.roof == Roof::none) return;
    to = {{"roof", roof_name(limit.roof)},
          {"share", limit.share},
          {"reached", limit.reached},
          {"unit", limit.roof == Roof::memory ? "GB/s" : "GFLOP/s"}};
}

void to_json(json& to, const FixedResult& fixed) {
    to = {{"outcome", outcome_name(fixed.outcome.kind)},
          {"text", fixed.outcome.text},
          {"median_ns", fixed.median_ns},
          {"best_ns", fixed.best_ns},
          {"to_best", fixed.to_best}};
}

TW_FIELDS(TuneResult, found, schedule, digest, median_ns, default_ns, to_default, gbps, limit, reason, cancelled,
          trials, known, outcomes, elapsed_s, notes, fixed, default_failure, present);

json to_json(const TuneResult& result) {
    return result;
}

} // namespace tilewright::autotune
