// autotune/measure/worker_lane.cpp: what becomes of a candidate when its worker answers, dies or stays silent.
#include "autotune/measure/worker_lane.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "autotune/measure/messages.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::autotune {

using nlohmann::json;

namespace {

constexpr double kFirstVerifyLimitS = 120; ///< nothing is known yet of how long the function takes
constexpr double kLeastRunLimitS = 3;
constexpr double kVerifyLimitRatio = 10; ///< of calls that are soon checked
constexpr double kLongVerifyLimitRatio = 3, kLongVerifyS = 0.5;

/// Throws an error of a worker as the class that it had there.
[[noreturn]] void throw_as(const std::string& name, const std::string& text) {
    if (name == "TranslateError") throw TranslateError(text);
    if (name == "ScheduleError") throw ScheduleError(text);
    if (name == "DeviceError") throw DeviceError(text);
    if (name == "ExportError") throw ExportError(text);
    throw InternalError(text);
}

bool is_killed(const WorkerReply& reply) {
    return reply.is_killed();
}
bool is_killed(const std::optional<Outcome>& failed) {
    return failed && failed->killed;
}
template <class Value> bool is_killed(const OrOutcome<Value>& result) {
    return !result.value && result.outcome.killed;
}
/// Once more of a new worker where somebody killed the first one.
template <class Attempt> auto twice(const Attempt& attempt) {
    auto result = attempt();
    return is_killed(result) ? attempt() : result;
}

} // namespace

std::optional<Outcome> WorkerReply::outcome() const {
    const auto found = object.find("outcome");
    if (found == object.end()) return std::nullopt;
    const auto kind = try_outcome_kind(found->get<std::string>());
    if (!kind) throw InternalError("tilewright-worker: the outcome " + found->dump() + " is none.");
    return Outcome{*kind, object.value("text", "")};
}

std::optional<Outcome> WorkerReply::failure(OutcomeKind crashed, OutcomeKind timed_out, double limit_s) const {
    switch (answer.kind) {
    case WorkerAnswer::Kind::line:
        return outcome();
    case WorkerAnswer::Kind::timed_out: {
        char words[64];
        std::snprintf(words, sizeof words, "no answer within %.1f s", limit_s);
        return Outcome{timed_out, words};
    }
    case WorkerAnswer::Kind::cancelled:
        return Outcome{timed_out, "cancelled"};
    default:
        return Outcome{crashed, answer.text, false, is_killed()};
    }
}

bool WorkerReply::is_killed() const {
    return answer.kind == WorkerAnswer::Kind::died && answer.signal == SIGKILL;
}

WorkerLane::WorkerLane(const Job& job, const std::string& job_file, const std::atomic<bool>* cancel, int device)
    : job_(job), cancel_(cancel), worker_(job.worker, job_file, device) {}

void WorkerLane::know(const std::string& id, const std::string& text, const std::string& file) {
    texts_[id] = text;
    if (!file.empty()) files_[id] = file;
}

WorkerReply WorkerLane::ask_twice(const json& request, double limit_s) {
    return twice([&] { return ask(request, limit_s); });
}

OrOutcome<Built> WorkerLane::build(const std::string& id, const std::string& text) {
    return twice([&]() -> OrOutcome<Built> {
        const WorkerReply reply = ask({{"verb", "build"}, {"id", id}, {"schedule", text}}, job_.build_limit_s);
        if (const auto failed = reply.build_failure(job_.build_limit_s)) return *failed;
        texts_[id] = text;
        in_worker_.insert(id);
        return Built{id, reply.object.at("build_s")};
    });
}

WorkerReply WorkerLane::ask(const json& request, double limit_s) {
    if (!worker_.running()) {
        in_worker_.clear();
        worker_.start();
    }
    WorkerReply reply;
    reply.answer = worker_.ask(request.dump(-1, ' ', false, json::error_handler_t::replace), limit_s, cancel_);
    if (!reply.answered()) return reply;
    reply.object = json::parse(reply.answer.text, nullptr, false);
    if (reply.object.is_discarded() || !reply.object.is_object())
        throw InternalError("tilewright-worker: it answered " + reply.answer.text.substr(0, 200) + ".");
    if (const auto error = reply.object.find("error"); error != reply.object.end())
        throw_as(error->get<std::string>(), reply.object.value("text", ""));
    return reply;
}

