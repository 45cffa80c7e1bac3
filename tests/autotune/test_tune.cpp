// tests/autotune/test_tune.cpp: whole searches on recorded times: the right best, under every kind of failure.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/tune.h"
#include "dsl/base/error.h"
#include "landscape.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;
using testing::kSpaceText;
using testing::time_of;

constexpr const char* kDefaultText = "tilewright-schedule 1\nschedule get_labels for x86-64-v4\n"
                                     "labels.split(i, io, ii, 4096).parallel(io).vectorize(ii, 8)\n";

class TuneTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-tune-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        job.function = "get_labels";
        job.isa = "x86-64-v4";
        job.space = kSpaceText;
        job.workload_key = "w1";
        job.family_key = "family";
        job.budget_s = 60;
        job.seed = 1;
        environment.machine = testing::example_machine();
        environment.rules.default_schedule = [](const dsl::AlgorithmInfo& info, const Machine&) {
            dsl::Schedule schedule = dsl::parse_schedule(kDefaultText, "<default>");
            for (const auto& [name_, option] : info.variant) {
                dsl::VariantChoice choice;
                choice.name = name_;
                choice.options = {option};
                schedule.variants.push_back(choice);
            }
            return schedule;
        };
        environment.rules.default_space = [](const dsl::AlgorithmInfo&, const Machine&) {
            return dsl::parse_schedule(kSpaceText, "<space>");
        };
        environment.rules.check = [this](const dsl::AlgorithmInfo&, const dsl::Schedule& schedule) {
            std::vector<dsl::Violation> violations;
            if (illegal && illegal(dsl::print_schedule(schedule))) {
                dsl::Violation violation;
                violation.message = "labels.ii: made illegal by the test.";
                violations.push_back(violation);
            }
            return violations;
        };
        environment.observer = [this](const nlohmann::json& event) { events.push_back(event); };
        landscape = [](const std::string& text) { return RecordedCandidate{{}, time_of(text), 0.1, 0}; };
    }
    void TearDown() override { fs::remove_all(folder); }

    RecordedWorkbench make_bench(std::uint64_t seed = 1) {
        return RecordedWorkbench(
            testing::example_info(), [this](const dsl::Schedule& s) { return landscape(dsl::print_schedule(s)); },
            seed);
    }
    TuneResult run(RecordedWorkbench& bench) {
        environment.workbench = &bench;
        environment.clock_s = [&bench] { return bench.now_s(); };
        return tune(job, environment);
    }
    TuneResult run() {
        RecordedWorkbench bench = make_bench();
        return run(bench);
    }
    /// The best time of the whole space.
    double best_of_space() {
        const std::vector<SearchSpace> spaces = {testing::open_space()};
        double best = 1e300;
        // Enough random points of a space of a few thousand to see the best or its neighbour.
        std::mt19937_64 rng(1);
        for (int i = 0; i < 60000; ++i)
            if (auto point = spaces[0].space.random_point(rng, spaces[0].environment))
                best = std::min(best, time_of(dsl::print_schedule(spaces[0].space.at(*point))));
        return best;
    }
    void take_80_megabytes() {
        JobArgument x;
        x.name = "X";
        x.dtype = "float64";
        x.shape = {10000000};
        x.strides_bytes = {8};
        JobDataSet set;
        set.arguments = {x};
        job.datasets = {set};
    }
    /// A landscape where the default schedule alone ends so.
    static std::function<RecordedCandidate(const std::string&)> default_fails(Outcome outcome) {
        return [outcome = std::move(outcome)](const std::string& text) {
            RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
            if (text == dsl::print_schedule(dsl::parse_schedule(kDefaultText, ""))) candidate.outcome = outcome;
            return candidate;
        };
    }
    int count(const std::string& event) const {
        int found = 0;
        for (const auto& one : events)
            found += one["event"] == event;
        return found;
    }

    std::string folder;
    Job job;
    TuneEnvironment environment;
    std::function<bool(const std::string&)> illegal;
    std::function<RecordedCandidate(const std::string&)> landscape;
    std::vector<nlohmann::json> events;
};

