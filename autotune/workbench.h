// autotune/workbench.h: where candidates are built, checked and timed. The search knows this interface only;
// the real one drives tilewright-worker processes, tests use recorded measurements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autotune/outcome.h"
#include "dsl/base/fields.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// A candidate that was built: an opaque handle of the workbench.
struct Built {
    std::string id; ///< schedule digest
    double build_s = 0;
};

/// One structural choice of the translation: its name and options, the default first.
struct VariantOptions {
    std::string name;
    std::vector<std::string> options;
};

/// Times of one run each, interleaved: candidate_ns[i] and incumbent_ns[i] were taken back to back.
struct PairedTimes {
    std::vector<double> candidate_ns;
    std::vector<double> incumbent_ns; ///< empty when there was no incumbent
    /// The incumbent that they were taken with, where it is an earlier one than was asked for: beside that one already
    /// the candidate was no faster.
    std::string beside = {};
};

struct MeasureRequest {
    std::string candidate; ///< Built::id
    std::string incumbent; ///< Built::id or empty
    double budget_s = 1.0; ///< stop early when it is used up
    int min_runs = 5;
    int max_runs = 100;
    /// Of calls so long that min_runs would take more than this there are fewer, one at least. 0: no limit.
    double limit_s = 0;
    /// Stop as soon as the candidate is this much slower than the incumbent on each of min_runs runs; a first run that
    /// is three times slower is enough.
    double give_up_ratio = 1.5;

    bool operator==(const MeasureRequest&) const = default;
};
TW_FIELDS(MeasureRequest, candidate, incumbent, budget_s, min_runs, max_runs, limit_s, give_up_ratio);

/// The measurement that every candidate begins with.
inline MeasureRequest first_request(const std::string& candidate, const std::string& incumbent) {
    return {.candidate = candidate,
            .incumbent = incumbent,
            .budget_s = 0.25,
            .min_runs = incumbent.empty() ? 8 : 3,
            .max_runs = 20,
            .limit_s = 1,
            .give_up_ratio = 1.15};
}

/// Either a value or what became of the candidate instead.
template <class T> struct OrOutcome {
    OrOutcome() = default;
    OrOutcome(T given) : value(std::move(given)) {}
    OrOutcome(Outcome instead) : outcome(std::move(instead)) {}

    std::optional<T> value;
    Outcome outcome; ///< meaningful when value is empty
};

class Workbench {
  public:
    virtual ~Workbench() = default;
    /// The open choices at the sizes of the workload.
    virtual std::vector<VariantOptions> variants() = 0;
    /// What the translation under these variants looks like: for spaces, defaults and check().
    virtual dsl::AlgorithmInfo describe(const std::map<std::string, std::string>& variant) = 0;
    /// A schedule of one of Halide's autoschedulers in our language, or why there is none.
    virtual OrOutcome<dsl::Schedule> autoschedule(const std::string& name,
                                                  const std::map<std::string, std::string>& variant) = 0;
    virtual OrOutcome<Built> build(const dsl::Schedule& schedule) = 0;
    /// How many schedules can be built while others are measured; 0 where measuring wants the machine for itself.
    virtual int builds_ahead() const { return 0; }
    /// This schedule will be asked for: it may be built from now on.
    virtual void expect(const dsl::Schedule&) {}
    /// This measurement will be asked for: it may be made from now on.
    virtual void expect(const MeasureRequest&) {}
    /// Runs on every data set of the workload and compares: with the default schedule of the same variant bit by bit,
    /// and with NumPy's recorded answers under the contract. nullopt when right.
    virtual std::optional<Outcome> verify(const Built& built) = 0;
    virtual OrOutcome<PairedTimes> measure(const MeasureRequest& request) = 0;
};

} // namespace tilewright::autotune
