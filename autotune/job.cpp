// autotune/job.cpp: reads and writes the JSON of a tuning job.
#include "autotune/job.h"

#include <cmath>
#include <limits>

#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw InternalError("tuning job: " + where + ": " + what + ".");
}

const json& field(const json& object, const char* name, const std::string& where) {
    if (!object.is_object()) fail(where, "not an object");
    const auto found = object.find(name);
    if (found == object.end()) fail(where, std::string("no field ") + name);
    return *found;
}

template <class T> T get(const json& object, const char* name, const std::string& where) {
    try {
        return field(object, name, where).get<T>();
    } catch (const json::exception& error) {
        fail(where + "." + name, error.what());
    }
}

template <class T> T get_or(const json& object, const char* name, const std::string& where, T otherwise) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return otherwise;
    return get<T>(object, name, where);
}

/// JSON has no NaN and infinities: they travel as words.
double read_double(const json& value, const std::string& where) {
    if (value.is_number()) return value.get<double>();
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (value.is_string()) {
        const std::string word = value.get<std::string>();
        if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
        if (word == "inf") return std::numeric_limits<double>::infinity();
        if (word == "-inf") return -std::numeric_limits<double>::infinity();
    }
    fail(where, "not a number: " + value.dump());
}

json write_double(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

JobArgument read_argument(const json& object, const std::string& where) {
    JobArgument argument;
    argument.name = get<std::string>(object, "name", where);
    argument.dtype = get<std::string>(object, "dtype", where);
    if (object.contains("scalar")) {
        argument.is_scalar = true;
        const json& value = object["scalar"];
        if (value.is_array() && value.size() == 2) {
            argument.real = read_double(value[0], where);
            argument.imaginary = read_double(value[1], where);
        } else if (value.is_number_unsigned()) {
            argument.integer = static_cast<std::int64_t>(value.get<std::uint64_t>());
            argument.real = value.get<double>();
        } else if (value.is_number_integer()) {
            argument.integer = value.get<std::int64_t>();
            argument.real = static_cast<double>(argument.integer);
        } else {
            argument.real = read_double(value, where);
            if (value.is_boolean())
                argument.integer = value.get<bool>();
            else if (std::abs(argument.real) < 9e18)
                argument.integer = static_cast<std::int64_t>(argument.real);
        }
        return argument;
    }
    argument.shape = get<std::vector<std::int64_t>>(object, "shape", where);
    argument.strides_bytes = get<std::vector<std::int64_t>>(object, "strides_bytes", where);
    argument.file = get<std::string>(object, "file", where);
    argument.offset_bytes = get_or<std::int64_t>(object, "offset", where, 0);
    argument.is_written = get_or(object, "written", where, false);
    argument.after = get_or<std::string>(object, "after", where, "");
    if (argument.shape.size() != argument.strides_bytes.size())
        fail(where + "." + argument.name, std::to_string(argument.shape.size()) + " extents but " +
                                              std::to_string(argument.strides_bytes.size()) + " strides");
    for (std::int64_t extent : argument.shape)
        if (extent < 0) fail(where + "." + argument.name, "a negative extent");
    item_bytes(argument.dtype);
    return argument;
}

json write_argument(const JobArgument& argument) {
    json object = {{"name", argument.name}, {"dtype", argument.dtype}};
    if (!argument.is_scalar) {
        object["shape"] = argument.shape;
        object["strides_bytes"] = argument.strides_bytes;
        object["file"] = argument.file;
        object["offset"] = argument.offset_bytes;
        if (argument.is_written) object["written"] = true;
        if (!argument.after.empty()) object["after"] = argument.after;
    } else if (argument.dtype.rfind("complex", 0) == 0) {
        object["scalar"] = {write_double(argument.real), write_double(argument.imaginary)};
    } else if (argument.dtype.rfind("float", 0) == 0) {
        object["scalar"] = write_double(argument.real);
    } else {
        object["scalar"] = argument.integer;
    }
    return object;
}

JobDataSet read_data_set(const json& object, const std::string& where) {
    JobDataSet set;
    set.kind = get_or<std::string>(object, "kind", where, "recorded");
    for (const json& argument : field(object, "arguments", where))
        set.arguments.push_back(
            read_argument(argument, where + ".arguments[" + std::to_string(set.arguments.size()) + "]"));
    if (const auto expected = object.find("expected"); expected != object.end() && expected->is_array())
        for (const json& one : *expected) {
            const std::string there = where + ".expected[" + std::to_string(set.expected.size()) + "]";
            set.expected.push_back({get<std::string>(one, "dtype", there),
                                    get<std::vector<std::int64_t>>(one, "shape", there),
                                    get<std::string>(one, "file", there)});
            item_bytes(set.expected.back().dtype);
        }
    return set;
}

double count_of(const std::vector<std::int64_t>& shape) {
    double count = 1;
    for (std::int64_t extent : shape)
        count *= static_cast<double>(extent);
    return count;
}

std::optional<std::string> optional_text(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return std::nullopt;
    return get<std::string>(object, name, "job");
}

} // namespace

