// python/native/worker/bench.cpp: guarded runs, comparison with the default schedule and with NumPy, interleaved times.
#include "python/native/worker/bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "dsl/runtime/parallel.h"
#include "python/native/worker/compare.h"
#include "python/native/worker/limits.h"
#include "python/native/worker/planted_specials.h"

namespace tilewright::native {

using autotune::Outcome;
using autotune::OutcomeKind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kMostReferences = 3; ///< variants whose results are kept at once
constexpr double kLeastSampleNs =
    50000; ///< shorter calls are timed several at a time: the clock itself costs some 30 ns
/// Events tell half a microsecond, and the first call of several waits for its launch.
constexpr double kLeastDeviceSampleNs = 400'000;
constexpr int kMostRepeats = 10000;
/// A loop that special values keep from ending would take the worker with it.
constexpr double kLeastPlantedS = 1, kPlantedRatio = 20;
constexpr unsigned char kPoison = 0xa5; ///< an element that nobody wrote is no result

double ns_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

void fill_in_parallel(char* data, std::size_t bytes) {
    runtime::parallel_pieces(bytes, std::size_t{1} << 20,
                             [&](std::size_t begin, std::size_t count) { std::memset(data + begin, kPoison, count); });
}

bool clock_has_passed(void* end) {
    return Clock::now() >= *static_cast<const Clock::time_point*>(end);
}

GuardedMemory copy_of(const auto& output) {
    const auto bytes = static_cast<std::size_t>(output.elements) * static_cast<std::size_t>(info(output.dtype).bytes);
    GuardedMemory copy(bytes);
    if (bytes > 0 && output.data != nullptr) std::memcpy(copy.behind_guard(), output.data, bytes);
    copy.make_read_only();
    return copy;
}

/// The arguments as they were once more, when special values have left them.
struct UploadedAfter {
    DeviceSet* on_device;
    const DataSet& set;
    ~UploadedAfter() noexcept(false) {
        if (on_device != nullptr && std::uncaught_exceptions() == 0) on_device->upload(set);
    }
};

bool has_same_bits(DType dtype, const char* ours, const char* theirs, std::int64_t elements) {
    return ours != nullptr && theirs != nullptr && !first_bit_difference(dtype, ours, theirs, elements);
}

} // namespace

Bench::Bench(const autotune::Job& job, Candidates& candidates, autotune::WorkerStatus* status, int device)
    : job_(job), candidates_(candidates), status_(status) {
    if (candidates.machine().is_device()) device_ = runtime::cuda::Place{device, nullptr};
}

void Bench::say(const char* phase, const std::string& id) {
    if (status_ == nullptr) return;
    std::strncpy(status_->phase, phase, sizeof status_->phase - 1);
    std::strncpy(status_->id, id.c_str(), sizeof status_->id - 1);
}

void Bench::load() {
    if (loaded_) return;
    if (job_.datasets.empty()) throw InternalError("tuning job: it has no data set.");
    sets_ = load_data_sets(job_);
    for (const DataSet& set : sets_)
        replays_.push_back(std::make_unique<StageReplay>(*set.description));
    if (device_) {
        device_->stream = runtime::cuda::new_stream(device_->device);
        for (const DataSet& set : sets_)
            device_sets_.emplace_back(*device_, set);
    }
    loaded_ = true;
}

DeviceSet* Bench::on_device(const DataSet& set) {
    return device_ ? &device_sets_[static_cast<std::size_t>(&set - sets_.data())] : nullptr;
}

