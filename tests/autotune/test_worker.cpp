// tests/autotune/test_worker.cpp: real candidates in real workers, and every way in which one can go wrong.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "autotune/measure/process_workbench.h"
#include "autotune/measure/statistics.h"
#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "kmeans_job.h"
#include "python/native/tune_job.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;

class WorkerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-worker-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        job = testing::kmeans_job(folder, 100003);
        job.worker = TW_WORKER;
        machine = this_machine();
        machine.cores = 2;
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
    }
    void TearDown() override {
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
        fs::remove_all(folder);
    }
    static void set_faults(const std::map<std::string, std::string>& faults) {
        setenv("TILEWRIGHT_WORKER_FAULTS", nlohmann::json(faults).dump().c_str(), 1);
    }
    dsl::Schedule default_of(ProcessWorkbench& bench) { return default_schedule(bench.describe({}), machine); }
    /// Another schedule of the same variant: no directive at all.
    static dsl::Schedule bare_of(const dsl::Schedule& schedule) {
        dsl::Schedule bare = schedule;
        bare.statements.clear();
        return bare;
    }

    std::string folder;
    Job job;
    Machine machine;
};

TEST_F(WorkerTest, DescribesBuildsVerifiesAndTimes) {
    ProcessWorkbench bench(job);
    const dsl::AlgorithmInfo info = bench.describe({});
    EXPECT_EQ(info.function, "get_labels");
    bool has_norm = false;
    for (const dsl::StageInfo& stage : info.stages)
        has_norm = has_norm || stage.name == "norm";
    EXPECT_TRUE(has_norm);
    const dsl::Schedule schedule = default_of(bench), bare = bare_of(schedule);
    const auto built = bench.build(schedule), other = bench.build(bare);
    ASSERT_TRUE(built.value) << built.outcome.text;
    ASSERT_TRUE(other.value) << other.outcome.text;
    for (const auto& one : {built, other}) {
        const auto wrong = bench.verify(*one.value);
        EXPECT_FALSE(wrong) << wrong->text;
    }
    MeasureRequest request;
    request.candidate = built.value->id;
    request.incumbent = other.value->id;
    request.min_runs = 8;
    request.give_up_ratio = 1e9;
    const auto times = bench.measure(request);
    ASSERT_TRUE(times.value) << times.outcome.text;
    ASSERT_GE(times.value->candidate_ns.size(), 8u);
    ASSERT_EQ(times.value->candidate_ns.size(), times.value->incumbent_ns.size());
    EXPECT_LT(paired_ratio(times.value->candidate_ns, times.value->incumbent_ns).ratio, 1)
        << "the default beats plain loops";
    const auto listing = bench.lowered(schedule);
    ASSERT_TRUE(listing.value) << listing.outcome.text;
    EXPECT_NE(listing.value->assembly.find("ret"), std::string::npos);
    EXPECT_FALSE(listing.value->lowered.empty());
}

TEST_F(WorkerTest, AWorkerKilledBetweenRequestsIsReplaced) {
    ProcessWorkbench bench(job);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value);
    ASSERT_GT(bench.worker_pid(), 0);
    kill(bench.worker_pid(), SIGKILL);
    usleep(50000);
    // The request that finds it dead costs that one candidate; the next is served by a new worker.
    bench.verify(*built.value);
    const auto wrong = bench.verify(*built.value);
    EXPECT_FALSE(wrong) << wrong->text;
}

/// A worker that kills itself the first `times` times it is started, then is the real one.
std::string mortal_worker(const std::string& folder, int times) {
    const std::string path = folder + "/mortal-worker";
    std::ofstream file(path);
    file << "#!/bin/sh\n"
         << "echo >> " << folder << "/starts\n"
         << "[ $(wc -l < " << folder << "/starts) -le " << times << " ] && read -r line && kill -9 $$\n"
         << "exec " << TW_WORKER << " \"$@\"\n";
    file.close();
    fs::permissions(path, fs::perms::owner_all);
    return path;
}

