// autotune/measure/process_workbench.cpp: what becomes of a candidate when its worker answers, dies or stays silent.
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
#include "dsl/schedule_text.h"

namespace tilewright::autotune {

using nlohmann::json;

namespace {

constexpr double kDescribeLimitS = 60;
constexpr double kFirstVerifyLimitS = 120; ///< nothing is known yet of how long the function takes
constexpr double kLeastRunLimitS = 3;
constexpr double kVerifyLimitRatio = 10;
constexpr int kMostBuilders = 8; ///< each takes some 0.3 GB

std::string write_job_file(const Job& job) {
    const char* folder = std::getenv("TMPDIR");
    std::string path = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/tilewright-job-XXXXXX";
    const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
    if (descriptor < 0)
        throw DeviceError("tuning job: no temporary file " + path + ": " + std::strerror(errno) + ".",
                          "Set TMPDIR to a folder that may be written.");
    const std::string text = print_job(job);
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
    }
    ::close(descriptor);
    if (done != text.size()) {
        ::unlink(path.c_str());
        throw DeviceError("tuning job: " + path + " could not be written: no space left.",
                          "Set TMPDIR to another folder.");
    }
    return path;
}

[[noreturn]] void throw_as(const std::string& name, const std::string& text) {
    if (name == "TranslateError") throw TranslateError(text);
    if (name == "ScheduleError") throw ScheduleError(text);
    if (name == "DeviceError") throw DeviceError(text);
    if (name == "ExportError") throw ExportError(text);
    throw InternalError(text);
}

} // namespace

struct ProcessWorkbench::Reply {
    WorkerAnswer answer;
    json object;
    bool answered() const { return answer.kind == WorkerAnswer::Kind::line; }
    /// The outcome in the reply; nullopt where it is a success.
    std::optional<Outcome> outcome() const {
        const auto found = object.find("outcome");
        if (found == object.end()) return std::nullopt;
        const auto kind = try_outcome_kind(found->get<std::string>());
        if (!kind) throw InternalError("tilewright-worker: the outcome " + found->dump() + " is none.");
        return Outcome{*kind, object.value("text", "")};
    }
    /// What a worker that did not answer means for a candidate.
    Outcome failure(OutcomeKind crashed, OutcomeKind timed_out, double limit_s) const {
        switch (answer.kind) {
        case WorkerAnswer::Kind::timed_out: {
            char words[64];
            std::snprintf(words, sizeof words, "no answer within %.1f s", limit_s);
            return {timed_out, words};
        }
        case WorkerAnswer::Kind::cancelled:
            return {timed_out, "cancelled"};
        default:
            return {crashed, answer.text};
        }
    }
};

ProcessWorkbench::ProcessWorkbench(Job job, const std::atomic<bool>* cancel)
    : job_(std::move(job)), cancel_(cancel), job_file_(write_job_file(job_)),
      worker_(job_.worker, job_file_, job_.devices.empty() ? -1 : job_.devices.front()) {
    if (!is_device_isa(job_.isa)) return;
    const Machine machine = this_machine();
    const int cores = job_.threads > 0 ? job_.threads : machine.cores;
    // One core is the measuring worker's, which launches and compares.
    builders_ = std::make_unique<Builders>(std::clamp(cores - 1, 1, kMostBuilders), job_.worker, job_file_,
                                           job_.build_limit_s, cancel_);
}

ProcessWorkbench::~ProcessWorkbench() {
    builders_.reset();
    worker_.kill();
    ::unlink(job_file_.c_str());
}

ProcessWorkbench::Reply ProcessWorkbench::ask(const json& request, double limit_s) {
    if (!worker_.running()) {
        in_worker_.clear();
        worker_.start();
    }
    Reply reply;
    reply.answer = worker_.ask(request.dump(-1, ' ', false, json::error_handler_t::replace), limit_s, cancel_);
    if (!reply.answered()) return reply;
    reply.object = json::parse(reply.answer.text, nullptr, false);
    if (reply.object.is_discarded() || !reply.object.is_object())
        throw InternalError("tilewright-worker: it answered " + reply.answer.text.substr(0, 200) + ".");
    if (const auto error = reply.object.find("error"); error != reply.object.end())
        throw_as(error->get<std::string>(), reply.object.value("text", ""));
    return reply;
}

