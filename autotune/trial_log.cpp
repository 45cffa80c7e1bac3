// autotune/trial_log.cpp: the first failure of the store is said once; the search then goes on without it.
#include "autotune/trial_log.h"

#include <utility>

#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

// A write takes a millisecond; what takes this long was waiting.
constexpr double kWaitS = 0.2;

} // namespace

template <class Body> void TrialLog::attempt(Body&& body) {
    if (store_ == nullptr) return;
    const double start_s = clock_s_();
    std::string failure;
    try {
        body();
    } catch (const StoreError& error) {
        store_ = nullptr;
        failure = error.what();
    }
    const double took_s = clock_s_() - start_s;
    if (took_s > kWaitS) waited_s_ += took_s;
    if (!failure.empty() && warn_) warn_(failure + " The search goes on; nothing further is stored.");
}

template <class Body> void TrialLog::write(Body&& body) {
    // What may only be read is read; begin() has given its warning.
    if (store_ == nullptr || !store_->read_only()) attempt(std::forward<Body>(body));
}

void TrialLog::begin(const StoredWorkload& workload) {
    if (store_ != nullptr && warn_)
        for (const std::string& warning : store_->warnings())
            warn_(warning);
    write([&] { store_->put_workload(workload); });
}
void TrialLog::add(const StoredTrial& trial) {
    write([&] { store_->put_trial(trial); });
}
void TrialLog::add(const StoredTrial& trial, const StoredRecord& record) {
    write([&] { store_->put_trial_and_record(trial, record); });
}
void TrialLog::put(const StoredRecord& record) {
    write([&] { store_->put_record(record); });
}
void TrialLog::put_machine(const Machine& machine) {
    write([&] { store_->put_machine(machine); });
}
std::vector<StoredTrial> TrialLog::trials(const std::string& workload) {
    std::vector<StoredTrial> trials;
    attempt([&] { trials = store_->trials(workload); });
    return trials;
}
std::optional<StoredRecord> TrialLog::best(const std::string& workload) {
    std::optional<StoredRecord> record;
    attempt([&] { record = store_->best(workload); });
    return record;
}
std::vector<StoredRecord> TrialLog::family(const std::string& family, const std::string& machine,
                                           const std::string& except) {
    std::vector<StoredRecord> records;
    attempt([&] { records = store_->family(family, machine, except); });
    return records;
}

} // namespace tilewright::autotune