TEST_F(WorkerTest, AWorkerThatIsKilledWhileItTranslatesIsReplacedOnce) {
    job.worker = mortal_worker(folder, 1);
    ProcessWorkbench bench(job);
    EXPECT_EQ(bench.describe({}).function, "get_labels");
    fs::remove(folder + "/starts");
    job.worker = mortal_worker(folder, 2);
    ProcessWorkbench other(job);
    try {
        other.describe({});
        FAIL();
    } catch (const TranslateError& error) {
        EXPECT_STREQ(error.what(),
                     "tilewright-worker: translation of get_labels: ended by SIGKILL (killed, perhaps out of "
                     "memory).");
    }
}

TEST_F(WorkerTest, AKilledWorkerIsNoVerdictOnItsCandidate) {
    ProcessWorkbench bench(job);
    const dsl::Schedule schedule = default_of(bench);
    const auto built = bench.build(schedule);
    ASSERT_TRUE(built.value);
    // At any moment of checking and timing: once is as if nothing had been.
    for (int delay_ms = 5; delay_ms < 400; delay_ms += 37) {
        std::thread killer([pid = bench.worker_pid(), delay_ms] {
            std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
            if (pid > 0) kill(pid, SIGKILL);
        });
        const auto wrong = bench.verify(*built.value);
        EXPECT_FALSE(wrong) << wrong->text;
        MeasureRequest request;
        request.candidate = built.value->id;
        const auto times = bench.measure(request);
        EXPECT_TRUE(times.value) << times.outcome.text;
        killer.join();
    }
}

TEST_F(WorkerTest, TheJobsFileFindsAPlace) {
    const char* const before = getenv("TMPDIR");
    const std::string kept = before != nullptr ? before : "";
    setenv("TMPDIR", (folder + "/none").c_str(), 1);
    {
        ProcessWorkbench bench(job);
        EXPECT_EQ(bench.describe({}).function, "get_labels");
    }
    job.folder = folder;
    {
        ProcessWorkbench bench(job);
        int files = 0;
        for (const auto& entry : fs::directory_iterator(folder))
            files += entry.path().filename().string().rfind("tilewright-job-", 0) == 0;
        EXPECT_EQ(files, 1);
    }
    for (const auto& entry : fs::directory_iterator(folder))
        EXPECT_NE(entry.path().filename().string().rfind("tilewright-job-", 0), 0u) << entry.path();
    if (before != nullptr)
        setenv("TMPDIR", kept.c_str(), 1);
    else
        unsetenv("TMPDIR");
}

