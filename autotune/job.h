// autotune/job.h: a tuning job as JSON: the workload, its data and the limits. Python writes it, the search and the
// worker read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "autotune/machine.h"

namespace tilewright::autotune {

/// An array argument in a raw file, or a scalar. The file is mapped read-only, also where the call writes into the
/// array: each run of a candidate gets a copy.
struct JobArgument {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides_bytes;
    std::string file;
    std::int64_t offset_bytes = 0; ///< of the first element (index 0 on each axis) in the file
    bool is_written = false;       ///< the call writes into it
    std::string after;             ///< what NumPy leaves in it, C-contiguous in a file; empty: not known
    bool is_scalar = false;
    std::int64_t integer = 0; ///< value of a scalar of an integer or bool dtype
    double real = 0;          ///< value of a scalar of a float dtype
    double imaginary = 0;
};

/// NumPy's own answer, C-contiguous.
struct JobExpected {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::string file;
};

/// An array that a stage of Python's was given, or gave: C-contiguous in a file of its data set.
struct JobStageArray {
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::int64_t offset_bytes = 0;
};

/// What one call of a stage was given, and last what it gave. The worker has no Python: it plays this back.
struct JobStageCall {
    std::string stage; ///< its text in plans
    std::vector<JobStageArray> arrays;
};

/// One call to check candidates on. The first of a job is the recorded call; it is timed too.
struct JobDataSet {
    std::string kind; ///< recorded, perturbed, special, ...: said in messages
    std::vector<JobArgument> arguments;
    std::vector<JobExpected>
        expected; ///< in the order of the results; empty: only schedules are compared with each other
    std::vector<JobStageCall> stage_calls; ///< in the order of the call under the default schedule
    std::string stage_file;                ///< where their arrays are
};

/// How far a result may be from NumPy's.
struct JobTolerance {
    double rtol = 0;
    double atol = 0;
    double index_mismatch_fraction = 0; ///< of integer and bool elements
    double float_mismatch_fraction = 0; ///< of all others, beyond rtol and atol
};

struct Job {
    std::string program;
    std::string function;
    std::string isa = "host";
    std::map<std::string, std::string> layouts; ///< c, f, any
    std::map<std::string, std::int64_t> sizes;
    std::string contract = "numpy";
    int threads = 0;          ///< 0: all usable cores
    std::string l2 = "warm";  ///< on a device: "warm" as the call before left its second cache, or "flushed"
    std::vector<int> devices; ///< that measure; empty: the first one
    double budget_s = 60;     ///< from the search's start to the end of what the caller does with its result
    double reserved_s = 0;    ///< of it, for the caller, who compiles the best schedule once more; 0: who does not
    int max_trials = 0;       ///< 0: no limit
    std::uint64_t seed = 0;
    std::string strategy = "evolutionary";
    std::string db;           ///< empty: nothing is stored
    std::string workload_key; ///< exact match
    std::string family_key;   ///< program, dtypes and ranks without sizes: records of it are starts
    std::string summary;      ///< for people: "get_labels(X float64[20000000, 2], ...)"
    std::optional<std::string> space;
    std::vector<std::string> starts;
    std::optional<std::string> fixed_schedule;
    std::optional<std::string> present_schedule; ///< what calls run now: nothing slower may take its place
    std::string worker;                          ///< path of tilewright-worker
    std::string folder;                          ///< for the job's file and what builders build; empty: a temporary one
    std::string blas; ///< path of the BLAS that NumPy has loaded, for library stages in the worker; "" for none
    std::vector<JobDataSet> datasets;
    Flops flops; ///< of the recorded call
    /// Of the recorded call, what kernels read and write at least; negative: all arguments, and all results.
    double kernels_read_bytes = -1, kernels_write_bytes = -1;
    JobTolerance tolerance;
    double build_limit_s = 30;
    double run_limit_s = 0;              ///< 0: from the default schedule's time
    std::int64_t memory_limit_bytes = 0; ///< 0: from the data and the machine

    /// Bytes of the recorded call's arguments, and of its results; each counted once.
    double argument_bytes() const;
    double result_bytes() const;
    /// Of what stages of all data sets were given and gave.
    double stage_bytes() const;
    double read_bytes() const { return kernels_read_bytes < 0 ? argument_bytes() : kernels_read_bytes; }
    double written_bytes() const { return kernels_write_bytes < 0 ? result_bytes() : kernels_write_bytes; }
    /// For the limits that a candidate may reach.
    CallWork work() const { return {read_bytes(), written_bytes(), flops, contract}; }
};

std::int64_t item_bytes(const std::string& dtype);

/// Throws InternalError naming the field that is missing or of another type.
Job read_job(const std::string& text);
std::string print_job(const Job& job);

} // namespace tilewright::autotune
