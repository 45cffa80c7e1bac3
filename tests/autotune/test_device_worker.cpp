// tests/autotune/test_device_worker.cpp: workers that measure on a device, and those that build ahead of them: with a
// driver that computes nothing, and, where there is one, with a real one.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

#include "autotune/measure/process_workbench.h"
#include "autotune/measure/roofline.h"
#include "autotune/measure/statistics.h"
#include "autotune/space/default_space.h"
#include "autotune/tune.h"
#include "dsl/check/check.h"
#include "dsl/language/schedule_text.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/cuda/out_of_memory.h"
#include "kmeans_job.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;

class DeviceWorkerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-device-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        job = testing::kmeans_job(folder, 10007);
        job.worker = TW_WORKER;
        job.isa = "cuda-sm_80";
        job.threads = 3;
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
    }
    void TearDown() override {
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
        unsetenv("TILEWRIGHT_LIBCUDA");
        fs::remove_all(folder);
    }
    /// Kernels of the fake driver write nothing, and what nobody writes is 0xa5 in every byte: so NumPy says.
    void use_fake_driver() {
        setenv("TILEWRIGHT_LIBCUDA", TW_FAKE_DRIVER, 1);
        for (const JobDataSet& set : job.datasets)
            for (const JobExpected& expected : set.expected)
                testing::write_file(expected.file,
                                    std::vector<unsigned char>(static_cast<std::size_t>(expected.shape[0]) * 8, 0xa5));
    }
    static Machine device() {
        Machine machine = this_machine("cuda-sm_80", false);
        machine.cores = 2;
        return machine;
    }
    static dsl::Schedule default_of(ProcessWorkbench& bench) { return default_schedule(bench.describe({}), device()); }
    static void set_fault(const dsl::Schedule& schedule, const std::string& fault) {
        setenv("TILEWRIGHT_WORKER_FAULTS", nlohmann::json({{dsl::schedule_digest(schedule), fault}}).dump().c_str(), 1);
    }
    TuneResult search() {
        ProcessWorkbench bench(job);
        TuneEnvironment environment;
        environment.workbench = &bench;
        environment.machine = device();
        environment.rules.default_schedule = [](const dsl::AlgorithmInfo& info, const Machine& machine) {
            return default_schedule(info, machine);
        };
        environment.rules.default_space = [](const dsl::AlgorithmInfo& info, const Machine& machine) {
            return default_space(info, machine);
        };
        environment.rules.check = dsl::check;
        return tune(job, environment);
    }

    std::string folder;
    Job job;
};

TEST_F(DeviceWorkerTest, BuildsInOneProcessAndMeasuresInAnother) {
    use_fake_driver();
    ProcessWorkbench bench(job);
    EXPECT_EQ(bench.builds_ahead(), 2);
    const dsl::Schedule schedule = default_of(bench);
    bench.expect(schedule);
    const OrOutcome<Built> built = bench.build(schedule);
    ASSERT_TRUE(built.value) << built.outcome.text;
    EXPECT_GT(built.value->build_s, 0);
    const auto wrong = bench.verify(*built.value);
    ASSERT_FALSE(wrong) << wrong->text;
    const OrOutcome<PairedTimes> times = bench.measure(first_request(built.value->id, ""));
    ASSERT_TRUE(times.value) << times.outcome.text;
    EXPECT_GE(times.value->candidate_ns.size(), 8u);
}

TEST_F(DeviceWorkerTest, LimitsOfADeviceWithoutMemorySayHowManyBytesThereAreNot) {
    GTEST_FLAG_SET(death_test_style, "threadsafe"); // a driver is chosen once in a process
    EXPECT_EXIT(
        {
            use_fake_driver();
            const runtime::cuda::Place place;
            for (const std::size_t bytes : {std::size_t{256} << 20, std::size_t{1} << 20})
                while (runtime::cuda::allocate(place, bytes) != nullptr)
                    ;
            try {
                measure_device_roofline(0);
            } catch (const runtime::cuda::OutOfDeviceMemory& error) {
                std::fputs(error.what(), stderr);
                _exit(0);
            }
            _exit(1);
        },
        ::testing::ExitedWithCode(0), "^out of memory: device 0 has no 8388608 bytes left$");
}

