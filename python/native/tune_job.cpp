// python/native/tune_job.cpp: puts the parts of a search together.
#include "python/native/tune_job.h"

#include <chrono>
#include <memory>
#include <new>

#include "autotune/measure/process_workbench.h"
#include "autotune/measure/roofline.h"
#include "autotune/space/default_space.h"
#include "autotune/store/store.h"
#include "dsl/base/error.h"
#include "dsl/check/check.h"
#include "dsl/runtime/cuda/out_of_memory.h"

namespace tilewright::native {
namespace {

using nlohmann::json;

autotune::Roofline limits_of(const autotune::Machine& machine) {
    return machine.device ? autotune::measure_device_roofline(machine.device->ordinal)
                          : autotune::measure_roofline(machine);
}

/// Limits from the store, or measured and kept there. Never throws for a failing store.
void take_limits(autotune::Machine& machine, autotune::Store* store) {
    if (machine.device && !machine.device->present) return;
    // Limits belong to the machine and not to the ISA of one job.
    const autotune::Machine host = machine.device ? machine : autotune::this_machine();
    try {
        if (store != nullptr)
            if (const auto stored = store->roofline(host.fingerprint)) {
                machine.roofline = *stored;
                return;
            }
    } catch (const StoreError&) {
        store = nullptr;
    }
    machine.roofline = limits_of(host);
    try {
        if (store != nullptr && !store->read_only()) {
            autotune::Machine measured = host;
            measured.roofline = machine.roofline;
            store->put_machine(measured);
        }
    } catch (const StoreError&) {
        // The search will say so when it writes its first trial.
    }
}

void warn(const autotune::Observer& observer, const std::string& text) {
    if (observer) observer({{"event", "warning"}, {"text", text}});
}

void warn_of_unmeasured_limits(const autotune::Observer& observer, const std::string& why) {
    warn(observer, "the limits of this machine could not be measured: " + why + ". The search does not stop at them.");
}

} // namespace

json tune_job(const std::string& job_text, const autotune::Observer& observer, const std::atomic<bool>* cancel) {
    const double start_s = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    const autotune::Job job = autotune::read_job(job_text);
    autotune::TuneEnvironment environment;
    environment.start_s = start_s; // measuring the machine's limits is a part of the search
    environment.observer = observer;
    environment.cancel = cancel;
    environment.machine = autotune::this_machine(job.isa);
    if (job.threads > 0) environment.machine.cores = job.threads;

    std::unique_ptr<autotune::Store> store;
    if (!job.db.empty()) {
        try {
            store = std::make_unique<autotune::Store>(job.db);
        } catch (const StoreError& error) {
            warn(observer, std::string(error.what()) + " The search goes on; nothing is stored.");
        }
    }
    environment.store = store.get();
    try {
        take_limits(environment.machine, store.get());
    } catch (const runtime::cuda::OutOfDeviceMemory& error) {
        warn_of_unmeasured_limits(observer, error.what());
    } catch (const std::bad_alloc&) {
        warn_of_unmeasured_limits(observer, "out of memory");
    }

    environment.rules.default_schedule = [](const dsl::AlgorithmInfo& info, const autotune::Machine& machine) {
        return autotune::default_schedule(info, machine);
    };
    environment.rules.default_space = [](const dsl::AlgorithmInfo& info, const autotune::Machine& machine) {
        return autotune::default_space(info, machine);
    };
    environment.rules.check = dsl::check;
    environment.rules.measure_roofline = [](const autotune::Machine& machine) {
        try {
            return limits_of(machine.device ? machine : autotune::this_machine());
        } catch (const std::bad_alloc&) {
            return autotune::Roofline(); // what is known stays
        }
    };

    autotune::ProcessWorkbench workbench(job, cancel);
    environment.workbench = &workbench;
    return autotune::to_json(autotune::tune(job, environment));
}

autotune::Machine machine_with_limits(const std::optional<std::string>& db, const std::string& isa) {
    autotune::Machine machine = autotune::this_machine(isa);
    if (!db) return machine;
    std::unique_ptr<autotune::Store> store;
    try {
        store = std::make_unique<autotune::Store>(*db);
    } catch (const StoreError&) {
        // The limits are then measured for this answer only.
    }
    take_limits(machine, store.get());
    return machine;
}

json machine_to_json(const autotune::Machine& machine) {
    json object = {{"isa", machine.isa},
                   {"cpu_model", machine.cpu_model},
                   {"cores", machine.cores},
                   {"l1_bytes", machine.l1_bytes},
                   {"l2_bytes", machine.l2_bytes},
                   {"l3_bytes", machine.l3_bytes},
                   {"fingerprint", machine.fingerprint},
                   {"vector_bytes", machine.vector_bytes()},
                   {"roofline", nullptr}};
    if (machine.roofline.measured()) {
        json levels = json::array();
        for (const autotune::BandwidthLevel& level : machine.roofline.levels)
            levels.push_back({{"bytes", level.bytes},
                              {"read_gbps", level.read_gbps},
                              {"write_gbps", level.write_gbps},
                              {"copy_gbps", level.copy_gbps}});
        object["roofline"] = {{"levels", levels},
                              {"float32_gflops", machine.roofline.float32_gflops},
                              {"float64_gflops", machine.roofline.float64_gflops},
                              {"float32_fma_gflops", machine.roofline.float32_fma_gflops},
                              {"float64_fma_gflops", machine.roofline.float64_fma_gflops}};
    }
    return object;
}

} // namespace tilewright::native
