// autotune/search_session.h: one run of tune(): its state, and the steps that tune.cpp puts in order. Internal to
// autotune.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autotune/search/strategy.h"
#include "autotune/trial_log.h"
#include "autotune/tune.h"

namespace tilewright::autotune {

inline constexpr double kStartsShare = 0.25; ///< of the budget, for starts
inline constexpr double kFinalShare = 0.08;  ///< of the budget, kept for timing the finalists
inline constexpr double kMostFinalS = 5;
/// Runs of one candidate beyond the first few; what they cost where calls are long.
inline constexpr double kMoreRunsS = 1, kMoreLongRunsS = 4;
inline constexpr double kLimitShare = 0.95; ///< of the roofline: nothing is left to be found
inline constexpr double kBeyondShare = 1.1; ///< more than that no measurement explains
inline constexpr double kMostBeyondCopies =
    1.7;                                ///< what kernels reach of a device's memory, beside its driver's copies
inline constexpr int kMostRenewals = 3; ///< of the limits, which take a second each
inline constexpr int kTrialsWithoutGain = 250;
inline constexpr int kKnownInARow = 5000; ///< proposals that were all tried before: the space is used up
inline constexpr std::size_t kFinalists = 4;
inline constexpr double kFinalistRatio = 1.05;
inline constexpr const char* kAutoschedulers[] = {"Adams2019", "Mullapudi2016", "Li2018"};

using Variant = std::map<std::string, std::string>;

struct Trial {
    std::string digest;
    std::string text;
    dsl::Schedule schedule;
    std::string origin;
    Outcome outcome;
    double median_ns = 0;
    double cost = 0; ///< ns in the session's frame: paired ratios chained down from the first incumbent
    int runs = 0;
    double build_s = 0;
    double earlier_median_ns = 0; ///< of an earlier session, also where it was measured again
    bool earlier = false;         ///< of an earlier session: not built in this one
    bool measured() const { return outcome.kind == OutcomeKind::measured; }
};

class SearchSession {
  public:
    SearchSession(const Job& job, const TuneEnvironment& environment)
        : job_(job), env_(environment), bench_(*environment.workbench), machine_(environment.machine),
          log_(
              environment.store,
              [this](const std::string& text) {
                  emit({{"event", "warning"}, {"text", text}});
              },
              [this] { return now_s(); }) {
        start_s_ = environment.start_s.value_or(now_s());
    }

    TuneResult run();