TEST_F(TuneTest, FindsAScheduleWithinFivePercentAndSaysWhyItIsBest) {
    std::vector<double> regrets;
    const double best = best_of_space();
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        job.seed = seed;
        RecordedWorkbench bench = make_bench(seed);
        const TuneResult result = run(bench);
        ASSERT_TRUE(result.found);
        regrets.push_back(time_of(result.schedule) / best);
        EXPECT_LE(result.elapsed_s, job.budget_s * 1.02 + 1);
        EXPECT_LT(result.to_default.ratio, 0.8);
        ASSERT_TRUE(result.to_default.interval);
        EXPECT_LT(result.to_default.interval->high, 1);
        EXPECT_GT(result.trials, 60);
    }
    std::sort(regrets.begin(), regrets.end());
    EXPECT_LE(regrets[2], 1.05);
}

TEST_F(TuneTest, EveryEventOfASearchIsToldInOrder) {
    job.max_trials = 10;
    const TuneResult result = run();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.front()["event"], "started");
    EXPECT_EQ(events.back()["event"], "finished");
    EXPECT_EQ(count("trial"), result.trials);
    EXPECT_GE(count("new_best"), 1);
    EXPECT_EQ(count("warning"), 0);
    EXPECT_EQ(result.reason, "the number of trials was used up");
    EXPECT_EQ(result.trials, 10);
    EXPECT_GT(events[2]["left_s"].get<double>(), 0);
}

TEST_F(TuneTest, EveryKindOfFailureCostsOneCandidateAndNotTheBest) {
    // Two thirds of all candidates fail, in every way there is; the failing ones would be twice as fast.
    landscape = [](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
        if (text == dsl::print_schedule(dsl::parse_schedule(kDefaultText, ""))) return candidate;
        const std::size_t hash = std::hash<std::string>{}(text) % 12;
        static const OutcomeKind kinds[] = {OutcomeKind::build_failed, OutcomeKind::build_timed_out,
                                            OutcomeKind::run_crashed, OutcomeKind::run_timed_out,
                                            OutcomeKind::wrong_answer};
        if (hash < 5) {
            candidate.outcome = {kinds[hash], "injected"};
            candidate.median_ns /= 2;
        }
        return candidate;
    };
    illegal = [](const std::string& text) { return std::hash<std::string>{}(text) % 12 == 5; };
    job.budget_s = 300;
    job.max_trials = 250;
    const TuneResult result = run();
    ASSERT_TRUE(result.found);
    for (const char* name :
         {"illegal", "build_failed", "build_timed_out", "run_crashed", "run_timed_out", "wrong_answer", "measured"})
        EXPECT_GT(result.outcomes.at(name), 0) << name;
    EXPECT_FALSE(illegal(result.schedule));
    EXPECT_EQ(landscape(result.schedule).outcome.kind, OutcomeKind::measured);
    EXPECT_LT(time_of(result.schedule), time_of(kDefaultText) * 0.8);
}

TEST_F(TuneTest, AnIncumbentThatCrashesLaterLosesItsPlace) {
    // The very best points crash after two timings: none of them may be the result.
    const double tempting = best_of_space() * 1.25;
    landscape = [&](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
        if (candidate.median_ns < tempting) candidate.crashes_after = 2;
        return candidate;
    };
    job.max_trials = 150;
    Store store(folder + "/store.db");
    environment.store = &store;
    const TuneResult result = run();
    ASSERT_TRUE(result.found);
    EXPECT_GE(time_of(result.schedule), tempting);
    EXPECT_GE(count("warning"), 1);
    EXPECT_EQ(store.best("w1")->schedule, result.schedule);
    for (const StoredTrial& trial : store.trials("w1"))
        EXPECT_TRUE(trial.digest != result.digest || time_of(trial.schedule) >= tempting);
}

TEST_F(TuneTest, NoWinnerWithinNoise) {
    // Everything takes the same time: the default stays, however lucky others look.
    landscape = [](const std::string&) { return RecordedCandidate{{}, 1e6, 0.05, 0}; };
    int lucky = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        job.seed = seed;
        job.max_trials = 60;
        RecordedWorkbench bench = make_bench(seed);
        const TuneResult result = run(bench);
        lucky += result.schedule != dsl::print_schedule(dsl::parse_schedule(kDefaultText, ""));
    }
    EXPECT_LE(lucky, 2);
}

