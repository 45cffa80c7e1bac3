// autotune/store/store.h: what was learnt, in one SQLite file. Only data goes in: no pickles, no code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/machine.h"
#include "autotune/outcome.h"
#include "dsl/base/fields.h"

namespace tilewright::autotune {

// The fields are the columns of the tables `workloads`, `trials` and `records`, by the same names; an outcome is the
// two columns `outcome` and `outcome_text`.

struct StoredWorkload {
    std::string key;    ///< exact match: the same program, dtypes, layouts, sizes, contract, threads, target
    std::string family; ///< the same program and dtypes at any size: a start for the search
    std::string function;
    std::string summary;        ///< for people
    std::string machine;        ///< fingerprint
    std::int64_t created_s = 0; ///< seconds since 1970
};
TW_FIELDS(StoredWorkload, key, family, function, summary, machine, created_s);

struct StoredTrial {
    std::string workload;
    std::string digest;
    std::string schedule;
    Outcome outcome;
    double median_ns = 0; ///< 0 unless measured
    int runs = 0;
    std::string origin; ///< default, random, neighbour, Adams2019, file, ...
    std::string point;  ///< JSON of the strategy's proposal, empty for starts
    std::int64_t created_s = 0;
};
TW_FIELDS(StoredTrial, workload, digest, schedule, outcome, median_ns, runs, origin, point, created_s);

/// The best schedule of a workload and why it is best.
struct StoredRecord {
    std::string workload;
    std::string digest;
    std::string schedule;
    double median_ns = 0;
    double default_ns = 0; ///< of the default schedule, in the same session
    double ratio = 0;      ///< best / default, paired
    double ratio_low = 0;  ///< its interval; 0 and 0: too few pairs
    double ratio_high = 0;
    double gbps = 0;
    double limit_share = 0; ///< of this machine's measured limit, 0 where it has none
    std::string reason;     ///< why the search stopped; "running" until it did
    int trials = 0;
    std::int64_t created_s = 0;
};
TW_FIELDS(StoredRecord, workload, digest, schedule, median_ns, default_ns, ratio, ratio_low, ratio_high, gbps,
          limit_share, reason, trials, created_s);

/// A line of `autotune db list`.
struct StoredSummary {
    StoredWorkload workload;
    std::optional<StoredRecord> record;
    int trials = 0;
    std::string machine; ///< for people; empty where nothing but the fingerprint is known
};

struct PruneOptions {
    std::optional<double> older_than_days; ///< workloads whose last trial is older
    std::optional<std::string> foreign_to; ///< workloads of machines other than this fingerprint
    std::optional<int> keep_trials;        ///< of each workload, the newest so many (records stay)
};

/// An open store. Every method throws StoreError with the path and what to do; the search turns that into one warning.
/// Methods may be called from any thread and after a fork (the file is opened again in the child).
class Store {
  public:
    /// Opens or creates `path` (its folders too) and brings its schema up to date. Throws StoreError when it is locked,
    /// damaged, not a store, or from a newer version. A file that may only be read is opened for reading.
    explicit Store(const std::string& path, int busy_timeout_ms = 5000);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const std::string& path() const;
    bool read_only() const;
    /// Things a person should know that are no errors: a network file system, a store that may only be read.
    std::vector<std::string> warnings() const;

    void put_workload(const StoredWorkload& workload);
    /// And the record that it made, in one transaction.
    void put_trial(const StoredTrial& trial, const std::optional<StoredRecord>& record = std::nullopt);
    void put_record(const StoredRecord& record);
    void put_machine(const Machine& machine);

    std::optional<StoredRecord> best(const std::string& workload) const;
    /// Records of the family on this machine, the newest first, without those of `except_workload`.
    std::vector<StoredRecord> family(const std::string& family, const std::string& machine,
                                     const std::string& except_workload) const;
    std::vector<StoredTrial> trials(const std::string& workload) const;
    std::optional<Roofline> roofline(const std::string& fingerprint) const;

    std::vector<StoredSummary> list() const;
    /// Problems found, one a line; empty when sound.
    std::vector<std::string> check() const;
    /// Everything as JSON text.
    std::string export_json() const;
    /// Copies it to a new store. Refuses to overwrite.
    void export_store(const std::string& path) const;
    /// Takes in another store or an exported JSON file; the faster record of a workload stays. Returns new trials.
    int merge(const std::string& path);
    /// Returns how many workloads and trials went.
    struct Pruned {
        int workloads = 0;
        int trials = 0;
    };
    Pruned prune(const PruneOptions& options);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The layout that this release writes (PRAGMA user_version).
int store_version();
/// A roofline as the text that the store keeps. nullopt for text that is no roofline: it is measured again then.
std::optional<Roofline> try_read_roofline(const std::string& text);

} // namespace tilewright::autotune