std::int64_t item_bytes(const std::string& dtype) {
    const DTypeInfo* const known = find_dtype(dtype);
    if (known == nullptr) throw InternalError("tuning job: dtype " + dtype + ": not known.");
    return known->bytes;
}

double Job::argument_bytes() const {
    double bytes = 0;
    if (datasets.empty()) return bytes;
    for (const JobArgument& argument : datasets.front().arguments) {
        if (argument.is_scalar) continue;
        double count = 1;
        // A broadcast axis (stride 0) is read from the same memory again.
        for (std::size_t axis = 0; axis < argument.shape.size(); ++axis)
            if (argument.strides_bytes[axis] != 0 || argument.shape[axis] == 0)
                count *= static_cast<double>(argument.shape[axis]);
        bytes += count * static_cast<double>(item_bytes(argument.dtype));
    }
    return bytes;
}

double Job::result_bytes() const {
    double bytes = 0;
    if (datasets.empty()) return bytes;
    for (const JobExpected& result : datasets.front().expected)
        bytes += count_of(result.shape) * static_cast<double>(item_bytes(result.dtype));
    return bytes;
}

Job read_job(const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (object.is_discarded() || !object.is_object()) fail("text", "not a JSON object");
    Job job;
    job.program = get<std::string>(object, "program", "job");
    job.function = get<std::string>(object, "function", "job");
    job.isa = get_or<std::string>(object, "isa", "job", job.isa);
    job.layouts = get_or(object, "layouts", "job", job.layouts);
    job.sizes = get_or(object, "sizes", "job", job.sizes);
    job.contract = get_or(object, "contract", "job", job.contract);
    job.threads = get_or(object, "threads", "job", job.threads);
    job.l2 = get_or(object, "l2", "job", job.l2);
    if (job.l2 != "warm" && job.l2 != "flushed") fail("l2", "neither warm nor flushed");
    job.devices = get_or(object, "devices", "job", job.devices);
    job.budget_s = get_or(object, "budget_s", "job", job.budget_s);
    job.reserved_s = get_or(object, "reserved_s", "job", job.reserved_s);
    job.max_trials = get_or(object, "max_trials", "job", job.max_trials);
    job.seed = get_or(object, "seed", "job", job.seed);
    job.strategy = get_or(object, "strategy", "job", job.strategy);
    job.db = get_or(object, "db", "job", job.db);
    job.workload_key = get_or(object, "workload_key", "job", job.workload_key);
    job.family_key = get_or(object, "family_key", "job", job.family_key);
    job.summary = get_or(object, "summary", "job", job.summary);
    job.space = optional_text(object, "space");
    job.starts = get_or(object, "starts", "job", job.starts);
    job.fixed_schedule = optional_text(object, "fixed_schedule");
    job.present_schedule = optional_text(object, "present_schedule");
    job.worker = get_or(object, "worker", "job", job.worker);
    job.folder = get_or(object, "folder", "job", job.folder);
    job.blas = get_or(object, "blas", "job", job.blas);
    if (const auto sets = object.find("datasets"); sets != object.end() && sets->is_array())
        for (const json& one : *sets)
            job.datasets.push_back(read_data_set(one, "datasets[" + std::to_string(job.datasets.size()) + "]"));
    if (const auto found = object.find("flops"); found != object.end() && found->is_object()) {
        job.flops.float32 = get_or(*found, "float32", "flops", 0.0);
        job.flops.float64 = get_or(*found, "float64", "flops", 0.0);
        job.flops.float32_products = get_or(*found, "float32_products", "flops", 0.0);
        job.flops.float64_products = get_or(*found, "float64_products", "flops", 0.0);
    }
    if (const auto found = object.find("tolerance"); found != object.end() && found->is_object()) {
        job.tolerance.rtol = get_or(*found, "rtol", "tolerance", 0.0);
        job.tolerance.atol = get_or(*found, "atol", "tolerance", 0.0);
        job.tolerance.index_mismatch_fraction = get_or(*found, "index_mismatch_fraction", "tolerance", 0.0);
        job.tolerance.float_mismatch_fraction = get_or(*found, "float_mismatch_fraction", "tolerance", 0.0);
    }
    job.build_limit_s = get_or(object, "build_limit_s", "job", job.build_limit_s);
    job.run_limit_s = get_or(object, "run_limit_s", "job", job.run_limit_s);
    job.memory_limit_bytes = get_or(object, "memory_limit_bytes", "job", job.memory_limit_bytes);
    return job;
}