TEST_F(TuneTest, GoesOnWhereItStopped) {
    Store store(folder + "/store.db");
    environment.store = &store;
    job.max_trials = 40;
    RecordedWorkbench first = make_bench(1);
    const TuneResult one = run(first);
    EXPECT_EQ(one.trials, 40);
    EXPECT_EQ(store.trials("w1").size(), 40u);
    RecordedWorkbench second = make_bench(2);
    const TuneResult two = run(second);
    EXPECT_EQ(two.known, 40);
    // Only the default and the best are built again.
    int again = 0;
    for (const std::string& id : second.built_ids())
        again += static_cast<int>(first.built_ids().count(id));
    EXPECT_LE(again, 2);
    EXPECT_GE(store.trials("w1").size(), 76u);
    EXPECT_LE(time_of(two.schedule), time_of(one.schedule) * 1.001);
    EXPECT_EQ(store.best("w1")->schedule, two.schedule);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(TuneTest, KilledInTheMiddleItLosesNothingAndGoesOn) {
    const std::string path = folder + "/store.db";
    const pid_t pid = fork();
    if (pid == 0) {
        Store store(path);
        environment.store = &store;
        RecordedWorkbench bench = make_bench(1);
        bench.set_hook([&bench] {
            if (bench.builds() >= 30) kill(getpid(), SIGKILL);
        });
        run(bench);
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    Store store(path);
    const auto kept = store.trials("w1");
    EXPECT_GE(kept.size(), 28u);
    ASSERT_TRUE(store.best("w1")) << "the best so far is a record at once";
    const double best_before = time_of(store.best("w1")->schedule);
    environment.store = &store;
    job.max_trials = 20;
    const TuneResult result = run();
    EXPECT_EQ(result.known, static_cast<int>(kept.size()));
    EXPECT_LE(time_of(result.schedule), best_before * 1.001);
}

TEST_F(TuneTest, CtrlCKeepsTheBestSoFar) {
    std::atomic<bool> cancel{false};
    environment.cancel = &cancel;
    Store store(folder + "/store.db");
    environment.store = &store;
    RecordedWorkbench bench = make_bench(1);
    bench.set_hook([&] {
        if (bench.builds() >= 25) cancel = true;
    });
    const TuneResult result = run(bench);
    EXPECT_TRUE(result.cancelled);
    EXPECT_EQ(result.reason, "interrupted");
    ASSERT_TRUE(result.found);
    EXPECT_LE(bench.builds(), 27);
    EXPECT_EQ(store.best("w1")->schedule, result.schedule);
}

TEST_F(TuneTest, StopsAtTheLimitOfTheMachine) {
    take_80_megabytes();
    // 80 MB at 9 GB/s take 8.9 ms: between the default and the best of the space.
    environment.machine.roofline.levels = {{1 << 22, 9, 9, 9}};
    int measured = 0;
    environment.rules.measure_roofline = [&](const Machine& machine) {
        ++measured;
        return machine.roofline;
    };
    const TuneResult result = run();
    EXPECT_EQ(result.reason, "95 % of this machine's measured limit was reached (memory), measured beside it");
    EXPECT_EQ(result.limit.roof, Roof::memory);
    EXPECT_GE(result.limit.share, 0.93);
    EXPECT_LE(result.limit.share, 1.0);
    EXPECT_EQ(measured, 1) << "a limit that a candidate seems to beat is measured again, once";
    EXPECT_NEAR(result.gbps, 80e6 / result.median_ns, 1e-6);
}

TEST_F(TuneTest, ALimitTakenOnABusyMachineIsRaisedAndTheSearchGoesOn) {
    take_80_megabytes();
    environment.machine.roofline.levels = {{1 << 22, 2, 2, 2}};
    environment.rules.measure_roofline = [](const Machine&) {
        Roofline better;
        better.levels = {{1 << 22, 60, 60, 60}};
        return better;
    };
    job.max_trials = 30;
    const TuneResult result = run();
    EXPECT_EQ(result.reason, "the number of trials was used up");
    EXPECT_EQ(result.limit.roof, Roof::memory);
    EXPECT_LT(result.limit.share, 0.5);
}

TEST_F(TuneTest, ACallThatMovesLessThanItsArgumentsClaimsNoShare) {
    take_80_megabytes();
    // However often it is measured: what is counted as moved is not moved.
    environment.machine.roofline.levels = {{1 << 22, 2, 2, 2}};
    environment.rules.measure_roofline = [](const Machine& machine) { return machine.roofline; };
    job.max_trials = 30;
    const TuneResult result = run();
    EXPECT_EQ(result.reason, "the number of trials was used up");
    EXPECT_EQ(result.limit.roof, Roof::none);
    EXPECT_EQ(to_json(result)["limit"], nlohmann::json());
}

TEST_F(TuneTest, WhatAKernelReachesBeyondADriversCopiesIsTheDevicesLimit) {
    take_80_megabytes();
    Store store(folder + "/store.db");
    environment.store = &store;
    environment.machine.device = assumed_device();
    environment.machine.roofline.levels = {{1 << 22, 9, 9, 9}};
    const TuneResult result = run();
    ASSERT_EQ(result.limit.roof, Roof::memory);
    EXPECT_DOUBLE_EQ(result.limit.share, 1.0);
    EXPECT_NEAR(store.roofline(environment.machine.fingerprint)->levels[0].read_gbps, result.gbps, 0.1);
    // So much more is no limit but a call that moves less than its arguments.
    environment.machine.roofline.levels = {{1 << 22, 2, 2, 2}};
    EXPECT_EQ(run().limit.roof, Roof::none);
}

TEST_F(TuneTest, StopsAtTheLimitOfArithmeticAndNamesIt) {
    // 320 million operations at 36 GFLOP/s take 8.9 ms.
    job.flops.float64_products = 320e6;
    environment.machine.roofline.levels = {{1 << 22, 50, 50, 50}};
    environment.machine.roofline.float64_gflops = 18;
    environment.machine.roofline.float64_fma_gflops = 36;
    environment.rules.measure_roofline = [](const Machine& machine) { return machine.roofline; };
    const TuneResult result = run();
    EXPECT_EQ(result.reason,
              "95 % of this machine's measured limit was reached (compute with FMA), measured beside it");
    const nlohmann::json limit = to_json(result)["limit"];
    EXPECT_EQ(limit["roof"], "compute with FMA");
    EXPECT_EQ(limit["unit"], "GFLOP/s");
    EXPECT_NEAR(limit["reached"].get<double>(), 36, 4);
    EXPECT_LE(limit["share"].get<double>(), 1);
}

TEST_F(TuneTest, ABudgetIsKeptWhateverACallTakes) {
    for (const double factor : {1.0, 30.0, 300.0}) {
        landscape = [factor](const std::string& text) { return RecordedCandidate{{}, factor * time_of(text), 0.1, 0}; };
        for (const double budget_s : {5.0, 20.0, 60.0}) {
            job.budget_s = budget_s;
            const TuneResult result = run();
            ASSERT_TRUE(result.found);
            // A build, a check and a pair of the slowest candidates that one still looks at, with finals behind.
            const double one_s = 0.1 + 4 * 2.5e-3 * factor * 10;
            EXPECT_LE(result.elapsed_s, std::max(1.1 * budget_s, budget_s + one_s)) << factor << " " << budget_s;
        }
    }
}

TEST_F(TuneTest, CallsOfSecondsAreSearchedToo) {
    // The default takes a second a call: a candidate that wins used to take twenty pairs.
    landscape = [](const std::string& text) { return RecordedCandidate{{}, 60 * time_of(text), 0.1, 0}; };
    job.budget_s = 120;
    const TuneResult result = run();
    EXPECT_GE(result.trials, 12);
    EXPECT_LT(time_of(result.schedule), 0.8 * time_of(kDefaultText)) << "few pairs that are clear are enough";
}

TEST_F(TuneTest, WhatTheCallerDoesBehindTheSearchIsInItsBudget) {
    job.reserved_s = 12;
    landscape = [](const std::string& text) { return RecordedCandidate{{}, time_of(text), 1.5, 0}; };
    EXPECT_LE(run().elapsed_s, job.budget_s - job.reserved_s - 1.5 + 0.5) << "the best is compiled once more";
    RecordedWorkbench bench = make_bench();
    environment.workbench = &bench;
    environment.clock_s = [&bench] { return bench.now_s(); };
    environment.start_s = bench.now_s() - 20; // measuring the machine's limits, say
    const TuneResult late = tune(job, environment);
    EXPECT_GE(late.elapsed_s, 20);
    EXPECT_LE(late.elapsed_s, job.budget_s - job.reserved_s);
}

TEST_F(TuneTest, StopsWhenTheSpaceIsUsedUp) {
    job.space = "tilewright-space 1\nspace get_labels for x86-64-v4\nlabels.split(i, io, ii, ?tile{1024, 4096, "
                "16384}).parallel(io).vectorize(ii, 16)\n";
    const TuneResult result = run();
    EXPECT_EQ(result.reason, "every point of the space was tried");
    EXPECT_EQ(result.trials, 4);
    EXPECT_NE(result.schedule.find("16384"), std::string::npos);
}

TEST_F(TuneTest, TriesStartsOfAutoschedulersFilesAndFamily) {
    Store store(folder + "/store.db");
    environment.store = &store;
    auto schedule = [](int tile, int lanes) {
        return "tilewright-schedule 1\nschedule get_labels for x86-64-v4\nlabels.split(i, io, ii, " +
               std::to_string(tile) + ").parallel(io).vectorize(ii, " + std::to_string(lanes) + ")\n";
    };
    store.put_workload({"w0", "family", "get_labels", "", environment.machine.fingerprint, 0});
    StoredRecord family;
    family.workload = "w0";
    family.schedule = schedule(8192, 32);
    store.put_record(family);
    job.starts = {schedule(2048, 16)};
    job.max_trials = 6;
    RecordedWorkbench bench = make_bench(1);
    bench.set_autoschedule("Adams2019", dsl::parse_schedule(schedule(32768, 16), ""));
    run(bench);
    std::set<std::string> origins;
    for (const StoredTrial& trial : store.trials("w1"))
        origins.insert(trial.origin);
    for (const char* origin : {"default", "file", "family", "Adams2019"})
        EXPECT_TRUE(origins.count(origin)) << origin;
}

TEST_F(TuneTest, AVariantWhoseDefaultIsWrongIsLeftOut) {
    job.space.reset();
    landscape = [](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
        if (text.find("variant norm = lanes1") != std::string::npos) {
            candidate.median_ns /= 3;
            candidate.outcome = {OutcomeKind::wrong_answer, "labels[3] is 1, NumPy gives 0"};
        }
        return candidate;
    };
    RecordedWorkbench bench = make_bench(1);
    bench.set_variants({{"norm", {"serial", "lanes1"}}});
    job.max_trials = 60;
    const TuneResult result = run(bench);
    ASSERT_TRUE(result.found);
    EXPECT_NE(result.schedule.find("variant norm = serial"), std::string::npos);
    EXPECT_EQ(result.outcomes.at("wrong_answer"), 1) << "one default is enough to condemn the variant";
    ASSERT_FALSE(result.notes.empty());
    EXPECT_NE(result.notes.back().find("variant norm = lanes1 is left out: labels[3] is 1, NumPy gives 0"),
              std::string::npos);
}

TEST_F(TuneTest, TheBetterVariantWins) {
    job.space.reset();
    landscape = [](const std::string& text) {
        return RecordedCandidate{
            {}, time_of(text) * (text.find("variant norm = lanes1") != std::string::npos ? 0.6 : 1), 0.05, 0};
    };
    RecordedWorkbench bench = make_bench(1);
    bench.set_variants({{"norm", {"serial", "lanes1"}}});
    const TuneResult result = run(bench);
    EXPECT_NE(result.schedule.find("variant norm = lanes1"), std::string::npos);
}

TEST_F(TuneTest, ADefaultThatFailsDoesNotEndTheSearch) {
    landscape = default_fails({OutcomeKind::run_crashed, "injected"});
    job.max_trials = 60;
    const TuneResult result = run();
    ASSERT_TRUE(result.found);
    EXPECT_EQ(result.default_ns, 0);
}

TEST_F(TuneTest, ADefaultThatFailsIsSaidAloud) {
    landscape = default_fails({OutcomeKind::wrong_answer, "labels[3] is 1, NumPy gives 0"});
    // Its variant is wrong with it: nothing of this space can be right.
    job.max_trials = 20;
    const TuneResult result = run();
    EXPECT_FALSE(result.found);
    EXPECT_EQ(result.default_failure, "wrong answer: labels[3] is 1, NumPy gives 0");
    ASSERT_EQ(count("warning"), 1);
    for (const auto& event : events)
        if (event["event"] == "warning") {
            EXPECT_EQ(event["text"],
                      "get_labels: the default schedule failed (wrong answer: labels[3] is 1, NumPy gives "
                      "0). It is what calls run without a tuned schedule. Please report it.");
        }
    EXPECT_EQ(to_json(result)["default_failure"], result.default_failure);
}

TEST_F(TuneTest, WhatCallsRunNowStaysWhereNothingIsFaster) {
    landscape = [](const std::string& text) {
        return RecordedCandidate{{}, text.find("30000") != std::string::npos ? 1e6 : time_of(text), 0.1, 0};
    };
    job.present_schedule = "tilewright-schedule 1\nschedule get_labels for host\nlabels.split(i, io, ii, 30000)\n";
    job.max_trials = 40;
    TuneResult result = run();
    EXPECT_EQ(result.present, "kept");
    EXPECT_NE(result.schedule.find("30000"), std::string::npos);
    EXPECT_EQ(to_json(result)["present"], "kept");
    // A slow one loses.
    landscape = [](const std::string& text) {
        return RecordedCandidate{{}, text.find("30000") != std::string::npos ? 1e9 : time_of(text), 0.1, 0};
    };
    result = run();
    EXPECT_EQ(result.present, "beaten");
    EXPECT_EQ(result.schedule.find("30000"), std::string::npos);
    // A wrong one has failed.
    landscape = [](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.1, 0};
        if (text.find("30000") != std::string::npos) candidate.outcome = {OutcomeKind::wrong_answer, "injected"};
        return candidate;
    };
    EXPECT_EQ(run().present, "failed");
    // One that had no turn is said to have had none.
    std::atomic<bool> cancel{true};
    environment.cancel = &cancel;
    EXPECT_EQ(run().present, "not measured");
    job.present_schedule.reset();
    EXPECT_EQ(run().present, "");
}

TEST_F(TuneTest, AnInterruptedSearchLeavesTheStoredBestAlone) {
    Store store(folder + "/store.db");
    environment.store = &store;
    job.max_trials = 60;
    const TuneResult tuned = run();
    ASSERT_LT(tuned.median_ns, time_of(kDefaultText) * 0.8);
    // Interrupted, or killed, right after the default was measured.
    std::atomic<bool> cancel{false};
    environment.cancel = &cancel;
    environment.observer = [&](const nlohmann::json& event) {
        if (event["event"] == "trial") {
            EXPECT_EQ(store.best("w1")->schedule, tuned.schedule);
            cancel = true;
        }
    };
    const TuneResult interrupted = run();
    EXPECT_TRUE(interrupted.cancelled);
    EXPECT_NE(interrupted.schedule, tuned.schedule);
    EXPECT_EQ(store.best("w1")->schedule, tuned.schedule);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(TuneTest, AStoredBestThatIsKilledFromOutsideKeepsItsMeasurement) {
    Store store(folder + "/store.db");
    environment.store = &store;
    job.max_trials = 60;
    const TuneResult tuned = run();
    landscape = [&](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
        if (text == tuned.schedule) candidate.outcome = {OutcomeKind::run_crashed, "ended by SIGKILL", false, true};
        return candidate;
    };
    job.max_trials = 5;
    run();
    EXPECT_EQ(store.best("w1")->schedule, tuned.schedule);
    EXPECT_TRUE(store.check().empty());
    // What crashes by itself is no record any more.
    landscape = [&](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.05, 0};
        if (text == tuned.schedule) candidate.outcome = {OutcomeKind::run_crashed, "ended by SIGSEGV"};
        return candidate;
    };
    run();
    EXPECT_NE(store.best("w1")->schedule, tuned.schedule);
    EXPECT_TRUE(store.check().empty());
}

TEST_F(TuneTest, NothingSlowerThanTheDefaultIsTheResult) {
    // Everything else is fast in the first timings and slow in the end, as where a machine changes its clock.
    int timings = 0;
    landscape = [](const std::string& text) { return RecordedCandidate{{}, time_of(text), 0.05, 0}; };
    job.max_trials = 40;
    RecordedWorkbench bench = make_bench();
    const std::string default_text = dsl::print_schedule(dsl::parse_schedule(kDefaultText, ""));
    const std::string default_digest = dsl::schedule_digest(dsl::parse_schedule(kDefaultText, ""));
    environment.workbench = &bench;
    environment.clock_s = [&bench] { return bench.now_s(); };
    environment.observer = [&](const nlohmann::json& event) {
        if (event["event"] == "phase" && event["phase"] == "finals")
            bench.set_slowdown([&](const std::string& id) { return id == default_digest ? 1.0 : 20.0; });
        timings += event["event"] == "trial";
    };
    const TuneResult result = tune(job, environment);
    EXPECT_EQ(timings, 40);
    EXPECT_EQ(result.schedule, default_text);
    EXPECT_EQ(result.to_default.ratio, 1);
}

TEST_F(TuneTest, NothingThatRunsIsAResultAndNotACrash) {
    landscape = [](const std::string&) {
        return RecordedCandidate{{OutcomeKind::build_failed, "injected"}, 1, 0.05, 0};
    };
    job.max_trials = 30;
    const TuneResult result = run();
    EXPECT_FALSE(result.found);
    EXPECT_EQ(result.outcomes.at("build_failed"), 30);
}

TEST_F(TuneTest, AGivenScheduleIsMeasuredBesideTheStoredBest) {
    Store store(folder + "/store.db");
    environment.store = &store;
    job.max_trials = 60;
    const TuneResult tuned = run();
    job.fixed_schedule = kDefaultText;
    job.max_trials = 0;
    TuneResult result = run();
    ASSERT_TRUE(result.fixed);
    EXPECT_EQ(result.fixed->outcome.kind, OutcomeKind::measured);
    EXPECT_GT(result.fixed->to_best.ratio, 1.2);
    EXPECT_DOUBLE_EQ(result.fixed->median_ns, result.fixed->best_ns * result.fixed->to_best.ratio);
    EXPECT_EQ(store.best("w1")->schedule, tuned.schedule) << "a slower one changes nothing";
    // A faster one becomes the record.
    landscape = [](const std::string& text) {
        return RecordedCandidate{{}, text.find("30000") != std::string::npos ? 1e6 : time_of(text), 0.1, 0};
    };
    job.fixed_schedule = "tilewright-schedule 1\nschedule get_labels for host\nlabels.split(i, io, ii, 30000)\n";
    result = run();
    EXPECT_LT(result.fixed->to_best.ratio, 0.5);
    EXPECT_NE(store.best("w1")->schedule.find("30000"), std::string::npos);
    // A wrong one is an outcome.
    landscape = [](const std::string& text) {
        RecordedCandidate candidate{{}, time_of(text), 0.1, 0};
        if (text.find("30001") != std::string::npos)
            candidate.outcome = {OutcomeKind::wrong_answer, "labels[0] is 1, NumPy gives 0"};
        return candidate;
    };
    job.fixed_schedule = "tilewright-schedule 1\nschedule get_labels for host\nlabels.split(i, io, ii, 30001)\n";
    result = run();
    EXPECT_EQ(result.fixed->outcome.text, "labels[0] is 1, NumPy gives 0");
    job.fixed_schedule = kSpaceText;
    EXPECT_THROW(run(), ScheduleError);
}

TEST_F(TuneTest, AFailingStoreCostsOneWarningAndNotTheResult) {
    // Each way a store can go bad in the middle of a search.
    const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> ways = {
        {"deleted", [](const std::string& path) { fs::remove(path); }},
        {"corrupt",
         [](const std::string& path) {
             for (const char* suffix : {"", "-wal"}) {
                 std::fstream file(path + suffix, std::ios::in | std::ios::out | std::ios::binary);
                 for (int i = 0; i < 200000; ++i)
                     file.put('\x55');
             }
         }},
        {"replaced",
         [](const std::string& path) {
             fs::remove(path);
             std::ofstream(path) << "text";
         }},
    };
    for (const auto& [name, damage] : ways) {
        const std::string path = folder + "/" + name + ".db";
        Store store(path, 50);
        environment.store = &store;
        events.clear();
        RecordedWorkbench bench = make_bench(1);
        bool done = false;
        bench.set_hook([&, &how = damage] {
            if (bench.builds() >= 10 && !done) {
                done = true;
                how(path);
            }
        });
        job.max_trials = 50;
        const TuneResult result = run(bench);
        EXPECT_TRUE(result.found) << name;
        EXPECT_EQ(result.trials, 50) << name;
        // Bytes changed behind SQLite's back may only be seen when the file is opened next; what is gone is seen at
        // once.
        if (name != "corrupt") {
            EXPECT_EQ(count("warning"), 1) << name;
        } else {
            EXPECT_LE(count("warning"), 1) << name;
        }
    }
}

TEST_F(TuneTest, ABuildThatCannotEndInTimeIsNotBegun) {
    job.budget_s = 20;
    landscape = [](const std::string& text) { return RecordedCandidate{{}, time_of(text), 7, 0}; };
    RecordedWorkbench bench = make_bench(1);
    const TuneResult result = run(bench);
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.trials, 2);
    EXPECT_LE(result.elapsed_s, job.budget_s);
}

