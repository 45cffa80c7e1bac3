// autotune/job.cpp: reads and writes the JSON of a tuning job.
#include "autotune/job.h"

#include <cmath>
#include <limits>

#include "autotune/fields_json.h"
#include "dsl/base/dtypes.h"
#include "dsl/base/error.h"
#include "dsl/base/fields.h"

namespace tilewright::autotune {

TW_FIELDS(Flops, float32, float64, float32_products, float64_products);
TW_FIELDS(JobTolerance, rtol, atol, index_mismatch_fraction, float_mismatch_fraction);
/// All but the data sets.
TW_SOME_FIELDS(Job, program, function, isa, layouts, sizes, contract, threads, l2, devices, budget_s, reserved_s,
               max_trials, seed, strategy, db, workload_key, family_key, summary, space, starts, fixed_schedule,
               present_schedule, worker, folder, blas, flops, kernels_read_bytes, kernels_write_bytes, tolerance,
               build_limit_s, run_limit_s, memory_limit_bytes)

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

/// What the field has, where it is there and not null.
template <class Value> void read_field(const json& object, const char* name, const std::string& where, Value& value) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if constexpr (dsl::HasFields<Value>)
        dsl::visit_fields(value, [&](const char* inner, auto& field) { read_field(*found, inner, name, field); });
    else if constexpr (std::is_same_v<Value, std::optional<std::string>>)
        value = get<std::string>(object, name, where);
    else
        value = get<Value>(object, name, where);
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
    read_field(object, "offset", where, argument.offset_bytes);
    read_field(object, "written", where, argument.is_written);
    read_field(object, "after", where, argument.after);
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

JobStageCall read_stage_call(const json& object, const std::string& where) {
    JobStageCall call{get<std::string>(object, "stage", where), {}};
    for (const json& one : field(object, "arrays", where)) {
        const std::string there = where + ".arrays[" + std::to_string(call.arrays.size()) + "]";
        call.arrays.push_back({get<std::string>(one, "dtype", there),
                               get<std::vector<std::int64_t>>(one, "shape", there),
                               get<std::int64_t>(one, "offset", there)});
        item_bytes(call.arrays.back().dtype);
        if (call.arrays.back().offset_bytes < 0) fail(there, "it begins before its file");
    }
    if (call.arrays.empty()) fail(where, "a stage without a result");
    return call;
}

json write_stage_call(const JobStageCall& call) {
    json arrays = json::array();
    for (const JobStageArray& one : call.arrays)
        arrays.push_back({{"dtype", one.dtype}, {"shape", one.shape}, {"offset", one.offset_bytes}});
    return {{"stage", call.stage}, {"arrays", std::move(arrays)}};
}

JobDataSet read_data_set(const json& object, const std::string& where) {
    JobDataSet set;
    set.kind = "recorded";
    read_field(object, "kind", where, set.kind);
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
    read_field(object, "stage_file", where, set.stage_file);
    if (const auto calls = object.find("stage_calls"); calls != object.end() && calls->is_array())
        for (const json& one : *calls)
            set.stage_calls.push_back(
                read_stage_call(one, where + ".stage_calls[" + std::to_string(set.stage_calls.size()) + "]"));
    return set;
}

double count_of(const std::vector<std::int64_t>& shape) {
    double count = 1;
    for (std::int64_t extent : shape)
        count *= static_cast<double>(extent);
    return count;
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

double Job::stage_bytes() const {
    double bytes = 0;
    for (const JobDataSet& set : datasets)
        for (const JobStageCall& call : set.stage_calls)
            for (const JobStageArray& one : call.arrays)
                bytes += count_of(one.shape) * static_cast<double>(item_bytes(one.dtype));
    return bytes;
}

Job read_job(const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (object.is_discarded() || !object.is_object()) fail("text", "not a JSON object");
    for (const char* needed : {"program", "function"})
        get<std::string>(object, needed, "job");
    Job job;
    dsl::visit_fields(job, [&](const char* name, auto& value) { read_field(object, name, "job", value); });
    if (job.l2 != "warm" && job.l2 != "flushed") fail("l2", "neither warm nor flushed");
    if (const auto sets = object.find("datasets"); sets != object.end() && sets->is_array())
        for (const json& one : *sets)
            job.datasets.push_back(read_data_set(one, "datasets[" + std::to_string(job.datasets.size()) + "]"));
    return job;
}

std::string print_job(const Job& job) {
    json object = job;
    object["datasets"] = json::array();
    for (const JobDataSet& set : job.datasets) {
        json one = {{"kind", set.kind}, {"arguments", json::array()}, {"expected", json::array()}};
        for (const JobArgument& argument : set.arguments)
            one["arguments"].push_back(write_argument(argument));
        for (const JobExpected& result : set.expected)
            one["expected"].push_back({{"dtype", result.dtype}, {"shape", result.shape}, {"file", result.file}});
        if (!set.stage_calls.empty()) {
            one["stage_file"] = set.stage_file;
            for (const JobStageCall& call : set.stage_calls)
                one["stage_calls"].push_back(write_stage_call(call));
        }
        object["datasets"].push_back(std::move(one));
    }
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace tilewright::autotune
