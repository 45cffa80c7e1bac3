// python/native/bind_store.cpp: the store for Python: `autotune db` and what jit looks up.
#include <optional>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "autotune/store/store.h"
#include "dsl/base/error.h"
#include "python/native/bindings.h"

namespace py = pybind11;
using namespace py::literals;

namespace tilewright::native {
namespace {

using autotune::Store;

py::dict workload_dict(const autotune::StoredWorkload& workload) {
    py::dict dict;
    dsl::visit_fields(workload, [&](const char* name, const auto& value) { dict[name] = value; });
    return dict;
}

/// What is known of the schedule stands in `evidence` too.
py::object record_dict(const std::optional<autotune::StoredRecord>& record) {
    if (!record) return py::none();
    py::dict dict, evidence;
    dsl::visit_fields(*record, [&](const std::string& name, const auto& value) {
        dict[name.c_str()] = value;
        if (name != "workload" && name != "digest" && name != "schedule") evidence[name.c_str()] = value;
    });
    dict["evidence"] = evidence;
    return dict;
}

autotune::PruneOptions prune_options(const py::dict& given) {
    autotune::PruneOptions options;
    for (const auto& [key, value] : given) {
        const auto name = key.cast<std::string>();
        if (name == "older_than_days")
            options.older_than_days = value.cast<double>();
        else if (name == "foreign_to")
            options.foreign_to = value.cast<std::string>();
        else if (name == "keep_trials")
            options.keep_trials = value.cast<int>();
        else
            throw StoreError("prune: the option " + name + ": there is no such option.",
                             "Use older_than_days, foreign_to or keep_trials.");
    }
    return options;
}

template <class Body> auto without_gil(Body&& body) {
    const py::gil_scoped_release release;
    return body();
}

} // namespace

void bind_store(py::module_& module) {
    py::class_<Store>(module, "Store", "What was learnt, in one SQLite file. Errors are StoreError.")
        .def(py::init([](const std::string& path) {
                 const py::gil_scoped_release release;
                 return std::make_unique<Store>(path);
             }),
             "path"_a)
        .def(
            "list",
            [](const Store& store) {
                const auto rows = without_gil([&] { return store.list(); });
                return list_of(rows, [](const autotune::StoredSummary& summary) {
                    return py::dict("workload"_a = workload_dict(summary.workload),
                                    "record"_a = record_dict(summary.record), "trials"_a = summary.trials,
                                    "machine"_a = summary.machine);
                });
            },
            "A dict for each workload: workload, record (or None), number of trials.")
        .def(
            "best", [](const Store& store, const std::string& key) { return record_dict(store.best(key)); },
            "workload_key"_a, "The record of a workload, or None.")
        .def(
            "family",
            [](const Store& store, const std::string& family, const std::string& machine, const std::string& except) {
                return list_of(store.family(family, machine, except), record_dict);
            },
            "family"_a, "machine"_a, "except_workload"_a,
            "Records of the same function at other sizes on that machine, newest first.")
        .def("check", &Store::check, py::call_guard<py::gil_scoped_release>(),
             "Problems, one a line; empty when sound.")
        .def("export_json", &Store::export_json, py::call_guard<py::gil_scoped_release>())
        .def("export_store", &Store::export_store, "path"_a, py::call_guard<py::gil_scoped_release>())
        .def("merge", &Store::merge, "path"_a, py::call_guard<py::gil_scoped_release>(),
             "Returns the number of new trials.")
        .def(
            "prune",
            [](Store& store, const py::dict& given) {
                const auto options = prune_options(given);
                const auto gone = without_gil([&] { return store.prune(options); });
                return py::dict("workloads"_a = gone.workloads, "trials"_a = gone.trials);
            },
            "options"_a, "Options: older_than_days, foreign_to (a fingerprint), keep_trials.");
}

} // namespace tilewright::native
