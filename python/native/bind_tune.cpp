// python/native/bind_tune.cpp: tune(), cancel() and machine() for Python.
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "autotune/search/strategy.h"
#include "dsl/base/error.h"
#include "python/native/bindings.h"
#include "python/native/json_objects.h"
#include "python/native/tune_job.h"

namespace py = pybind11;
using namespace py::literals;

namespace tilewright::native {
namespace {

/// Flags of the searches that run now, on whatever threads: cancel() reaches all of them.
std::mutex running_mutex;
std::set<std::atomic<bool>*> running;

class Running {
  public:
    explicit Running(std::atomic<bool>* flag) : flag_(flag) {
        const std::lock_guard<std::mutex> lock(running_mutex);
        running.insert(flag_);
    }
    ~Running() {
        const std::lock_guard<std::mutex> lock(running_mutex);
        running.erase(flag_);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    std::atomic<bool>* flag_;
};

py::object tune(const std::string& job, const py::object& on_event) {
    std::atomic<bool> cancelled{false};
    const Running entry(&cancelled);
    std::optional<py::error_already_set> raised;
    autotune::Observer observer;
    if (!on_event.is_none())
        observer = [&](const nlohmann::json& event) {
            const py::gil_scoped_acquire acquire;
            if (raised) return;
            try {
                on_event(to_python(event));
            } catch (py::error_already_set& error) {
                // An exception of the callback ends the search; it is raised when what was learnt is safe.
                raised.emplace(std::move(error));
                cancelled = true;
            }
        };
    nlohmann::json result;
    {
        const py::gil_scoped_release release;
        try {
            result = tune_job(job, observer, &cancelled);
        } catch (const std::bad_alloc&) {
            throw DeviceError("the search: there is no memory left in this process.",
                              "Free some, or tune the function with smaller arrays.");
        }
    }
    if (raised) {
        raised->restore();
        throw py::error_already_set();
    }
    return to_python(result);
}

void cancel() {
    const std::lock_guard<std::mutex> lock(running_mutex);
    for (std::atomic<bool>* flag : running)
        *flag = true;
}

py::object machine(const std::optional<std::string>& db, const std::string& isa) {
    nlohmann::json object;
    {
        const py::gil_scoped_release release;
        object = machine_to_json(machine_with_limits(db, isa));
    }
    return to_python(object);
}

} // namespace

void bind_tune(py::module_& module) {
    module.def(
        "tune", &tune, "job_json"_a, "on_event"_a = py::none(),
        "Search for the fastest schedule of a job. `on_event` is called with a dict for every event, on this thread.");
    module.def(
        "strategies",
        [] {
            py::dict names;
            for (const autotune::StrategyRow& row : autotune::strategies())
                names[row.name] = row.meaning;
            return names;
        },
        "Each search strategy with its meaning; the first is the default.");
    module.def("cancel", &cancel, "End all searches that run now; each returns its best so far.");
    module.def("machine", &machine, "db"_a = py::none(), "isa"_a = "host",
               "Facts of this machine, or of its CUDA device. With a store's path also its measured limits, kept in "
               "that store.");
}

} // namespace tilewright::native
