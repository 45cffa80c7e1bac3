// python/native/worker/bench.cpp: guarded runs, comparison with the default schedule and with NumPy, interleaved times.
#include "python/native/worker/bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "dsl/runtime/parallel.h"
#include "dsl/schedule_text.h"
#include "python/native/worker/compare.h"
#include "python/native/worker/planted_specials.h"

namespace tilewright::native {

using autotune::Outcome;
using autotune::OutcomeKind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kMostReferences = 3; ///< variants whose results are kept at once
constexpr double kLeastSampleNs =
    50000; ///< shorter calls are timed several at a time: the clock itself costs some 30 ns
constexpr int kMostRepeats = 10000;
constexpr unsigned char kPoison = 0xa5; ///< an element that nobody wrote is no result

double ns_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void fill_in_parallel(char* data, std::size_t bytes) {
    constexpr std::size_t kBlock = std::size_t{1} << 20;
    runtime::parallel_for(static_cast<int>((bytes + kBlock - 1) / kBlock), [&](int block) {
        const std::size_t begin = static_cast<std::size_t>(block) * kBlock;
        std::memset(data + begin, kPoison, std::min(kBlock, bytes - begin));
    });
}

std::vector<std::int64_t> shape_of(const runtime::Executable& executable, const runtime::CallResult& result,
                                   std::size_t index) {
    const std::size_t rank = executable.plan().results[index].shape.size();
    return {result.shape, result.shape + rank};
}

} // namespace

Bench::Bench(const autotune::Job& job, Candidates& candidates, autotune::WorkerStatus* status)
    : job_(job), candidates_(candidates), status_(status) {}

void Bench::say(const char* phase, const std::string& id) {
    if (status_ == nullptr) return;
    std::strncpy(status_->phase, phase, sizeof status_->phase - 1);
    std::strncpy(status_->id, id.c_str(), sizeof status_->id - 1);
}

void Bench::load() {
    if (loaded_) return;
    if (job_.datasets.empty()) throw InternalError("tuning job: it has no data set.");
    sets_ = load_data_sets(job_);
    loaded_ = true;
}

Bench::Call Bench::make_ready(const Candidate& candidate, DataSet& set, Place place) {
    const runtime::Executable& executable = *candidate.executable;
    const runtime::Plan& plan = executable.plan();
    Call call;
    call.frame_memory.resize(executable.frame_bytes() + 64);
    call.frame = executable.lay_out(call.frame_memory.data());
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        bool found = false;
        for (std::size_t j = 0; j < set.arguments.size() && !found; ++j) {
            if (set.description->arguments[j].name != plan.arguments[i].name) continue;
            new (&call.frame.arguments[i]) runtime::CallArgument(set.arguments[j]);
            found = true;
        }
        if (!found)
            throw InternalError("tuning job: data set " + set.description->kind + " lacks the argument " +
                                plan.arguments[i].name + ".");
    }
    int argument = -1;
    if (!executable.read_sizes(call.frame, argument))
        throw InternalError("tuning job: argument " + plan.arguments[static_cast<std::size_t>(argument)].name +
                            " has 2^31 elements or more.");
    if (const int guard = executable.failed_guard(call.frame); guard >= 0)
        throw InternalError("tuning job: data set " + set.description->kind +
                            " breaks a guard: " + executable.guard_message(guard, call.frame));
    call.version = executable.select(call.frame);
    if (call.version < 0) return call;
    if (!executable.size_results(call.frame))
        throw InternalError("tuning job: data set " + set.description->kind + ": a result has no legal size.");
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
        const auto item = static_cast<std::size_t>(runtime::info(plan.results[i].dtype).bytes);
        const std::size_t bytes = static_cast<std::size_t>(call.frame.results[i].elements) * item;
        if (set.results.size() <= i) set.results.emplace_back(bytes);
        if (set.results[i].bytes() != bytes)
            throw InternalError("worker: result " + plan.results[i].name + " has " + std::to_string(bytes) +
                                " bytes, with another schedule " + std::to_string(set.results[i].bytes()) + ".");
        call.frame.results[i].data =
            place == Place::before_guard ? set.results[i].before_guard(item) : set.results[i].behind_guard();
    }
    return call;
}

void Bench::poison(DataSet& set, const Candidate& candidate, Place place) {
    const runtime::Plan& plan = candidate.executable->plan();
    for (std::size_t i = 0; i < set.results.size(); ++i) {
        const auto item = static_cast<std::size_t>(runtime::info(plan.results[i].dtype).bytes);
        fill_in_parallel(place == Place::before_guard ? set.results[i].before_guard(item)
                                                      : set.results[i].behind_guard(),
                         set.results[i].bytes());
    }
}