TEST_F(TuneTest, WaitingForTheStoreIsNotTakenFromTheBudget) {
    job.budget_s = 4;
    const int undisturbed = run().trials;
    ASSERT_GT(undisturbed, 2);
    const std::string path = folder + "/locked.db";
    Store store(path, 1500);
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
    const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> closes(other, sqlite3_close);
    ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    environment.store = &store;
    RecordedWorkbench bench = make_bench(1);
    environment.workbench = &bench;
    environment.clock_s = [&bench] {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return bench.now_s() + std::chrono::duration<double>(now).count();
    };
    events.clear();
    const TuneResult result = tune(job, environment);
    EXPECT_EQ(count("warning"), 1);
    EXPECT_GT(result.elapsed_s, 5) << "it did wait";
    EXPECT_GE(result.trials, undisturbed - 1) << "and then had all of its time";
    for (const auto& event : events)
        EXPECT_TRUE(event["event"] != "warning" || event["left_s"] > 3.9) << event;
}

TEST_F(TuneTest, ASpaceWithoutAPointNamesTheCondition) {
    const std::string head = "tilewright-space 1\nspace get_labels for x86-64-v4\n"
                             "labels.split(i, io, ii, ?tile{1024, 4096}).parallel(io).vectorize(ii, ?lanes{8, 16})\n";
    const auto error_of = [&](const std::string& conditions) -> std::string {
        job.space = head + conditions;
        try {
            run();
        } catch (const ScheduleError& error) {
            return error.what();
        }
        return "";
    };
    const std::string advice =
        " no point of the space satisfies that. Correct the condition, leave it out, or give the "
        "holes more values.";
    EXPECT_EQ(error_of("where 1 == 2\n"), "<space>: where 1 == 2:" + advice);
    EXPECT_EQ(error_of("where ?tile >= 4096\nwhere ?lanes > 16\n"), "<space>: where ?lanes > 16:" + advice);
    EXPECT_EQ(error_of("where ?tile > 1024\nwhere ?tile < 4096\n"),
              "<space>: where ?tile > 1024, where ?tile < 4096:" + advice);
    EXPECT_EQ(error_of("where ?tile > 1024\n"), "");
}

TEST_F(TuneTest, MistakesInGivenTextsAreSaidAtOnce) {
    job.space = "tilewright-space 1\nspace get_labels for x86-64-v4\nvariant sum = {a, b}\nlabels.vectorize(i, 8)\n";
    EXPECT_THROW(run(), ScheduleError);
    job.space = "nonsense";
    EXPECT_THROW(run(), ScheduleError);
    job.space = kSpaceText;
    job.starts = {"nonsense"};
    EXPECT_THROW(run(), ScheduleError);
    job.starts = {};
    job.strategy = "annealing";
    EXPECT_THROW(run(), ScheduleError);
}

} // namespace
} // namespace tilewright::autotune