  private:
    // --- time, events
    double now_s() const {
        if (env_.clock_s) return env_.clock_s();
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    double elapsed_s() const { return now_s() - start_s_; }
    /// Of the budget. It is for searching: waiting for the store does not count.
    double spent_s() const { return elapsed_s() - log_.waited_s(); }
    double left_s() const { return job_.budget_s - spent_s(); }
    /// For timing the finalists and the default.
    double finals_s() const { return std::min(kMostFinalS, job_.budget_s * kFinalShare); }
    /// Left for candidates: without the finals, and what the caller does then.
    double left_for_search_s() const {
        const double again_s = job_.reserved_s > 0 && incumbent_ != nullptr ? incumbent_->build_s : 0;
        return left_s() - finals_s() - job_.reserved_s - again_s;
    }
    bool cancelled() const { return env_.cancel != nullptr && env_.cancel->load(); }
    void emit(nlohmann::json event) const {
        if (!env_.observer) return;
        event["elapsed_s"] = elapsed_s();
        event["left_s"] = std::max(0.0, left_s());
        env_.observer(event);
    }
    void phase(const char* name) { emit({{"event", "phase"}, {"phase", name}}); }

    // --- steps
    void open_spaces();
    void refuse_empty_spaces();
    void leave_out_spaces(const std::function<std::string(const SearchSpace&)>& why);
    void add_space(const dsl::Schedule& text, const Variant& variant);
    dsl::Schedule default_of(const Variant& variant);
    void try_start(const dsl::Schedule& schedule, const std::string& origin);
    bool starts_over();
    MeasureRequest final_request(const Trial& trial, double budget_s) const;
    void measure_finalist(Trial& trial, double budget_s);
    static bool wins(const PairedTimes& times, double confidence = 0.99);
    static MeasureRequest request_of_pair(const Trial& one, const Trial& other, double budget_s);
    MeasureRequest request_beside(const Trial& other) const;
    Trial& taken_beside(const PairedTimes& times);
    OrOutcome<PairedTimes> measure(const MeasureRequest& request);
    void read_known();
    void run_starts();
    void run_strategy();
    void expect(const dsl::Schedule& schedule);
    std::optional<Proposal> next_proposal(Strategy& strategy, std::deque<Proposal>& ahead);
    void run_finals();
    void run_fixed();
    void compare_with_default();
    void compare_with_present();
    void try_stored_best();
    void try_present();
    void say_default_failed(const Trial* trial);
    void keep(const Trial& trial, const std::string& point, bool is_best);
    void store_best(const std::string& reason);
    void store_limits();
    /// What is stored stays until its schedule has had its turn: until then a slower one must not take its place.
    bool may_record() const { return !stored_best_ || stored_best_judged_; }
    TuneResult result();

    const dsl::AlgorithmInfo* try_describe(const Variant& variant);
    dsl::Schedule for_this_target(dsl::Schedule schedule) const;
    Trial* attempt(const dsl::Schedule& schedule, const std::string& origin, const std::string& point,
                   bool again = false);
    Outcome build_verify_measure(Trial& trial);
    void make_incumbent(Trial& trial);
    void drop_incumbent(const Outcome& outcome);
    bool near_limit();
    LimitUse use_of_limit(double ns) const;
    LimitUse limit_of_best() const;
    bool measure_beside_limit();
    void raise_limit_of_device();
    void observe_known(Strategy& strategy);
    Trial* try_known(const dsl::Schedule& schedule);
    std::string point_text(const Proposal& proposal) const;
    std::optional<Proposal> try_read_point(const std::string& text) const;
    StoredRecord record(const std::string& reason) const;
    StoredTrial stored(const Trial& trial, const std::string& point) const;
    std::string stop_reason();
    double data_bytes() const { return job_.read_bytes() + job_.written_bytes(); }

    const Job& job_;
    const TuneEnvironment& env_;
    Workbench& bench_;
    Machine machine_;
    TrialLog log_;
    double start_s_ = 0;

    std::vector<Variant> variants_; ///< the default first
    std::map<Variant, std::optional<dsl::AlgorithmInfo>> infos_;
    std::vector<SearchSpace> spaces_;
    std::map<Variant, std::string> wrong_variants_; ///< whose default schedule does not answer as NumPy
    std::map<std::string, Trial> trials_;           ///< by digest; a map keeps its elements in place
    std::vector<StoredTrial> earlier_;
    std::optional<StoredRecord> stored_best_;
    bool stored_best_judged_ = false; ///< measured again, or it failed, in this session
    const Trial* stored_best_trial_ = nullptr;
    Trial* incumbent_ = nullptr;
    static constexpr double kNoBuild = 1e30;
    double shortest_build_s_ = kNoBuild; ///< of this session
    Trial* default_ = nullptr;
    Trial* present_ = nullptr; ///< of job.present_schedule
    std::string present_fate_;
    std::string default_failure_;
    std::string default_digest_;
    std::optional<PairedRatio> to_default_;
    int roofline_renewals_ = 0;
    const Trial* measured_beside_limit_ = nullptr; ///< the best one whose share is no guess
    bool beyond_limits_ = false; ///< the call moves or computes less than is known of it, so no share is claimed
    int new_trials_ = 0;
    int last_gain_ = 0;
    std::map<std::string, int> outcomes_;
    std::vector<std::string> notes_;
    std::string reason_;
    std::optional<FixedResult> fixed_;
};

/// "norm = lanes1, argmin = serial", for people.
std::string words_of(const Variant& variant);
/// Variant choices of a schedule, those that it leaves out filled from `defaults`.
Variant variant_of(const dsl::Schedule& schedule, const Variant& defaults);
/// Which combinations of structural choices get separate spaces: all where they are at most `most`; otherwise the
/// default, every single change of it, then pairs of changes, up to `most`. The default comes first.
std::vector<Variant> variant_combinations(const std::vector<VariantOptions>& variants, std::size_t most = 12);

} // namespace tilewright::autotune