std::optional<Outcome> Bench::run(const Candidate& candidate, const Call& call, const DataSet& set, bool timed) {
    std::string failed;
    runtime::RunStatus status = candidate.executable->run(call.frame, call.version, nullptr, &failed);
    if (!candidate.fault.empty() && !set.results.empty()) {
        const auto item = static_cast<std::size_t>(runtime::info(candidate.executable->plan().results[0].dtype).bytes);
        const FaultyResult result{static_cast<char*>(call.frame.results[0].data), set.results[0].bytes(), item};
        if (!act_while_running(candidate.fault, result, set.recorded && !planted_, timed))
            status = runtime::RunStatus::out_of_memory;
    }
    switch (status) {
    case runtime::RunStatus::done:
        return std::nullopt;
    case runtime::RunStatus::out_of_memory:
        return Outcome{OutcomeKind::run_crashed, "out of memory on the data set " + set.description->kind};
    case runtime::RunStatus::failed:
        return Outcome{OutcomeKind::run_crashed, "a kernel returned an error on the data set " + set.description->kind};
    case runtime::RunStatus::out_of_range:
        return Outcome{OutcomeKind::run_crashed, "a size is out of range on the data set " + set.description->kind};
    case runtime::RunStatus::check_failed:
        return Outcome{OutcomeKind::run_crashed,
                       "NumPy has to run the data set " + set.description->kind + ": " + failed};
    case runtime::RunStatus::interrupted: // nobody asks for it here
        break;
    }
    return std::nullopt;
}

std::optional<Outcome> Bench::compare_with_numpy(const Candidate& candidate, const Call& call, const DataSet& set) {
    const runtime::Plan& plan = candidate.executable->plan();
    if (set.expected.empty()) return std::nullopt;
    // Results in the order of `return`; arguments that are returned as they are were not computed.
    for (std::size_t r = 0; r < plan.returns.size() && r < set.expected.size(); ++r)
        for (std::size_t i = 0; i < plan.results.size(); ++i) {
            if (plan.results[i].name != plan.returns[r]) continue;
            const runtime::CallResult& result = call.frame.results[i];
            const autotune::JobExpected& expected = set.description->expected[r];
            const std::vector<std::int64_t> shape = shape_of(*candidate.executable, result, i);
            if (expected.shape != shape || expected.dtype != runtime::info(plan.results[i].dtype).name)
                throw InternalError("tuning job: data set " + set.description->kind + ": NumPy's " +
                                    plan.results[i].name + " has another shape or dtype than the program's.");
            const auto difference = tolerance_difference(plan.results[i].dtype, result.data, set.expected[r].data(),
                                                         result.elements, job_.tolerance);
            if (!difference) continue;
            return Outcome{OutcomeKind::wrong_answer,
                           place_text(plan.results[i].name, shape, difference->first) + " is " +
                               element_text(plan.results[i].dtype, result.data, difference->first) + ", NumPy gives " +
                               element_text(plan.results[i].dtype, set.expected[r].data(), difference->first) +
                               " (data set " + set.description->kind + "; " + std::to_string(difference->count) +
                               " of " + std::to_string(result.elements) + " elements differ)"};
        }
    return std::nullopt;
}

bool Bench::recorded_fits(const Candidate& candidate) {
    return make_ready(candidate, sets_.front(), Place::before_guard).version >= 0;
}

void Bench::forget_old_references() {
    while (references_.size() > kMostReferences) {
        auto oldest = references_.begin();
        for (auto one = references_.begin(); one != references_.end(); ++one)
            if (one->second.last_use < oldest->second.last_use) oldest = one;
        references_.erase(oldest);
    }
}