Bench::Call Bench::make_ready(const Candidate& candidate, DataSet& set, Place place) {
    const runtime::Executable& executable = *candidate.executable;
    const runtime::Plan& plan = executable.plan();
    Call call;
    call.written.resize(set.written.size());
    call.frame_memory.resize(executable.frame_bytes() + 64);
    call.frame = executable.lay_out(call.frame_memory.data());
    DeviceSet* const on_device = this->on_device(set);
    if (device_) call.frame.place = &*device_;
    call.frame.stages = replay(set).runner();
    const std::vector<autotune::JobArgument>& described = set.description->arguments;
    for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
        const std::string& name = plan.arguments[i].name;
        const bool is_written = plan.arguments[i].written;
        const auto found = std::ranges::find(described, name, &autotune::JobArgument::name);
        if (found == described.end())
            throw InternalError("tuning job: data set " + set.description->kind + " lacks the argument " + name + ".");
        if (is_written && !found->is_written)
            throw InternalError("tuning job: data set " + set.description->kind + " does not say that " + name +
                                " is written.");
        const auto j = static_cast<std::size_t>(found - described.begin());
        new (&call.frame.arguments[i]) runtime::CallArgument(set.arguments[j]);
        if (on_device != nullptr && !found->is_scalar) call.frame.arguments[i].array.data = on_device->argument(set, j);
        for (std::size_t k = 0; is_written && k < set.written.size(); ++k) {
            const WrittenArgument& written = set.written[k];
            if (written.argument != j) continue;
            const auto item = static_cast<std::size_t>(info(written.dtype).bytes);
            call.written[k] = on_device != nullptr ? on_device->written(k).data() : written.copy.at(place, item);
            call.frame.arguments[i].array.data = call.written[k] + written.first;
        }
    }
    int argument = -1;
    if (!executable.read_sizes(call.frame, argument))
        throw InternalError("tuning job: argument " + plan.arguments[static_cast<std::size_t>(argument)].name +
                            " has more than 2^31 - 2^27 elements.");
    if (const int guard = executable.failed_guard(call.frame); guard >= 0)
        throw InternalError("tuning job: data set " + set.description->kind +
                            " breaks a guard: " + executable.guard_message(guard, call.frame));
    call.version = executable.select(call.frame);
    if (call.version < 0) return call;
    if (!executable.size_results(call.frame))
        throw InternalError("tuning job: data set " + set.description->kind + ": a result has no legal size.");
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
        const auto item = static_cast<std::size_t>(info(plan.results[i].dtype).bytes);
        const std::size_t bytes = static_cast<std::size_t>(call.frame.results[i].elements) * item;
        if (set.results.size() <= i) set.results.emplace_back(bytes);
        if (set.results[i].bytes() != bytes)
            throw InternalError("worker: result " + plan.results[i].name + " has " + std::to_string(bytes) +
                                " bytes, with another schedule " + std::to_string(set.results[i].bytes()) + ".");
        call.frame.results[i].data =
            on_device != nullptr ? on_device->result(i, bytes).data() : set.results[i].at(place, item);
    }
    return call;
}

void Bench::poison(DataSet& set, const Candidate& candidate, Place place) {
    const runtime::Plan& plan = candidate.executable->plan();
    DeviceSet* const there = on_device(set);
    for (std::size_t i = 0; i < set.results.size(); ++i) {
        const auto item = static_cast<std::size_t>(info(plan.results[i].dtype).bytes);
        if (there != nullptr)
            there->result(i, set.results[i].bytes()).poison();
        else
            fill_in_parallel(set.results[i].at(place, item), set.results[i].bytes());
    }
}

void Bench::refresh(const Call& call, const DataSet& set) {
    for (std::size_t k = 0; k < set.written.size(); ++k) {
        if (call.written[k] == nullptr) continue;
        if (DeviceSet* const there = on_device(set))
            there->refresh(set, k);
        else
            restore(set, set.written[k], call.written[k]);
    }
}

Bench::Failure Bench::device_failure(const std::string& text) const {
    end_with_lost_device(text);
    return Failure{{OutcomeKind::run_crashed, text}, false};
}

std::optional<Bench::Failure> Bench::finish() {
    if (!device_) return std::nullopt;
    try {
        runtime::cuda::synchronize(*device_);
    } catch (const DeviceError& error) {
        return device_failure(error.what());
    }
    return std::nullopt;
}

FaultyResult Bench::first_output(const Candidate& candidate, const Call& call, const DataSet& set) {
    const auto item = [](DType dtype) { return static_cast<std::size_t>(info(dtype).bytes); };
    if (!set.results.empty())
        return {static_cast<char*>(call.frame.results[0].data), set.results[0].bytes(),
                item(candidate.executable->plan().results[0].dtype)};
    if (!set.written.empty() && call.written[0] != nullptr)
        return {call.written[0], set.written[0].copy.bytes(), item(set.written[0].dtype)};
    return {nullptr, 0, 0};
}

