// python/native/worker/main.cpp: tilewright-worker: builds, checks and times candidates for a search, one JSON line a
// request.
//
// A crash, a hang or a wild write of a candidate ends this process and nothing else: the search starts another one.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "autotune/job.h"
#include "autotune/measure/messages.h"
#include "dsl/base/halide_guard.h"
#include "dsl/language/schedule_text.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/cuda/out_of_memory.h"
#include "dsl/runtime/thread_budget.h"
#include "python/native/error_name.h"
#include "python/native/worker/bench.h"
#include "python/native/worker/candidates.h"
#include "python/native/worker/limits.h"

namespace tilewright::native {
namespace {

using autotune::Outcome;
using autotune::OutcomeKind;
using nlohmann::json;

json answer_of(const Outcome& outcome) {
    return {{"outcome", outcome_name(outcome.kind)}, {"text", outcome.text}, {"of_incumbent", outcome.of_incumbent}};
}

class Worker {
  public:
    Worker(const autotune::Job& job, autotune::WorkerStatus* status, int device)
        : candidates_(job, device >= 0), bench_(job, candidates_, status, std::max(device, 0)) {}

    json answer(const json& request) {
        const std::string verb = request.at("verb");
        if (verb == "variants") return variants();
        if (verb == "describe") return describe(request);
        if (verb == "autoschedule") return autoschedule(request);
        if (verb == "build") return build(request);
        if (verb == "compile") return compile(request);
        if (verb == "load") return load(request);
        if (verb == "prepare") return outcome_or_ok(bench_.prepare(request.at("id"), request.value("bare", false)));
        if (verb == "verify") return outcome_or_ok(bench_.verify(request.at("id")));
        if (verb == "measure") return measure(request);
        if (verb == "lowered") return lowered(request);
        throw InternalError("worker: the verb " + verb + " is not known.");
    }

  private:
    static json outcome_or_ok(const std::optional<Outcome>& outcome) {
        return outcome ? answer_of(*outcome) : json{{"ok", true}};
    }

    /// What a schedule does to compilation is an outcome, never an error of the worker.
    template <class Body> json or_build_failed(Body&& body) {
        try {
            return guarded<ScheduleError>("", body);
        } catch (const ScheduleError& error) {
            return answer_of({OutcomeKind::build_failed, error.what()});
        } catch (const ExportError& error) {
            return answer_of({OutcomeKind::build_failed, error.what()});
        } catch (const std::bad_alloc&) {
            return answer_of({OutcomeKind::build_failed, "the compiler ran out of memory"});
        }
    }

    static dsl::Schedule schedule_of(const json& request) {
        return dsl::parse_schedule(request.at("schedule").get<std::string>(), "<candidate>");
    }
    template <class Body> static json timed(Body&& body) {
        const auto start = std::chrono::steady_clock::now();
        body();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        return {{"ok", true}, {"build_s", took.count()}};
    }

    json variants() {
        json list = json::array();
        for (const auto& variant : translator::variants(candidates_.program(), candidates_.options({})))
            list.push_back({{"name", variant.name}, {"options", variant.options}});
        return {{"ok", true}, {"variants", std::move(list)}};
    }
    json describe(const json& request) {
        const auto variant = request.at("variant").get<Variant>();
        const dsl::Algorithm algorithm = candidates_.translate(candidates_.whole_variant(variant));
        return {{"ok", true}, {"info", algorithm.info()}};
    }
    json autoschedule(const json& request) {
        return or_build_failed([&]() -> json {
            const std::string name = request.at("name");
            return {{"ok", true},
                    {"schedule",
                     dsl::print_schedule(candidates_.autoschedule(name, request.at("variant").get<Variant>()))}};
        });
    }
    json build(const json& request) {
        const std::string id = request.at("id");
        bench_.say("build", id);
        return or_build_failed([&]() -> json { return timed([&] { candidates_.build(id, schedule_of(request)); }); });
    }
    /// For another worker: into a file.
    json compile(const json& request) {
        return or_build_failed([&]() -> json {
            return timed([&] { candidates_.compile(request.at("id"), schedule_of(request), request.at("file")); });
        });
    }
    json load(const json& request) {
        return or_build_failed([&]() -> json {
            candidates_.load(request.at("id"), schedule_of(request), request.at("file"));
            return {{"ok", true}};
        });
    }
    json measure(const json& request) {
        const auto times = bench_.measure(request.get<autotune::MeasureRequest>());
        if (!times.value) return answer_of(times.outcome);
        return {{"ok", true}, {"candidate_ns", times.value->candidate_ns}, {"incumbent_ns", times.value->incumbent_ns}};
    }
    json lowered(const json& request) {
        return or_build_failed([&]() -> json {
            const auto listing =
                candidates_.lowered(dsl::parse_schedule(request.at("schedule").get<std::string>(), "<schedule>"));
            return {{"ok", true}, {"lowered", listing.lowered}, {"assembly", listing.assembly}};
        });
    }