std::optional<Outcome> Bench::prepare(const std::string& id, bool bare) {
    load();
    const Variant variant = candidates_.get(id).variant;
    if (const auto found = references_.find(variant); found != references_.end()) {
        found->second.last_use = ++uses_;
        return std::nullopt;
    }
    say("prepare", id);
    dsl::Schedule unscheduled;
    unscheduled.function = job_.function;
    unscheduled.target = candidates_.machine().isa;
    for (const auto& [name, option] : variant) {
        dsl::VariantChoice choice;
        choice.name = name;
        choice.options = {option};
        unscheduled.variants.push_back(std::move(choice));
    }
    const std::string key = dsl::schedule_digest(unscheduled).substr(0, 16);
    const Candidate* standard = nullptr;
    if (!bare) {
        try {
            const dsl::Algorithm algorithm = candidates_.translate(variant);
            standard = &candidates_.build("default-" + key,
                                          autotune::default_schedule(algorithm.info(), candidates_.machine()));
            if (!recorded_fits(*standard)) standard = nullptr;
        } catch (const Error&) {
            standard = nullptr;
        }
    }
    // A default that cannot be had is a defect that its own trial reports; candidates are then compared with plain
    // loops.
    if (standard == nullptr) standard = &candidates_.build("bare-" + key, unscheduled);
    if (!recorded_fits(*standard))
        return Outcome{OutcomeKind::illegal, "its variant does not serve the sizes of the recorded call"};

    Reference reference;
    reference.last_use = ++uses_;
    reference.results.resize(sets_.size());
    reference.served.assign(sets_.size(), false);
    for (std::size_t s = 0; s < sets_.size() && reference.wrong.empty(); ++s) {
        DataSet& set = sets_[s];
        const Call call = make_ready(*standard, set, Place::before_guard);
        if (call.version < 0) continue;
        poison(set, *standard, Place::before_guard);
        if (const auto failed = run(*standard, call, set, false)) return failed;
        if (const auto wrong = compare_with_numpy(*standard, call, set)) {
            reference.wrong = wrong->text;
            break;
        }
        const runtime::Plan& plan = standard->executable->plan();
        for (std::size_t i = 0; i < plan.results.size(); ++i) {
            const runtime::CallResult& result = call.frame.results[i];
            bool as_numpy = false;
            for (std::size_t r = 0; r < plan.returns.size() && r < set.expected.size(); ++r)
                if (plan.returns[r] == plan.results[i].name)
                    as_numpy = !first_bit_difference(plan.results[i].dtype, result.data, set.expected[r].data(),
                                                     result.elements);
            GuardedMemory copy;
            if (!as_numpy) {
                copy = GuardedMemory(set.results[i].bytes());
                std::memcpy(copy.behind_guard(), result.data, set.results[i].bytes());
                copy.make_read_only();
            }
            reference.results[s].push_back(std::move(copy));
        }
        reference.served[s] = true;
    }
    if (reference.wrong.empty()) {
        DataSet& set = sets_.front();
        const PlantedSpecials specials(set);
        if (specials.any()) {
            planted_ = true;
            const Call call = make_ready(*standard, set, Place::before_guard);
            const auto failed = run(*standard, call, set, false);
            planted_ = false;
            if (failed) return failed;
            for (std::size_t i = 0; i < set.results.size(); ++i) {
                GuardedMemory copy(set.results[i].bytes());
                std::memcpy(copy.behind_guard(), call.frame.results[i].data, copy.bytes());
                reference.planted.push_back(std::move(copy));
            }
        }
    }
    references_[variant] = std::move(reference);
    forget_old_references();
    return std::nullopt;
}

std::optional<Outcome> Bench::verify(const std::string& id) {
    const Candidate& candidate = candidates_.get(id);
    const auto found = references_.find(candidate.variant);
    if (found == references_.end())
        throw InternalError("worker: " + id + " is checked before its variant was prepared.");
    const Reference& reference = found->second;
    if (!reference.wrong.empty()) return Outcome{OutcomeKind::wrong_answer, reference.wrong};
    say("verify", id);
    bool unserved = sets_.size() == 1;
    // Small derived data sets first: they are cheap and hold the special values.
    for (std::size_t step = 0; step < sets_.size(); ++step) {
        const std::size_t s = sets_.size() - 1 - step;
        DataSet& set = sets_[s];
        const Call call = make_ready(candidate, set, Place::before_guard);
        if (call.version < 0) {
            if (!set.recorded) { // another version of the plan serves such sizes
                unserved = true;
                continue;
            }
            return Outcome{OutcomeKind::illegal, "it does not serve the recorded call: it needs " +
                                                     candidate.executable->requirements_text()};
        }
        // Some 500 of its elements are special then; all others are the recorded ones, so one run shows both.
        if (set.recorded && unserved && !reference.planted.empty() && job_.contract != "fast")
            return verify_planted(candidate, reference);
        poison(set, candidate, Place::before_guard);
        if (auto failed = run(candidate, call, set, false)) return failed;
        if (!reference.served[s] || job_.contract == "fast") {
            if (auto wrong = compare_with_numpy(candidate, call, set)) return wrong;
            continue;
        }
        const runtime::Plan& plan = candidate.executable->plan();
        for (std::size_t i = 0; i < plan.results.size(); ++i) {
            const runtime::CallResult& result = call.frame.results[i];
            const char* theirs = reference.results[s][i].behind_guard();
            for (std::size_t r = 0; theirs == nullptr && r < plan.returns.size() && r < set.expected.size(); ++r)
                if (plan.returns[r] == plan.results[i].name) theirs = set.expected[r].data();
            const auto difference = first_bit_difference(plan.results[i].dtype, result.data, theirs, result.elements);
            if (!difference) continue;
            return Outcome{OutcomeKind::wrong_answer,
                           place_text(plan.results[i].name, shape_of(*candidate.executable, result, i), *difference) +
                               " is " + element_text(plan.results[i].dtype, result.data, *difference) +
                               ", the default schedule gives " +
                               element_text(plan.results[i].dtype, theirs, *difference) + " (data set " +
                               set.description->kind + ")"};
        }
        // Writing before the first element is only seen where the guard lies in front: the timed runs do that for the
        // recorded call.
        if (set.recorded) continue;
        const Call again = make_ready(candidate, set, Place::behind_guard);
        if (auto failed = run(candidate, again, set, false)) return failed;
    }
    return std::nullopt;
}