bool Bench::act_out_fault(const Candidate& candidate, const Call& call, const DataSet& set, bool timed) {
    FaultyResult output = first_output(candidate, call, set);
    const bool recorded = set.recorded && !planted_;
    DeviceSet* const there = on_device(set);
    if (there == nullptr || output.data == nullptr) return act_while_running(candidate.fault, output, recorded, timed);
    DeviceBlock& block = set.results.empty() ? there->written(0) : there->result(0, output.bytes);
    std::vector<char> whole = block.whole();
    output.data = whole.data() + DeviceBlock::kZone;
    output.bytes = block.bytes();
    const bool done = act_while_running(candidate.fault, output, recorded, timed);
    block.put(whole);
    return done;
}

std::optional<Bench::Failure> Bench::run(const Candidate& candidate, const Call& call, DataSet& set, bool timed,
                                         double limit_s, const StageReplay::Watch& watch) {
    std::string failed;
    replay(set).begin(candidate.executable->stages(), watch);
    Clock::time_point end = Clock::now();
    if (limit_s > 0) end += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
    const runtime::Interrupt interrupt{clock_has_passed, &end};
    runtime::RunStatus status =
        candidate.executable->run(call.frame, call.version, limit_s > 0 ? &interrupt : nullptr, &failed);
    if (device_ && !timed && status == runtime::RunStatus::done)
        if (auto failure = finish()) return failure;
    if (!candidate.fault.empty() && !act_out_fault(candidate, call, set, timed))
        status = runtime::RunStatus::out_of_memory;
    const std::string data = "the data set " + set.description->kind;
    // Special values may lead a call to other stages than those that were recorded.
    const std::string unlike = replay(set).problem(status == runtime::RunStatus::done);
    if (!unlike.empty()) return Failure{{OutcomeKind::wrong_answer, unlike}, planted_};
    switch (status) {
    case runtime::RunStatus::done:
        break;
    case runtime::RunStatus::out_of_memory:
        return Failure{{OutcomeKind::run_crashed, "out of memory on " + data}, false};
    case runtime::RunStatus::failed:
        return Failure{{OutcomeKind::run_crashed, "a kernel returned an error on " + data}, false};
    case runtime::RunStatus::out_of_range:
        return Failure{{OutcomeKind::run_crashed, "a size is out of range on " + data}, true};
    case runtime::RunStatus::check_failed:
        return Failure{{OutcomeKind::run_crashed, "NumPy has to run " + data + ": " + failed}, true};
    case runtime::RunStatus::interrupted:
        return Failure{{OutcomeKind::run_timed_out, "a loop did not end on " + data}, true};
    case runtime::RunStatus::device_error:
        return device_failure(failed + " This was on " + data + ".");
    }
    return std::nullopt;
}

std::vector<Bench::Output> Bench::outputs(const Candidate& candidate, const Call& call, DataSet& set) {
    const runtime::Plan& plan = candidate.executable->plan();
    std::vector<Output> all;
    DeviceSet* const there = on_device(set);
    const auto downloaded = [](const DeviceBlock& block, const GuardedMemory& to, DType dtype) {
        char* const here = to.before_guard(static_cast<std::size_t>(info(dtype).bytes));
        block.download(here);
        return here;
    };
    for (std::size_t i = 0; i < plan.results.size(); ++i) {
        const runtime::CallResult& result = call.frame.results[i];
        Output output;
        output.name = plan.results[i].name;
        output.dtype = plan.results[i].dtype;
        output.shape.assign(result.shape, result.shape + plan.results[i].shape.size());
        output.elements = result.elements;
        output.data = static_cast<const char*>(result.data);
        if (there != nullptr)
            output.data = downloaded(there->result(i, set.results[i].bytes()), set.results[i], output.dtype);
        // NumPy's results come in the order of `return`.
        for (std::size_t r = 0; r < plan.returns.size() && r < set.expected.size(); ++r) {
            // What a stage holds is not here; the array that it holds a copy of was compared as its operand.
            if (plan.returns[r] != output.name || plan.numbers[r] == "held") continue;
            const autotune::JobExpected& expected = set.description->expected[r];
            if (expected.shape != output.shape || expected.dtype != info(output.dtype).name)
                throw InternalError("tuning job: data set " + set.description->kind + ": NumPy's " + output.name +
                                    " has another shape or dtype than the program's.");
            output.numpy = set.expected[r].data();
        }
        all.push_back(std::move(output));
    }
    for (std::size_t k = 0; k < set.written.size(); ++k) {
        if (call.written[k] == nullptr) continue;
        WrittenArgument& written = set.written[k];
        const autotune::JobArgument& argument = set.description->arguments[written.argument];
        Output output;
        output.name = argument.name;
        output.dtype = written.dtype;
        output.shape = argument.shape;
        output.elements = elements_of(argument.shape);
        const char* const base =
            there != nullptr ? downloaded(there->written(k), written.copy, written.dtype) : call.written[k];
        output.data = gather(set, written, base);
        if (written.after) output.numpy = written.after->data();
        all.push_back(std::move(output));
    }
    return all;
}

