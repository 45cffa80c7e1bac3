// tests/autotune/recorded_workbench.h: a workbench without a device: times come from a table or a function, failures
// are chosen.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "autotune/workbench.h"

namespace tilewright::autotune {

/// What a recorded schedule does when it is built, checked and timed.
struct RecordedCandidate {
    Outcome outcome; ///< illegal and build_* appear in build(), wrong_answer and run_* in verify()
    double median_ns = 0;
    double build_s = 0.1;
    /// It is right and fast at first, and crashes after so many timings. 0: never.
    int crashes_after = 0;
};

class RecordedWorkbench : public Workbench {
  public:
    using Landscape = std::function<RecordedCandidate(const dsl::Schedule&)>;

    RecordedWorkbench(dsl::AlgorithmInfo info, Landscape landscape, std::uint64_t seed = 1, double noise = 0.02);

    std::vector<VariantOptions> variants() override { return variants_; }
    dsl::AlgorithmInfo describe(const std::map<std::string, std::string>& variant) override;
    OrOutcome<dsl::Schedule> autoschedule(const std::string& name,
                                          const std::map<std::string, std::string>& variant) override;
    OrOutcome<Built> build(const dsl::Schedule& schedule) override;
    std::optional<Outcome> verify(const Built& built) override;
    OrOutcome<PairedTimes> measure(const MeasureRequest& request) override;

    void set_variants(std::vector<VariantOptions> variants) { variants_ = std::move(variants); }
    void set_autoschedule(const std::string& name, dsl::Schedule schedule) {
        autoschedules_[name] = std::move(schedule);
    }
    /// Called in each step; may set a cancel flag or damage the store.
    void set_hook(std::function<void()> hook) { hook_ = std::move(hook); }

    /// From now on a schedule takes so many times its recorded time.
    void set_slowdown(std::function<double(const std::string& id)> slowdown) { slowdown_ = std::move(slowdown); }

    /// The simulated clock: seconds that builds and runs have taken.
    double now_s() const { return now_s_; }
    int builds() const { return builds_; }
    const std::set<std::string>& built_ids() const { return built_ids_; }

  private:
    double sample_ns(const std::string& id, double median_ns);

    dsl::AlgorithmInfo info_;
    Landscape landscape_;
    std::mt19937_64 rng_;
    double noise_;
    std::vector<VariantOptions> variants_;
    std::map<std::string, dsl::Schedule> autoschedules_;
    std::map<std::string, RecordedCandidate> built_;
    std::map<std::string, int> timings_;
    std::set<std::string> built_ids_;
    std::function<void()> hook_;
    std::function<double(const std::string&)> slowdown_;
    double now_s_ = 0;
    int builds_ = 0;
};

} // namespace tilewright::autotune
