// autotune/trial_log.h: the search's side of the store: everything is written at once, and a failing store costs one
// warning; the search then goes on without it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "autotune/store/store.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {

class TrialLog {
  public:
    TrialLog(Store* store, std::function<void(const std::string&)> warn, std::function<double()> clock_s)
        : store_(store), warn_(std::move(warn)), clock_s_(std::move(clock_s)) {}

    /// How long the store has kept the search waiting, in seconds: while another process held it, say.
    double waited_s() const { return waited_s_; }
    void begin(const StoredWorkload& workload) {
        if (store_ != nullptr && warn_)
            for (const std::string& warning : store_->warnings())
                warn_(warning);
        write([&](Store& store) { store.put_workload(workload); });
    }
    template <class Body> void write(Body&& body) {
        // What may only be read is read; begin() has given its warning.
        if (store_ == nullptr || !store_->read_only()) attempt(body);
    }
    /// What `body` finds in the store; nothing where that fails.
    template <class Body> auto read(Body&& body) {
        decltype(body(*store_)) found{};
        attempt([&](const Store& store) { found = body(store); });
        return found;
    }

  private:
    template <class Body> void attempt(Body&& body) {
        if (store_ == nullptr) return;
        constexpr double kWaitS = 0.2; // a write takes a millisecond; what takes this long was waiting
        const double start_s = clock_s_();
        std::string failure;
        try {
            body(*store_);
        } catch (const StoreError& error) {
            store_ = nullptr;
            failure = error.what();
        }
        const double took_s = clock_s_() - start_s;
        if (took_s > kWaitS) waited_s_ += took_s;
        if (!failure.empty() && warn_) warn_(failure + " The search goes on; nothing further is stored.");
    }

    Store* store_;
    std::function<void(const std::string&)> warn_;
    std::function<double()> clock_s_;
    double waited_s_ = 0;
};

} // namespace tilewright::autotune