namespace {

template <class Output> std::optional<Outcome> gaps_kept(const Output& output, const std::string& data) {
    if (output.data != nullptr || output.elements == 0) return std::nullopt;
    return Outcome{OutcomeKind::wrong_answer, "it writes between the elements of " + output.name + " (" + data + ")"};
}

/// `theirs` is what the default schedule gives.
template <class Output>
std::optional<Outcome> bits_differ(const Output& output, const char* theirs, const std::string& data) {
    if (auto wrong = gaps_kept(output, data)) return wrong;
    const auto difference = first_bit_difference(output.dtype, output.data, theirs, output.elements);
    if (!difference) return std::nullopt;
    return Outcome{OutcomeKind::wrong_answer, place_text(output.name, output.shape, *difference) + " is " +
                                                  element_text(output.dtype, output.data, *difference) +
                                                  ", the default schedule gives " +
                                                  element_text(output.dtype, theirs, *difference) + " (" + data + ")"};
}

} // namespace

std::optional<Outcome> Bench::device_damage(const DataSet& set, const std::string& data) {
    DeviceSet* const there = on_device(set);
    const auto damage = there != nullptr ? there->damage() : std::nullopt;
    if (!damage) return std::nullopt;
    return Outcome{OutcomeKind::wrong_answer, *damage + " (" + data + ")"};
}

std::optional<Outcome> Bench::compare_with_numpy(const std::vector<Output>& outputs, const DataSet& set) {
    const std::string data = "data set " + set.description->kind;
    for (const Output& output : outputs) {
        if (auto wrong = gaps_kept(output, data)) return wrong;
        if (output.numpy == nullptr) continue;
        const auto difference =
            tolerance_difference(output.dtype, output.data, output.numpy, output.elements, job_.tolerance);
        if (!difference) continue;
        return Outcome{OutcomeKind::wrong_answer, place_text(output.name, output.shape, difference->first) + " is " +
                                                      element_text(output.dtype, output.data, difference->first) +
                                                      ", NumPy gives " +
                                                      element_text(output.dtype, output.numpy, difference->first) +
                                                      " (" + data + "; " + std::to_string(difference->count) + " of " +
                                                      std::to_string(output.elements) + " elements differ)"};
    }
    return std::nullopt;
}

bool Bench::recorded_fits(const Candidate& candidate) {
    return make_ready(candidate, sets_.front(), Place::before_guard).version >= 0;
}

void Bench::forget_old_references() {
    const auto last_use = [](const auto& each) { return each.second.last_use; };
    while (references_.size() > kMostReferences)
        references_.erase(std::ranges::min_element(references_, {}, last_use));
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
    if (standard == nullptr && device_)
        return Outcome{OutcomeKind::build_failed,
                       "the default schedule of its variant fails on this device, and plain loops, which it could be "
                       "compared with instead, do not run there"};
    // A default that cannot be had is a defect that its own trial reports; candidates are then compared with plain
    // loops.
    if (standard == nullptr) standard = &candidates_.build("bare-" + key, unscheduled);
    if (!recorded_fits(*standard))
        return Outcome{OutcomeKind::illegal, "its variant does not serve the sizes of the recorded call"};

    Reference reference;
    reference.last_use = ++uses_;
    reference.outputs.resize(sets_.size());
    reference.served.assign(sets_.size(), false);
    reference.operands.resize(sets_.size());
    double recorded_s = 0;
    for (std::size_t s = 0; s < sets_.size() && reference.wrong.empty(); ++s) {
        DataSet& set = sets_[s];
        const Call call = make_ready(*standard, set, Place::before_guard);
        if (call.version < 0) continue;
        poison(set, *standard, Place::before_guard);
        refresh(call, set);
        const auto start = Clock::now();
        const StageReplay::Watch watch{.tolerance = &job_.tolerance, .kept = &reference.operands[s]};
        if (const auto failed = run(*standard, call, set, false, 0, watch)) {
            if (failed->is_the_datas && !set.recorded) continue;
            if (failed->kind == OutcomeKind::wrong_answer) {
                reference.wrong = failed->text;
                break;
            }
            return failed;
        }
        if (set.recorded) recorded_s = ns_since(start) * 1e-9;
        const std::vector<Output> all = outputs(*standard, call, set);
        if (const auto wrong = compare_with_numpy(all, set)) {
            reference.wrong = wrong->text;
            break;
        }
        for (const Output& output : all) {
            GuardedMemory copy;
            if (!has_same_bits(output.dtype, output.data, output.numpy, output.elements)) copy = copy_of(output);
            reference.outputs[s].push_back(std::move(copy));
        }
        reference.served[s] = true;
    }
    if (reference.wrong.empty())
        if (const auto failed = plant(*standard, reference, std::max(kLeastPlantedS, kPlantedRatio * recorded_s)))
            return failed;
    references_[variant] = std::move(reference);
    forget_old_references();
    return std::nullopt;
}

