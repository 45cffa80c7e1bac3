// autotune/measure/process_workbench.cpp: the job's file, and which worker is asked for what.
#include "autotune/measure/process_workbench.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "autotune/machine.h"
#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

using nlohmann::json;

namespace {

constexpr double kDescribeLimitS = 60;
constexpr int kMostBuilders = 8; ///< for a device: each takes some 0.3 GB

/// What a worker that measures is told; -1: a CPU does.
int first_device(const Job& job) {
    return !is_cuda_target(job.isa) ? -1 : job.devices.empty() ? 0 : job.devices.front();
}

/// Where the job's file may lie, the best place first: the folder of its data, then what is there for such files.
std::vector<std::string> places_for_files(const Job& job) {
    std::vector<std::string> places;
    const char* const named = std::getenv("TMPDIR");
    for (const std::string& place : {job.folder, std::string(named != nullptr ? named : ""), std::string("/tmp"),
                                     std::string("/var/tmp"), std::string("/dev/shm")})
        if (!place.empty() && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    return places;
}

/// Closes it too. Why it could not be written; empty when it was.
std::string write_whole(int descriptor, const std::string& text) {
    FILE* const file = ::fdopen(descriptor, "w");
    if (file == nullptr) {
        const std::string why = std::strerror(errno);
        ::close(descriptor);
        return why;
    }
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const std::string why = is_written ? "" : std::strerror(errno);
    return std::fclose(file) == 0 || !is_written ? why : std::strerror(errno);
}

/// A worker without memory has no translation either.
void refuse_failure(const WorkerReply& reply) {
    if (const auto failed = reply.build_failure(kDescribeLimitS))
        throw DeviceError("tilewright-worker: " + failed->text + ".",
                          "Free some memory, or tune the function with smaller arrays.");
}

std::string write_job_file(const Job& job) {
    const std::string text = print_job(job);
    std::string tried;
    for (const std::string& place : places_for_files(job)) {
        std::string path = place + "/tilewright-job-XXXXXX";
        const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
        const std::string why = descriptor < 0 ? std::strerror(errno) : write_whole(descriptor, text);
        if (why.empty()) return path;
        if (descriptor >= 0) ::unlink(path.c_str());
        tried += (tried.empty() ? "" : "; ") + place + ": " + why;
    }
    throw DeviceError("tuning job: there is no place for its file (" + tried + ").",
                      "Set TMPDIR to a folder that may be written and has space.");
}

} // namespace

ProcessWorkbench::ProcessWorkbench(Job job, const std::atomic<bool>* cancel)
    : job_(std::move(job)), cancel_(cancel), job_file_(write_job_file(job_)),
      lane_(job_, job_file_, cancel, first_device(job_)) {
    if (!is_cuda_target(job_.isa)) return;
    const Machine machine = this_machine();
    const int cores = job_.threads > 0 ? job_.threads : machine.cores;
    // One core is each measuring worker's, which launches and compares.
    const int devices = std::max(1, static_cast<int>(job_.devices.size()));
    builders_ =
        std::make_unique<Builders>(std::clamp(cores - devices, 1, kMostBuilders * devices), job_, job_file_, cancel_);
    if (job_.devices.size() > 1) devices_ = std::make_unique<Devices>(job_, job_file_, *builders_, cancel_);
}

ProcessWorkbench::~ProcessWorkbench() {
    if (builders_) builders_->stop();
    devices_.reset();
    builders_.reset();
    ::unlink(job_file_.c_str());
}

std::vector<VariantOptions> ProcessWorkbench::variants() {
    const WorkerReply reply = lane_.ask_twice({{"verb", "variants"}}, kDescribeLimitS);
    if (!reply.answered()) throw DeviceError("tilewright-worker: " + reply.build_failure(kDescribeLimitS)->text + ".");
    refuse_failure(reply);
    std::vector<VariantOptions> variants;
    for (const json& one : reply.object.at("variants"))
        variants.push_back({one.at("name"), one.at("options").get<std::vector<std::string>>()});
    return variants;
}

dsl::AlgorithmInfo ProcessWorkbench::describe(const std::map<std::string, std::string>& variant) {
    const WorkerReply reply = lane_.ask_twice({{"verb", "describe"}, {"variant", variant}}, kDescribeLimitS);
    if (!reply.answered()) {
        const std::string text = "tilewright-worker: translation of " + job_.function + ": " +
                                 reply.build_failure(kDescribeLimitS)->text + ".";
        if (reply.answer.kind == WorkerAnswer::Kind::died) throw TranslateError(text);
        throw DeviceError(text);
    }
    refuse_failure(reply);
    return reply.object.at("info").get<dsl::AlgorithmInfo>();
}

OrOutcome<dsl::Schedule> ProcessWorkbench::autoschedule(const std::string& name,
                                                        const std::map<std::string, std::string>& variant) {
    const double limit_s = std::min(job_.build_limit_s, std::max(2.0, job_.budget_s * 0.15));
    const WorkerReply reply =
        lane_.ask_twice({{"verb", "autoschedule"}, {"name", name}, {"variant", variant}}, limit_s);
    if (const auto failed = reply.build_failure(limit_s)) return *failed;
    try {
        return dsl::parse_schedule(reply.object.at("schedule").get<std::string>(), "<" + name + ">");
    } catch (const ScheduleError& error) {
        return Outcome{OutcomeKind::illegal, error.what()};
    }
}

OrOutcome<Built> ProcessWorkbench::build(const dsl::Schedule& schedule) {
    const std::string id = dsl::schedule_digest(schedule);
    const std::string text = dsl::print_schedule(schedule);
    if (builders_) return build_ahead(id, text);
    return lane_.build(id, text);
}

OrOutcome<Built> ProcessWorkbench::build_ahead(const std::string& id, const std::string& text) {
    builders_->expect(id, text, true);
    OrOutcome<Built> built = builders_->take(id);
    if (!built.value) return built;
    if (devices_)
        devices_->know(id, text, builders_->file_of(id));
    else
        lane_.know(id, text, builders_->file_of(id));
    return built;
}

int ProcessWorkbench::builds_ahead() const {
    return builders_ ? builders_->count() : 0;
}

void ProcessWorkbench::expect(const dsl::Schedule& schedule) {
    if (!builders_) return;
    const std::string id = dsl::schedule_digest(schedule);
    const std::string text = dsl::print_schedule(schedule);
    builders_->expect(id, text);
    if (devices_) devices_->expect(id, text);
}

void ProcessWorkbench::expect(const MeasureRequest& request) {
    if (devices_) devices_->expect(request);
}

std::optional<Outcome> ProcessWorkbench::verify(const Built& built) {
    return devices_ ? devices_->verify(built.id) : lane_.verify(built.id);
}

OrOutcome<PairedTimes> ProcessWorkbench::measure(const MeasureRequest& request) {
    return devices_ ? devices_->measure(request) : lane_.measure(request);
}

OrOutcome<ProcessWorkbench::Listing> ProcessWorkbench::lowered(const dsl::Schedule& schedule) {
    const double limit_s = job_.build_limit_s * 2;
    const WorkerReply reply = lane_.ask({{"verb", "lowered"}, {"schedule", dsl::print_schedule(schedule)}}, limit_s);
    if (const auto failed = reply.build_failure(limit_s)) return *failed;
    return Listing{reply.object.at("lowered"), reply.object.at("assembly")};
}

} // namespace tilewright::autotune