    Candidates candidates_;
    Bench bench_;
};

/// Every error has its class's name beside it, so that the search can throw it again as what it was.
template <class Body> json answer_or_error(Body&& body) {
    try {
        return guarded<InternalError>("", body);
    } catch (const Error& error) {
        if (dynamic_cast<const DeviceError*>(&error) != nullptr) end_with_lost_device(error.what());
        return {{"error", error_name(error)}, {"text", error.what()}};
    } catch (const runtime::cuda::OutOfDeviceMemory& error) {
        return answer_of({OutcomeKind::run_crashed, error.what()});
    } catch (const std::bad_alloc&) {
        return answer_of({OutcomeKind::run_crashed, "out of memory"});
    } catch (const std::exception& error) {
        return {{"error", "InternalError"}, {"text", std::string("worker: ") + error.what()}};
    }
}

autotune::WorkerStatus* map_status() {
    if (fcntl(autotune::kStatusDescriptor, F_GETFD) < 0) return nullptr;
    void* const memory = mmap(nullptr, sizeof(autotune::WorkerStatus), PROT_READ | PROT_WRITE, MAP_SHARED,
                              autotune::kStatusDescriptor, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<autotune::WorkerStatus*>(memory);
}

void write_line(int descriptor, const json& answer) {
    const std::string line = answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    std::size_t done = 0;
    while (done < line.size()) {
        const ssize_t count = write(descriptor, line.data() + done, line.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) _exit(1);
        done += static_cast<std::size_t>(count);
    }
}

int work(const std::string& job_file, pid_t parent, int device) {
    tie_to_parent(parent);
    // Compilers print: what is not an answer goes to stderr.
    const int answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (answers < 0) return 1;
    dup2(STDERR_FILENO, STDOUT_FILENO);

    std::ifstream file(job_file);
    std::ostringstream text;
    text << file.rdbuf();
    std::unique_ptr<Worker> worker;
    std::optional<autotune::Job> job;
    for (std::string line; std::getline(std::cin, line);) {
        const json request = json::parse(line, nullptr, false);
        write_line(answers, answer_or_error([&]() -> json {
                       if (!worker) {
                           if (!file) throw InternalError("worker: " + job_file + " cannot be read.");
                           job = autotune::read_job(text.str());
                           if (device < 0) limit_memory(*job); // a driver reserves more addresses than any limit
                           runtime::set_num_threads(job->threads);
                           // Library stages use the BLAS of the process: here as in the user's.
                           if (!job->blas.empty()) dlopen(job->blas.c_str(), RTLD_NOW | RTLD_GLOBAL);
                           worker = std::make_unique<Worker>(*job, map_status(), device);
                       }
                       return worker->answer(request);
                   }));
    }
    return 0;
}

} // namespace
} // namespace tilewright::native

int main(int count, char** arguments) {
    pid_t parent = 0;
    int device = -1;
    bool understood = count >= 2 && count % 2 == 0;
    for (int k = 2; understood && k < count; k += 2) {
        if (std::strcmp(arguments[k], "--parent") == 0)
            parent = std::atoi(arguments[k + 1]);
        else if (std::strcmp(arguments[k], "--device") == 0)
            device = std::atoi(arguments[k + 1]);
        else
            understood = false;
    }
    if (!understood) {
        std::fprintf(stderr, "usage: tilewright-worker JOBFILE [--parent PID] [--device ORDINAL]\nStarted by the "
                             "search; not for people.\n");
        return 2;
    }
    const int code = tilewright::native::work(arguments[1], parent, device);
    // No destructors: libHalide's would take longer than the exit is worth.
    std::fflush(nullptr);
    _exit(code);
}