std::optional<Outcome> Bench::verify_planted(const Candidate& candidate, const Reference& reference) {
    DataSet& set = sets_.front();
    const PlantedSpecials specials(set);
    planted_ = true;
    const Call call = make_ready(candidate, set, Place::before_guard);
    poison(set, candidate, Place::before_guard);
    const auto failed = run(candidate, call, set, false);
    planted_ = false;
    if (failed) return failed;
    const runtime::Plan& plan = candidate.executable->plan();
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
        const runtime::CallResult& result = call.frame.results[i];
        const char* const theirs = reference.planted[i].behind_guard();
        const auto difference = first_bit_difference(plan.results[i].dtype, result.data, theirs, result.elements);
        if (!difference) continue;
        return Outcome{OutcomeKind::wrong_answer,
                       place_text(plan.results[i].name, shape_of(*candidate.executable, result, i), *difference) +
                           " is " + element_text(plan.results[i].dtype, result.data, *difference) +
                           ", the default schedule gives " + element_text(plan.results[i].dtype, theirs, *difference) +
                           " (data set recorded, with special values planted in it)"};
    }
    return std::nullopt;
}

autotune::OrOutcome<autotune::PairedTimes> Bench::measure(const autotune::MeasureRequest& request) {
    load();
    autotune::OrOutcome<autotune::PairedTimes> answer;
    const Candidate& candidate = candidates_.get(request.candidate);
    const Candidate* incumbent = request.incumbent.empty() ? nullptr : &candidates_.get(request.incumbent);
    DataSet& set = sets_.front();
    const Call candidate_call = make_ready(candidate, set, Place::behind_guard);
    if (candidate_call.version < 0) {
        answer.outcome = {OutcomeKind::illegal, "it does not serve the recorded call"};
        return answer;
    }
    Call incumbent_call;
    if (incumbent != nullptr) incumbent_call = make_ready(*incumbent, set, Place::behind_guard);

    // The status names who runs right now: when the process dies the search knows whom to blame.
    auto timed_run = [&](const Candidate& who, const Call& call, int repeats) -> std::optional<double> {
        say("measure", who.id);
        const auto start = Clock::now();
        for (int i = 0; i < repeats; ++i)
            if (const auto failed = run(who, call, set, true)) {
                answer.outcome = *failed;
                answer.outcome.of_incumbent = &who == incumbent;
                return std::nullopt;
            }
        return ns_since(start) / repeats;
    };
    const auto start = Clock::now();
    // Warm: pages, caches and threads as in the second call of a user's program.
    const auto first_incumbent =
        incumbent != nullptr ? timed_run(*incumbent, incumbent_call, 1) : std::optional<double>(0);
    if (!first_incumbent) return answer;
    const auto first_candidate = timed_run(candidate, candidate_call, 1);
    if (!first_candidate) return answer;
    const double shortest = incumbent != nullptr ? std::min(*first_candidate, *first_incumbent) : *first_candidate;
    const int repeats =
        static_cast<int>(std::clamp(kLeastSampleNs / std::max(shortest, 1.0), 1.0, double{kMostRepeats}));

    autotune::PairedTimes times;
    for (int i = 0; i < request.max_runs; ++i) {
        if (i >= request.min_runs && ns_since(start) > request.budget_s * 1e9) break;
        // Who goes first changes from pair to pair, so that neither always inherits the other's caches.
        const bool candidate_first = i % 2 == 0;
        std::optional<double> of_candidate, of_incumbent;
        if (candidate_first && !(of_candidate = timed_run(candidate, candidate_call, repeats))) return answer;
        if (incumbent != nullptr && !(of_incumbent = timed_run(*incumbent, incumbent_call, repeats))) return answer;
        if (!candidate_first && !(of_candidate = timed_run(candidate, candidate_call, repeats))) return answer;
        times.candidate_ns.push_back(*of_candidate);
        if (incumbent == nullptr) continue;
        times.incumbent_ns.push_back(*of_incumbent);
        bool hopeless =
            i + 1 >= request.min_runs || (*of_candidate > 3 * *of_incumbent && *first_candidate > 2 * *of_incumbent);
        for (std::size_t pair = 0; hopeless && pair < times.candidate_ns.size(); ++pair)
            hopeless = times.candidate_ns[pair] > request.give_up_ratio * times.incumbent_ns[pair];
        if (hopeless) break;
    }
    answer.value = std::move(times);
    return answer;
}

} // namespace tilewright::native