TEST_F(DeviceWorkerTest, FlushesTheSecondCacheWhereAsked) {
    use_fake_driver();
    job.l2 = "flushed";
    ProcessWorkbench bench(job);
    const OrOutcome<Built> built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value);
    ASSERT_FALSE(bench.verify(*built.value));
    MeasureRequest request = first_request(built.value->id, "");
    request.max_runs = 3;
    EXPECT_TRUE(bench.measure(request).value);
}

TEST_F(DeviceWorkerTest, SeesWhatIsWrittenBesideAnArray) {
    use_fake_driver();
    for (const auto& [fault, words] :
         std::map<std::string, std::string>{{"write_behind", "it writes behind a result"},
                                            {"write_before", "it writes before a result"},
                                            {"wrong_element", "the default schedule gives"}}) {
        ProcessWorkbench first(job);
        const dsl::Schedule standard = default_of(first);
        dsl::Space space(default_space(first.describe({}), device()));
        dsl::Point point = space.first_point();
        point["?argmin_threads"] = 1;
        const dsl::Schedule schedule = space.at(point);
        ASSERT_NE(dsl::schedule_digest(schedule), dsl::schedule_digest(standard));
        set_fault(schedule, fault);
        ProcessWorkbench bench(job);
        const OrOutcome<Built> built = bench.build(schedule);
        ASSERT_TRUE(built.value) << built.outcome.text;
        const auto wrong = bench.verify(*built.value);
        ASSERT_TRUE(wrong) << fault;
        EXPECT_EQ(wrong->kind, OutcomeKind::wrong_answer);
        EXPECT_NE(wrong->text.find(words), std::string::npos) << wrong->text;
    }
}

TEST_F(DeviceWorkerTest, ACandidateThatCrashesCostsItsWorkerOnly) {
    use_fake_driver();
    ProcessWorkbench first(job);
    const dsl::Schedule schedule = default_of(first);
    set_fault(schedule, "crash_when_timed");
    ProcessWorkbench bench(job);
    const OrOutcome<Built> built = bench.build(schedule);
    ASSERT_TRUE(built.value);
    ASSERT_FALSE(bench.verify(*built.value));
    const OrOutcome<PairedTimes> times = bench.measure(first_request(built.value->id, ""));
    EXPECT_FALSE(times.value);
    EXPECT_EQ(times.outcome.kind, OutcomeKind::run_crashed);
    EXPECT_FALSE(bench.verify(*built.value)); // in another worker
}

TEST_F(DeviceWorkerTest, ACandidateThatHangsIsCutOffAndCostsItsWorkerOnly) {
    use_fake_driver();
    job.run_limit_s = 4;
    dsl::Schedule standard;
    dsl::Schedule hanging;
    {
        ProcessWorkbench first(job);
        standard = default_of(first);
        dsl::Space space(default_space(first.describe({}), device()));
        dsl::Point point = space.first_point();
        point["?argmin_threads"] = 1;
        hanging = space.at(point);
        ASSERT_NE(dsl::schedule_digest(hanging), dsl::schedule_digest(standard));
    }
    set_fault(hanging, "hang");
    ProcessWorkbench bench(job);
    const OrOutcome<Built> built = bench.build(hanging);
    ASSERT_TRUE(built.value) << built.outcome.text;
    const auto wrong = bench.verify(*built.value);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->kind, OutcomeKind::run_timed_out);
    EXPECT_NE(wrong->text.find("no answer within 4.0 s"), std::string::npos) << wrong->text;
    const OrOutcome<Built> next = bench.build(standard);
    ASSERT_TRUE(next.value) << next.outcome.text;
    EXPECT_FALSE(bench.verify(*next.value)); // in another worker
}