WorkerReply WorkerLane::ask_for(const std::string& id, const std::string& text) {
    const auto file = files_.find(id);
    if (file == files_.end()) return ask({{"verb", "build"}, {"id", id}, {"schedule", text}}, job_.build_limit_s);
    return ask({{"verb", "load"}, {"id", id}, {"schedule", text}, {"file", file->second}}, job_.build_limit_s);
}

std::optional<Outcome> WorkerLane::restore(const std::string& id) {
    if (worker_.running() && in_worker_.count(id) > 0) return std::nullopt;
    const auto text = texts_.find(id);
    if (text == texts_.end()) throw InternalError("workbench: the schedule " + id + " was never built.");
    const auto failed = ask_for(id, text->second).build_failure(job_.build_limit_s);
    if (!failed) in_worker_.insert(id);
    return failed;
}

/// The first check of a variant builds and runs its default schedule in the worker. Where that kills the worker,
/// candidates are compared with plain loops instead: a bad default must not condemn the others.
std::optional<Outcome> WorkerLane::prepare(const std::string& id) {
    const double limit_s = job_.build_limit_s + kFirstVerifyLimitS;
    const std::string variant = json(dsl::parse_schedule(texts_.at(id)).variant()).dump();
    for (;;) {
        const bool bare = bare_references_.count(variant) > 0;
        const WorkerReply reply = ask({{"verb", "prepare"}, {"id", id}, {"bare", bare}}, limit_s);
        if (reply.answered() || bare || reply.is_killed() || reply.answer.kind == WorkerAnswer::Kind::cancelled)
            return reply.run_failure(limit_s);
        bare_references_.insert(variant);
        if (const auto failed = restore(id)) return failed;
    }
}

double WorkerLane::run_limit_s() const {
    if (job_.run_limit_s > 0) return job_.run_limit_s;
    if (verified_ == 0) return kFirstVerifyLimitS;
    // Ten times some seconds, spent on one candidate that is hopeless, would be the whole search.
    const double long_s = std::max(0.0, slowest_verify_s_ - kLongVerifyS);
    return std::max(kLeastRunLimitS, (slowest_verify_s_ - long_s) * kVerifyLimitRatio + long_s * kLongVerifyLimitRatio);
}

std::optional<Outcome> WorkerLane::verify(const std::string& id) {
    return twice([&] { return verify_once(id); });
}

std::optional<Outcome> WorkerLane::verify_once(const std::string& id) {
    if (const auto failed = restore(id)) return failed;
    if (const auto failed = prepare(id)) return failed;
    const double limit_s = run_limit_s();
    const auto start = std::chrono::steady_clock::now();
    const WorkerReply reply = ask({{"verb", "verify"}, {"id", id}}, limit_s);
    if (const auto failed = reply.run_failure(limit_s)) return failed;
    // Only what was right counts, and the first one most: later ones may be slow schedules, which must not raise the
    // limit.
    const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (verified_++ == 0) slowest_verify_s_ = took_s;
    return std::nullopt;
}

OrOutcome<PairedTimes> WorkerLane::measure(const MeasureRequest& request) {
    return twice([&] { return measure_once(request); });
}

OrOutcome<PairedTimes> WorkerLane::measure_once(const MeasureRequest& request) {
    if (const auto failed = restore(request.candidate)) return *failed;
    if (!request.incumbent.empty())
        if (auto failed = restore(request.incumbent)) {
            failed->of_incumbent = true;
            return *failed;
        }
    json object = request;
    object["verb"] = "measure";
    const double limit_s = request.budget_s * 2 + run_limit_s() * std::max(1, request.min_runs / 4);
    const WorkerReply reply = ask(object, limit_s);
    if (auto failed = reply.run_failure(limit_s)) {
        failed->of_incumbent = reply.answered() ? reply.object.value("of_incumbent", false)
                                                : !request.incumbent.empty() && reply.answer.id == request.incumbent;
        return *failed;
    }
    return PairedTimes{reply.object.at("candidate_ns").get<std::vector<double>>(),
                       reply.object.at("incumbent_ns").get<std::vector<double>>()};
}

} // namespace tilewright::autotune
