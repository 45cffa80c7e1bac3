// autotune/store/migrations.h: the store's layout as a list of steps. Append only: step k brings version k to k + 1.
#pragma once

#include <vector>

namespace tilewright::autotune {

/// "twtn": tells a store from any other SQLite file (PRAGMA application_id).
inline constexpr int kStoreApplicationId = 0x7477746e;

inline const std::vector<const char*>& store_migrations() {
    static const std::vector<const char*> steps = {
        R"sql(
CREATE TABLE machines (
  fingerprint TEXT PRIMARY KEY, cpu_model TEXT NOT NULL, isa TEXT NOT NULL, cores INTEGER NOT NULL,
  roofline TEXT NOT NULL, created_s INTEGER NOT NULL) STRICT;
CREATE TABLE workloads (
  key TEXT PRIMARY KEY, family TEXT NOT NULL, function TEXT NOT NULL, summary TEXT NOT NULL,
  machine TEXT NOT NULL, created_s INTEGER NOT NULL) STRICT;
CREATE INDEX workloads_of_family ON workloads (family, machine);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY, workload TEXT NOT NULL REFERENCES workloads (key) ON DELETE CASCADE,
  digest TEXT NOT NULL, schedule TEXT NOT NULL, outcome TEXT NOT NULL, outcome_text TEXT NOT NULL,
  median_ns REAL NOT NULL, runs INTEGER NOT NULL, origin TEXT NOT NULL, point TEXT NOT NULL,
  created_s INTEGER NOT NULL, UNIQUE (workload, digest)) STRICT;
CREATE TABLE records (
  workload TEXT PRIMARY KEY REFERENCES workloads (key) ON DELETE CASCADE,
  digest TEXT NOT NULL, schedule TEXT NOT NULL, median_ns REAL NOT NULL, default_ns REAL NOT NULL,
  ratio REAL NOT NULL, ratio_low REAL NOT NULL, ratio_high REAL NOT NULL, gbps REAL NOT NULL,
  limit_share REAL NOT NULL, reason TEXT NOT NULL, trials INTEGER NOT NULL, created_s INTEGER NOT NULL) STRICT;
)sql",
    };
    return steps;
}

} // namespace tilewright::autotune