std::string print_job(const Job& job) {
    json object = {{"program", job.program},
                   {"function", job.function},
                   {"isa", job.isa},
                   {"layouts", job.layouts},
                   {"sizes", job.sizes},
                   {"contract", job.contract},
                   {"threads", job.threads},
                   {"l2", job.l2},
                   {"devices", job.devices},
                   {"budget_s", job.budget_s},
                   {"reserved_s", job.reserved_s},
                   {"max_trials", job.max_trials},
                   {"seed", job.seed},
                   {"strategy", job.strategy},
                   {"db", job.db},
                   {"workload_key", job.workload_key},
                   {"family_key", job.family_key},
                   {"summary", job.summary},
                   {"space", job.space ? json(*job.space) : json()},
                   {"starts", job.starts},
                   {"fixed_schedule", job.fixed_schedule ? json(*job.fixed_schedule) : json()},
                   {"present_schedule", job.present_schedule ? json(*job.present_schedule) : json()},
                   {"worker", job.worker},
                   {"folder", job.folder},
                   {"blas", job.blas},
                   {"flops",
                    {{"float32", job.flops.float32},
                     {"float64", job.flops.float64},
                     {"float32_products", job.flops.float32_products},
                     {"float64_products", job.flops.float64_products}}},
                   {"tolerance",
                    {{"rtol", job.tolerance.rtol},
                     {"atol", job.tolerance.atol},
                     {"index_mismatch_fraction", job.tolerance.index_mismatch_fraction},
                     {"float_mismatch_fraction", job.tolerance.float_mismatch_fraction}}},
                   {"build_limit_s", job.build_limit_s},
                   {"run_limit_s", job.run_limit_s},
                   {"memory_limit_bytes", job.memory_limit_bytes},
                   {"datasets", json::array()}};
    for (const JobDataSet& set : job.datasets) {
        json one = {{"kind", set.kind}, {"arguments", json::array()}, {"expected", json::array()}};
        for (const JobArgument& argument : set.arguments)
            one["arguments"].push_back(write_argument(argument));
        for (const JobExpected& result : set.expected)
            one["expected"].push_back({{"dtype", result.dtype}, {"shape", result.shape}, {"file", result.file}});
        object["datasets"].push_back(std::move(one));
    }
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace tilewright::autotune