std::vector<VariantOptions> ProcessWorkbench::variants() {
    const Reply reply = ask({{"verb", "variants"}}, kDescribeLimitS);
    if (!reply.answered()) throw DeviceError("tilewright-worker: " + reply.failure({}, {}, kDescribeLimitS).text + ".");
    std::vector<VariantOptions> variants;
    for (const json& one : reply.object.at("variants"))
        variants.push_back({one.at("name"), one.at("options").get<std::vector<std::string>>()});
    return variants;
}

dsl::AlgorithmInfo ProcessWorkbench::describe(const std::map<std::string, std::string>& variant) {
    const std::string key = json(variant).dump();
    if (const auto found = described_.find(key); found != described_.end()) return found->second;
    const Reply reply = ask({{"verb", "describe"}, {"variant", variant}}, kDescribeLimitS);
    if (!reply.answered()) {
        const std::string text = "tilewright-worker: translation of " + job_.function + ": " +
                                 reply.failure({}, {}, kDescribeLimitS).text + ".";
        if (reply.answer.kind == WorkerAnswer::Kind::died) throw TranslateError(text);
        throw DeviceError(text);
    }
    return described_[key] = algorithm_info_from_json(reply.object.at("info"));
}

OrOutcome<dsl::Schedule> ProcessWorkbench::autoschedule(const std::string& name,
                                                        const std::map<std::string, std::string>& variant) {
    OrOutcome<dsl::Schedule> result;
    const double limit_s = std::min(job_.build_limit_s, std::max(2.0, job_.budget_s * 0.15));
    const Reply reply = ask({{"verb", "autoschedule"}, {"name", name}, {"variant", variant}}, limit_s);
    if (!reply.answered()) {
        result.outcome = reply.failure(OutcomeKind::build_failed, OutcomeKind::build_timed_out, limit_s);
        return result;
    }
    if (const auto outcome = reply.outcome()) {
        result.outcome = *outcome;
        return result;
    }
    try {
        result.value = dsl::parse_schedule(reply.object.at("schedule").get<std::string>(), "<" + name + ">");
    } catch (const ScheduleError& error) {
        result.outcome = {OutcomeKind::illegal, error.what()};
    }
    return result;
}

OrOutcome<Built> ProcessWorkbench::build(const dsl::Schedule& schedule) {
    OrOutcome<Built> result;
    const std::string id = dsl::schedule_digest(schedule);
    const std::string text = dsl::print_schedule(schedule);
    if (builders_) return build_ahead(id, text);
    const Reply reply = ask({{"verb", "build"}, {"id", id}, {"schedule", text}}, job_.build_limit_s);
    if (!reply.answered()) {
        result.outcome = reply.failure(OutcomeKind::build_failed, OutcomeKind::build_timed_out, job_.build_limit_s);
        return result;
    }
    if (const auto outcome = reply.outcome()) {
        result.outcome = *outcome;
        return result;
    }
    texts_[id] = text;
    in_worker_[id] = true;
    result.value = Built{id, reply.object.at("build_s")};
    return result;
}

OrOutcome<Built> ProcessWorkbench::build_ahead(const std::string& id, const std::string& text) {
    OrOutcome<Built> result;
    builders_->expect(id, text, true);
    const BuiltFile built = builders_->take(id);
    if (!built.error_class.empty()) throw_as(built.error_class, built.error_text);
    if (built.path.empty()) {
        result.outcome = built.outcome;
        return result;
    }
    files_[id] = built.path;
    texts_[id] = text;
    result.value = Built{id, built.build_s};
    return result;
}

int ProcessWorkbench::builds_ahead() const {
    return builders_ ? builders_->count() : 0;
}

void ProcessWorkbench::expect(const dsl::Schedule& schedule) {
    if (builders_) builders_->expect(dsl::schedule_digest(schedule), dsl::print_schedule(schedule));
}

ProcessWorkbench::Reply ProcessWorkbench::ask_for(const std::string& id, const std::string& text) {
    const auto file = files_.find(id);
    if (file == files_.end()) return ask({{"verb", "build"}, {"id", id}, {"schedule", text}}, job_.build_limit_s);
    return ask({{"verb", "load"}, {"id", id}, {"schedule", text}, {"file", file->second}}, job_.build_limit_s);
}

