// autotune/trial_log.h: the search's side of the store: everything is written at once, and a failing store costs one
// warning.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/store/store.h"

namespace tilewright::autotune {

class TrialLog {
  public:
    TrialLog(Store* store, std::function<void(const std::string&)> warn, std::function<double()> clock_s)
        : store_(store), warn_(std::move(warn)), clock_s_(std::move(clock_s)) {}

    bool active() const { return store_ != nullptr; }
    /// How long the store has kept the search waiting, in seconds: while another process held it, say.
    double waited_s() const { return waited_s_; }
    void begin(const StoredWorkload& workload);
    void add(const StoredTrial& trial);
    void add(const StoredTrial& trial, const StoredRecord& record);
    void put(const StoredRecord& record);
    std::vector<StoredTrial> trials(const std::string& workload);
    std::optional<StoredRecord> best(const std::string& workload);
    std::vector<StoredRecord> family(const std::string& family, const std::string& machine, const std::string& except);
    void put_machine(const Machine& machine);

  private:
    template <class Body> void attempt(Body&& body);
    template <class Body> void write(Body&& body);
    Store* store_;
    std::function<void(const std::string&)> warn_;
    std::function<double()> clock_s_;
    double waited_s_ = 0;
};

} // namespace tilewright::autotune