template <class Body>
std::optional<Outcome> Bench::with_planted(const Candidate& candidate, double limit_s, const StageReplay::Watch& watch,
                                           const Body& body) {
    DataSet& set = sets_.front();
    const UploadedAfter uploaded{on_device(set), set};
    const PlantedSpecials specials(set);
    if (!specials.any()) return std::nullopt;
    if (DeviceSet* const there = on_device(set)) there->upload(set);
    planted_ = true;
    const Call call = make_ready(candidate, set, Place::before_guard);
    poison(set, candidate, Place::before_guard);
    refresh(call, set);
    const auto failed = run(candidate, call, set, false, limit_s, watch);
    planted_ = false;
    // With a limit it is the reference that runs: what it cannot do with special values is nobody's fault.
    if (failed && failed->is_the_datas && limit_s > 0) return std::nullopt;
    if (failed) return failed;
    return body(outputs(candidate, call, set));
}

std::optional<Outcome> Bench::plant(const Candidate& candidate, Reference& reference, double limit_s) {
    const StageReplay::Watch watch{.kept = &reference.planted_operands};
    return with_planted(candidate, limit_s, watch, [&](const std::vector<Output>& all) -> std::optional<Outcome> {
        for (const Output& output : all)
            reference.planted.push_back(copy_of(output));
        return std::nullopt;
    });
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
        refresh(call, set);
        StageReplay::Watch watch;
        if (reference.served[s] && job_.contract != "fast") watch.same_as = &reference.operands[s];
        if (auto failed = run(candidate, call, set, false, 0, watch)) {
            if (failed->is_the_datas && !reference.served[s]) continue;
            return failed;
        }
        const std::vector<Output> all = outputs(candidate, call, set);
        if (auto wrong = device_damage(set, "data set " + set.description->kind)) return wrong;
        if (!reference.served[s] || job_.contract == "fast") {
            if (auto wrong = compare_with_numpy(all, set)) return wrong;
            continue;
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            const char* const kept = reference.outputs[s][i].behind_guard();
            if (auto wrong =
                    bits_differ(all[i], kept != nullptr ? kept : all[i].numpy, "data set " + set.description->kind))
                return wrong;
        }
        // Writing before the first element is only seen where the guard lies in front: the timed runs do that for the
        // recorded call.
        if (set.recorded || device_) continue;
        const Call again = make_ready(candidate, set, Place::behind_guard);
        refresh(again, set);
        if (auto failed = run(candidate, again, set, false)) return failed;
    }
    return std::nullopt;
}

std::optional<Outcome> Bench::verify_planted(const Candidate& candidate, const Reference& reference) {
    const StageReplay::Watch watch{.same_as = &reference.planted_operands};
    return with_planted(candidate, 0, watch, [&](const std::vector<Output>& all) {
        auto wrong = device_damage(sets_.front(), "the recorded data set");
        for (std::size_t i = 0; i < all.size() && !wrong; ++i)
            wrong = bits_differ(all[i], reference.planted[i].behind_guard(),
                                "data set recorded, with special values planted in it");
        return wrong;
    });
}