std::optional<Outcome> ProcessWorkbench::restore(const std::string& id) {
    if (worker_.running() && in_worker_.count(id) > 0) return std::nullopt;
    const auto text = texts_.find(id);
    if (text == texts_.end()) throw InternalError("workbench: the schedule " + id + " was never built.");
    const Reply reply = ask_for(id, text->second);
    if (!reply.answered())
        return reply.failure(OutcomeKind::build_failed, OutcomeKind::build_timed_out, job_.build_limit_s);
    if (const auto outcome = reply.outcome()) return outcome;
    in_worker_[id] = true;
    return std::nullopt;
}

/// The first check of a variant builds and runs its default schedule in the worker. Where that kills the worker,
/// candidates are compared with plain loops instead: a bad default must not condemn the others.
std::optional<Outcome> ProcessWorkbench::prepare(const std::string& id) {
    const double limit_s = job_.build_limit_s + kFirstVerifyLimitS;
    const std::string variant = json(dsl::parse_schedule(texts_.at(id)).variant()).dump();
    for (;;) {
        const bool bare = bare_references_.count(variant) > 0;
        const Reply reply = ask({{"verb", "prepare"}, {"id", id}, {"bare", bare}}, limit_s);
        if (reply.answered()) return reply.outcome();
        if (bare || reply.answer.kind == WorkerAnswer::Kind::cancelled)
            return reply.failure(OutcomeKind::run_crashed, OutcomeKind::run_timed_out, limit_s);
        bare_references_.insert(variant);
        if (const auto failed = restore(id)) return failed;
    }
}

double ProcessWorkbench::run_limit_s() const {
    if (job_.run_limit_s > 0) return job_.run_limit_s;
    if (verified_ == 0) return kFirstVerifyLimitS;
    return std::max(kLeastRunLimitS, slowest_verify_s_ * kVerifyLimitRatio);
}

std::optional<Outcome> ProcessWorkbench::verify(const Built& built) {
    if (const auto failed = restore(built.id)) return failed;
    if (const auto failed = prepare(built.id)) return failed;
    const double limit_s = run_limit_s();
    const auto start = std::chrono::steady_clock::now();
    const Reply reply = ask({{"verb", "verify"}, {"id", built.id}}, limit_s);
    if (!reply.answered()) return reply.failure(OutcomeKind::run_crashed, OutcomeKind::run_timed_out, limit_s);
    if (const auto outcome = reply.outcome()) return outcome;
    // Only what was right counts, and the first one most: later ones may be slow schedules, which must not raise the
    // limit.
    const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (verified_++ == 0) slowest_verify_s_ = took_s;
    return std::nullopt;
}

OrOutcome<PairedTimes> ProcessWorkbench::measure(const MeasureRequest& request) {
    OrOutcome<PairedTimes> result;
    if (auto failed = restore(request.candidate)) {
        result.outcome = *failed;
        return result;
    }
    if (!request.incumbent.empty())
        if (auto failed = restore(request.incumbent)) {
            result.outcome = *failed;
            result.outcome.of_incumbent = true;
            return result;
        }
    json object = measure_request_to_json(request);
    object["verb"] = "measure";
    const double limit_s = request.budget_s * 2 + run_limit_s() * std::max(1, request.min_runs / 4);
    const Reply reply = ask(object, limit_s);
    if (!reply.answered()) {
        result.outcome = reply.failure(OutcomeKind::run_crashed, OutcomeKind::run_timed_out, limit_s);
        result.outcome.of_incumbent = !request.incumbent.empty() && reply.answer.id == request.incumbent;
        return result;
    }
    if (const auto outcome = reply.outcome()) {
        result.outcome = *outcome;
        result.outcome.of_incumbent = reply.object.value("of_incumbent", false);
        return result;
    }
    result.value = PairedTimes{reply.object.at("candidate_ns").get<std::vector<double>>(),
                               reply.object.at("incumbent_ns").get<std::vector<double>>()};
    return result;
}

OrOutcome<ProcessWorkbench::Listing> ProcessWorkbench::lowered(const dsl::Schedule& schedule) {
    OrOutcome<Listing> result;
    const Reply reply = ask({{"verb", "lowered"}, {"schedule", dsl::print_schedule(schedule)}}, job_.build_limit_s * 2);
    if (!reply.answered()) {
        result.outcome = reply.failure(OutcomeKind::build_failed, OutcomeKind::build_timed_out, job_.build_limit_s * 2);
        return result;
    }
    if (const auto outcome = reply.outcome()) {
        result.outcome = *outcome;
        return result;
    }
    result.value = Listing{reply.object.at("lowered"), reply.object.at("assembly")};
    return result;
}

} // namespace tilewright::autotune