TEST_F(DeviceWorkerTest, ABuilderThatDiesIsReplaced) {
    use_fake_driver();
    ProcessWorkbench first(job);
    const dsl::Schedule schedule = default_of(first);
    set_fault(schedule, "abort_build");
    ProcessWorkbench bench(job);
    const OrOutcome<Built> built = bench.build(schedule);
    ASSERT_FALSE(built.value);
    EXPECT_EQ(built.outcome.kind, OutcomeKind::build_failed);
}

TEST_F(DeviceWorkerTest, SearchesOnOneDeviceAndOnTwo) {
    use_fake_driver();
    job.max_trials = 5;
    job.budget_s = 120;
    EXPECT_TRUE(search().found);
    job.devices = {0, 1};
    const TuneResult result = search();
    EXPECT_TRUE(result.found);
    EXPECT_EQ(result.trials, 5);
}

TEST_F(DeviceWorkerTest, WhatWasTimedAheadIsTakenOnce) {
    use_fake_driver();
    job.devices = {0, 1};
    ProcessWorkbench bench(job);
    EXPECT_EQ(bench.builds_ahead(), 1); // of three threads two are the devices'
    std::vector<std::string> ids;
    for (const int threads : {64, 128, 512}) {
        dsl::Schedule schedule = default_of(bench);
        std::string text = dsl::print_schedule(schedule);
        const std::size_t at = text.find(", 256");
        ASSERT_NE(at, std::string::npos) << text;
        schedule = dsl::parse_schedule(text.replace(at, 5, ", " + std::to_string(threads)), "test");
        if (ids.size() == 1) bench.expect(schedule); // timed beside the first one
        const OrOutcome<Built> built = bench.build(schedule);
        ASSERT_TRUE(built.value) << built.outcome.text;
        ASSERT_FALSE(bench.verify(*built.value));
        ids.push_back(built.value->id);
        if (ids.size() != 2) {
            ASSERT_TRUE(bench.measure(first_request(ids.back(), "")).value);
        }
    }
    const std::string &first = ids[0], &second = ids[1], &third = ids[2];
    const OrOutcome<PairedTimes> ahead = bench.measure(first_request(second, third));
    ASSERT_TRUE(ahead.value) << ahead.outcome.text;
    // Either they say enough, or they were taken again.
    if (!ahead.value->beside.empty()) {
        EXPECT_EQ(ahead.value->beside, first);
        EXPECT_GE(paired_ratio(ahead.value->candidate_ns, ahead.value->incumbent_ns).ratio, 1);
    }
    const OrOutcome<PairedTimes> again = bench.measure(first_request(second, third));
    ASSERT_TRUE(again.value) << again.outcome.text;
    EXPECT_EQ(again.value->beside, "");

    MeasureRequest request = first_request(second, third);
    request.min_runs = request.max_runs = 7;
    request.give_up_ratio = 1e9;
    request.budget_s = 10;
    bench.expect(request);
    const OrOutcome<PairedTimes> expected = bench.measure(request);
    ASSERT_TRUE(expected.value) << expected.outcome.text;
    EXPECT_EQ(expected.value->candidate_ns.size(), 7u);
    EXPECT_EQ(expected.value->beside, "");
}

TEST_F(DeviceWorkerTest, ARealDeviceGivesNumpysLabels) {
    std::string why;
    if (runtime::cuda::device_count(&why) == 0) GTEST_SKIP() << why;
    job.max_trials = 12;
    job.budget_s = 60;
    const TuneResult result = search();
    EXPECT_TRUE(result.found);
    for (const auto& [outcome, count] : result.outcomes)
        EXPECT_EQ(outcome, "measured") << count;
}

} // namespace
} // namespace tilewright::autotune