autotune::OrOutcome<autotune::PairedTimes> Bench::measure(const autotune::MeasureRequest& request) {
    load();
    autotune::OrOutcome<autotune::PairedTimes> answer;
    const Candidate& candidate = candidates_.get(request.candidate);
    const Candidate* incumbent = request.incumbent.empty() ? nullptr : &candidates_.get(request.incumbent);
    DataSet& set = sets_.front();
    const Call candidate_call = make_ready(candidate, set, Place::behind_guard);
    if (candidate_call.version < 0) return Outcome{OutcomeKind::illegal, "it does not serve the recorded call"};
    Call incumbent_call;
    if (incumbent != nullptr) incumbent_call = make_ready(*incumbent, set, Place::behind_guard);

    // The status names who runs right now: when the process dies the search knows whom to blame.
    auto timed_run = [&](const Candidate& who, const Call& call, int repeats) -> std::optional<double> {
        say("measure", who.id);
        const autotune::OrOutcome<double> ns = timed(who, call, set, repeats);
        if (ns.value) return ns.value;
        answer.outcome = ns.outcome;
        answer.outcome.of_incumbent = &who == incumbent;
        return std::nullopt;
    };
    const auto start = Clock::now();
    // Warm: pages, caches and threads as in the second call of a user's program.
    const auto first_incumbent =
        incumbent != nullptr ? timed_run(*incumbent, incumbent_call, 1) : std::optional<double>(0);
    if (!first_incumbent) return answer;
    const auto before_candidate = Clock::now();
    const auto first_candidate = timed_run(candidate, candidate_call, 1);
    if (!first_candidate) return answer;
    const double sample_ns = device_ ? kLeastDeviceSampleNs : kLeastSampleNs;
    double shortest = incumbent != nullptr ? std::min(*first_candidate, *first_incumbent) : *first_candidate;
    // What stages give is copied, which may take far longer than the kernels around them.
    if (!candidate.executable->stages().empty()) shortest = std::max(shortest, ns_since(before_candidate));
    const int repeats = static_cast<int>(std::clamp(sample_ns / std::max(shortest, 1.0), 1.0, double{kMostRepeats}));

    autotune::PairedTimes times;
    // Of calls that take so long, those that warm up are warm enough to count: the check has just run the candidate.
    const bool is_long = request.limit_s > 0 && 2 * ns_since(start) > request.limit_s * 1e9;
    if (is_long) {
        times.candidate_ns.push_back(*first_candidate);
        if (incumbent != nullptr) times.incumbent_ns.push_back(*first_incumbent);
    }
    for (int i = is_long ? 1 : 0; i < request.max_runs; ++i) {
        const double spent_ns = ns_since(start);
        if (i >= request.min_runs && spent_ns > request.budget_s * 1e9) break;
        if (i > 0 && request.limit_s > 0 && spent_ns + spent_ns / (is_long ? i : i + 1) > request.limit_s * 1e9) break;
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
    if (const auto wrong = device_damage(set, "while it was timed")) return *wrong;
    return times;
}

/// On a device calls stand back to back between two events: what the host does beside them does not count as long as it
/// keeps ahead.
autotune::OrOutcome<double> Bench::timed(const Candidate& candidate, const Call& call, DataSet& set, int repeats) {
    const bool flushed = device_ && job_.l2 == "flushed";
    // Calls that need something put back before each are timed one by one.
    const int at_once = set.written.empty() && !flushed ? repeats : 1;
    double spent_ns = 0;
    try {
        if (flushed && !flushing_) flushing_.emplace(*device_, 2 * candidates_.machine().device->l2_bytes);
        std::optional<runtime::cuda::Timer> timer;
        if (device_) timer.emplace(*device_);
        for (int done = 0; done < repeats; done += at_once) {
            refresh(call, set);
            if (flushed) flushing_->poison();
            if (timer) timer->start();
            replay(set).take_spent_ns();
            const auto start = Clock::now();
            for (int i = 0; i < at_once; ++i)
                if (const auto failure = run(candidate, call, set, true)) return Outcome(*failure);
            if (timer) timer->stop();
            // NumPy computes stages: playing them back is no part of what a schedule takes.
            spent_ns += timer ? timer->elapsed_ns() : std::max(0.0, ns_since(start) - replay(set).take_spent_ns());
        }
        return spent_ns / repeats;
    } catch (const DeviceError& error) {
        return Outcome(device_failure(error.what()));
    }
}

} // namespace tilewright::native