TEST_F(WorkerTest, DiesWithItsParent) {
    int channel[2];
    ASSERT_EQ(pipe(channel), 0);
    const pid_t parent = fork();
    if (parent == 0) {
        ProcessWorkbench bench(job);
        bench.variants();
        const pid_t worker = bench.worker_pid();
        if (write(channel[1], &worker, sizeof worker) != sizeof worker) _exit(1);
        kill(getpid(), SIGKILL);
    }
    pid_t worker = 0;
    ASSERT_EQ(read(channel[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    waitpid(parent, nullptr, 0);
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
        usleep(50000);
        std::ifstream status("/proc/" + std::to_string(worker) + "/status");
        std::string text((std::istreambuf_iterator<char>(status)), {});
        gone = text.empty() || text.find("State:\tZ") != std::string::npos;
    }
    EXPECT_TRUE(gone);
    close(channel[0]);
    close(channel[1]);
}

TEST_F(WorkerTest, EveryFaultCostsOneCandidateAndSaysWhatHappened) {
    struct Case {
        const char* fault;
        OutcomeKind kind;
        const char* words;
    };
    const Case cases[] = {
        {"abort_build", OutcomeKind::build_failed, "SIGABRT"},
        {"hang_build", OutcomeKind::build_timed_out, "no answer within 6.0 s"},
        {"memory_build", OutcomeKind::build_failed, "memory"},
        {"crash", OutcomeKind::run_crashed, "SIGSEGV"},
        {"hang", OutcomeKind::run_timed_out, "no answer within 4.0 s"},
        {"memory", OutcomeKind::run_crashed, "out of memory"},
        {"write_behind", OutcomeKind::run_crashed, "SIGSEGV (wild memory access)"},
        {"write_before", OutcomeKind::run_crashed, "SIGSEGV (wild memory access)"},
        {"wrong_element", OutcomeKind::wrong_answer, "argmin[2048] is "},
        {"wrong_tail", OutcomeKind::wrong_answer, "argmin[4096] is "},
        {"wrong_special", OutcomeKind::wrong_answer, "(data set special)"},
    };
    job.memory_limit_bytes = std::int64_t{1} << 30;
    dsl::Schedule healthy;
    {
        ProcessWorkbench bench(job);
        healthy = default_of(bench);
    }
    const dsl::Schedule faulty = bare_of(healthy);
    for (const Case& one : cases) {
        // Short where it is waited for; elsewhere a busy machine has time.
        job.build_limit_s = one.kind == OutcomeKind::build_timed_out ? 6 : 120;
        job.run_limit_s = one.kind == OutcomeKind::run_timed_out ? 4 : 120;
        set_faults({{dsl::schedule_digest(faulty), one.fault}});
        ProcessWorkbench bench(job);
        const auto good = bench.build(healthy);
        ASSERT_TRUE(good.value) << one.fault << ": " << good.outcome.text;
        ASSERT_FALSE(bench.verify(*good.value)) << one.fault;
        const auto built = bench.build(faulty);
        std::optional<Outcome> outcome;
        if (!built.value)
            outcome = built.outcome;
        else
            outcome = bench.verify(*built.value);
        ASSERT_TRUE(outcome) << one.fault << " went unnoticed";
        EXPECT_EQ(outcome_name(outcome->kind), std::string(outcome_name(one.kind)))
            << one.fault << ": " << outcome->text;
        EXPECT_NE(outcome->text.find(one.words), std::string::npos) << one.fault << ": " << outcome->text;
        // And the next request is served as if nothing had been.
        EXPECT_FALSE(bench.verify(*good.value)) << one.fault;
        MeasureRequest request;
        request.candidate = good.value->id;
        EXPECT_TRUE(bench.measure(request).value) << one.fault;
    }
}

TEST_F(WorkerTest, AnIncumbentThatCrashesIsBlamedItself) {
    dsl::Schedule healthy;
    {
        ProcessWorkbench bench(job);
        healthy = default_of(bench);
    }
    const dsl::Schedule faulty = bare_of(healthy);
    set_faults({{dsl::schedule_digest(faulty), "crash_when_timed"}});
    ProcessWorkbench bench(job);
    const auto good = bench.build(healthy), bad = bench.build(faulty);
    ASSERT_TRUE(good.value && bad.value);
    EXPECT_FALSE(bench.verify(*good.value));
    EXPECT_FALSE(bench.verify(*bad.value));
    MeasureRequest request;
    request.candidate = good.value->id;
    request.incumbent = bad.value->id;
    auto times = bench.measure(request);
    ASSERT_FALSE(times.value);
    EXPECT_TRUE(times.outcome.of_incumbent) << times.outcome.text;
    std::swap(request.candidate, request.incumbent);
    times = bench.measure(request);
    ASSERT_FALSE(times.value);
    EXPECT_FALSE(times.outcome.of_incumbent) << times.outcome.text;
    EXPECT_EQ(times.outcome.kind, OutcomeKind::run_crashed);
}

TEST_F(WorkerTest, ADefaultScheduleThatIsWrongAgainstNumPyIsNamed) {
    // NumPy's answer is changed in one place instead: whatever the schedule, the variant disagrees with it.
    std::vector<std::int64_t> labels(100003);
    std::ifstream(job.datasets[0].expected[0].file, std::ios::binary)
        .read(reinterpret_cast<char*>(labels.data()), static_cast<std::streamsize>(labels.size() * 8));
    labels[70001] ^= 1;
    testing::write_file(job.datasets[0].expected[0].file, labels);
    ProcessWorkbench bench(job);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value);
    const auto wrong = bench.verify(*built.value);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->kind, OutcomeKind::wrong_answer);
    EXPECT_EQ(wrong->text, "argmin[70001] is " + std::to_string(labels[70001] ^ 1) + ", NumPy gives " +
                               std::to_string(labels[70001]) + " (data set recorded; 1 of 100003 elements differ)");
}

TEST_F(WorkerTest, DamagedJobsAreErrorsWithWords) {
    Job missing = job;
    missing.datasets[0].arguments[0].file = folder + "/absent";
    ProcessWorkbench bench(missing);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value);
    EXPECT_THROW(bench.verify(*built.value), InternalError);
    Job nonsense = job;
    nonsense.program = "nonsense";
    ProcessWorkbench other(nonsense);
    EXPECT_THROW(other.variants(), TranslateError);
    Job nowhere = job;
    nowhere.worker = folder + "/no-worker";
    ProcessWorkbench third(nowhere);
    EXPECT_THROW(third.variants(), DeviceError);
}

TEST_F(WorkerTest, AWholeSearchEndsWithARightBestWhateverItsCandidatesDo) {
    // Half of all candidates go wrong, by the first digit of their digest; defaults are spared by their whole digest.
    std::map<std::string, std::string> faults = {
        {"0", "crash"},      {"1", "abort_build"},   {"2", "write_behind"}, {"3", "wrong_element"},
        {"4", "wrong_tail"}, {"5", "wrong_special"}, {"6", "memory"},       {"7", "crash_when_timed"}};
    {
        ProcessWorkbench bench(job);
        faults[dsl::schedule_digest(default_of(bench))] = "none";
    }
    set_faults(faults);
    job.db = folder + "/store.db";
    job.budget_s = 120;
    job.max_trials = 24; // of which a quarter crashes
    job.memory_limit_bytes = std::int64_t{1} << 30;
    const nlohmann::json result = native::tune_job(print_job(job), {}, nullptr);
    ASSERT_TRUE(result["found"].get<bool>()) << result.dump(1);
    const std::string digest = result["digest"];
    const auto own = faults.find(digest);
    EXPECT_TRUE(own != faults.end() || digest[0] > '7') << digest;
    EXPECT_GT(result["outcomes"].value("run_crashed", 0), 0) << result["outcomes"].dump();
    EXPECT_GT(result["outcomes"].value("measured", 0), 2) << result["outcomes"].dump();
    EXPECT_GT(result["to_default"]["ratio"].get<double>(), 0);
    Store store(job.db);
    EXPECT_EQ(store.best(job.workload_key)->schedule, result["schedule"].get<std::string>());
    EXPECT_TRUE(store.check().empty());
    for (const StoredTrial& trial : store.trials(job.workload_key)) {
        const bool bad = faults.count(trial.digest.substr(0, 1)) > 0 && faults.count(trial.digest) == 0;
        EXPECT_FALSE(bad && trial.outcome.kind == OutcomeKind::measured) << trial.digest;
    }
}

TEST_F(WorkerTest, ASearchInterruptedDuringABuildEndsAtOnce) {
    std::atomic<bool> cancel{false};
    job.budget_s = 600;
    int events = 0;
    std::chrono::steady_clock::time_point interrupted;
    const nlohmann::json result = native::tune_job(
        print_job(job),
        [&](const nlohmann::json& event) {
            if (event["event"] != "trial" || ++events != 3) return;
            interrupted = std::chrono::steady_clock::now();
            cancel = true;
        },
        &cancel);
    EXPECT_TRUE(result["cancelled"].get<bool>());
    EXPECT_TRUE(result["found"].get<bool>());
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - interrupted).count(), 60);
}

} // namespace
} // namespace tilewright::autotune
