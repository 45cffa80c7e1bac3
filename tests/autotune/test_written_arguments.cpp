// tests/autotune/test_written_arguments.cpp: candidates that write into their arguments: checked, timed, put back.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

#include "autotune/measure/process_workbench.h"
#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "kmeans_job.h"
#include "python/native/worker/data_sets.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;
using testing::write_file;

const char* const kRelax = R"(tilewright-program 1
function relax "relax.py"
scalar n: int64
arg A: float64[A.0]
guard n >= 1 "n must be positive" @2
guard A.0 >= 2 "A has too few elements" @3
A_2: float64[A.0] = for t in range(0, n, 1) carry (A_3: float64[A.0] = A) {
  %1: float64[A.0 - 2] = index(A_3) {index=[0:1]} @3
  %2: float64[A.0 - 2] = index(A_3) {index=[2:1]} @3
  %3: float64[A.0 - 2] = add(%1, %2) @3
  %4: float64[] = const() {value=0.5} @3
  %5: float64[A.0 - 2] = multiply(%4, %3) @3
  %6: float64[A.0] = update(A_3, %5) {index=[1:1]} @3
  yield %6
} @2
write A = A_2
return none
)";
constexpr int kIterations = 3;

std::vector<double> values(std::int64_t count) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < count; ++i)
        all.push_back(static_cast<double>(i * i % 97) / 7);
    return all;
}

std::vector<double> relaxed(std::vector<double> a) {
    for (int t = 0; t < kIterations; ++t) {
        const std::vector<double> before = a;
        for (std::size_t i = 1; i + 1 < a.size(); ++i)
            a[i] = 0.5 * (before[i - 1] + before[i + 1]);
    }
    return a;
}

class WrittenArguments : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-written-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        job.program = kRelax;
        job.function = "relax";
        job.layouts = {{"A", "c"}};
        job.sizes = {{"n", kIterations}, {"A.0", 1000}};
        job.threads = 2;
        job.worker = TW_WORKER;
        job.datasets = {data("recorded", 1000, 1), data("perturbed", 77, 1)};
        machine = this_machine();
        machine.cores = 2;
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
    }
    void TearDown() override {
        unsetenv("TILEWRIGHT_WORKER_FAULTS");
        fs::remove_all(folder);
    }
    JobDataSet data(const std::string& kind, std::int64_t count, std::int64_t step) const {
        const std::vector<double> a = values(count);
        std::vector<double> spread(static_cast<std::size_t>((count - 1) * step + 1), -7.0);
        for (std::int64_t i = 0; i < count; ++i)
            spread[static_cast<std::size_t>(i * step)] = a[static_cast<std::size_t>(i)];
        write_file(folder + "/" + kind, spread);
        write_file(folder + "/" + kind + "-after", relaxed(a));
        JobArgument n, written;
        n.name = "n";
        n.dtype = "int64";
        n.is_scalar = true;
        n.integer = kIterations;
        written.name = "A";
        written.dtype = "float64";
        written.shape = {count};
        written.strides_bytes = {8 * step};
        written.file = folder + "/" + kind;
        written.is_written = true;
        written.after = folder + "/" + kind + "-after";
        JobDataSet set;
        set.kind = kind;
        set.arguments = {n, written};
        return set;
    }
    dsl::Schedule default_of(ProcessWorkbench& bench) { return default_schedule(bench.describe({}), machine); }
    static dsl::Schedule bare_of(const dsl::Schedule& schedule) {
        dsl::Schedule bare = schedule;
        bare.statements.clear();
        return bare;
    }

    std::string folder;
    Job job;
    Machine machine;
};

TEST_F(WrittenArguments, EachRunBeginsWithTheContentFromBeforeTheCall) {
    ProcessWorkbench bench(read_job(print_job(job)));
    const dsl::Schedule schedule = default_of(bench);
    const auto built = bench.build(schedule), other = bench.build(bare_of(schedule));
    ASSERT_TRUE(built.value) << built.outcome.text;
    ASSERT_TRUE(other.value) << other.outcome.text;
    for (int again = 0; again < 2; ++again) {
        for (const auto& one : {built, other}) {
            const auto wrong = bench.verify(*one.value);
            EXPECT_FALSE(wrong) << wrong->text;
        }
        MeasureRequest request;
        request.candidate = built.value->id;
        request.incumbent = other.value->id;
        request.min_runs = 5;
        request.give_up_ratio = 1e9;
        const auto times = bench.measure(request);
        ASSERT_TRUE(times.value) << times.outcome.text;
        EXPECT_GE(times.value->candidate_ns.size(), 5u);
        for (const double each : times.value->candidate_ns)
            EXPECT_GT(each, 0);
    }
}

TEST_F(WrittenArguments, StridedOnesKeepWhatLiesBetweenTheirElements) {
    job.layouts = {{"A", "any"}};
    job.datasets = {data("recorded", 1000, 3), data("perturbed", 77, 2)};
    ProcessWorkbench bench(job);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value) << built.outcome.text;
    const auto wrong = bench.verify(*built.value);
    EXPECT_FALSE(wrong) << wrong->text;
}

TEST_F(WrittenArguments, WrongContentIsAWrongAnswer) {
    dsl::Schedule healthy;
    {
        ProcessWorkbench bench(job);
        healthy = default_of(bench);
    }
    const dsl::Schedule faulty = bare_of(healthy);
    struct Case {
        const char* fault;
        OutcomeKind kind;
        const char* words;
    };
    for (const Case& one : {Case{"wrong_element", OutcomeKind::wrong_answer, "A[38] is "},
                            Case{"wrong_tail", OutcomeKind::wrong_answer, "A[76] is "},
                            Case{"wrong_special", OutcomeKind::wrong_answer, "(data set perturbed)"},
                            Case{"write_behind", OutcomeKind::run_crashed, "SIGSEGV (wild memory access)"},
                            Case{"write_before", OutcomeKind::run_crashed, "SIGSEGV (wild memory access)"}}) {
        setenv("TILEWRIGHT_WORKER_FAULTS", nlohmann::json({{dsl::schedule_digest(faulty), one.fault}}).dump().c_str(),
               1);
        ProcessWorkbench bench(job);
        const auto built = bench.build(faulty);
        ASSERT_TRUE(built.value) << built.outcome.text;
        const auto outcome = bench.verify(*built.value);
        ASSERT_TRUE(outcome) << one.fault << " went unnoticed";
        EXPECT_EQ(outcome->kind, one.kind) << one.fault << ": " << outcome->text;
        EXPECT_NE(outcome->text.find(one.words), std::string::npos) << one.fault << ": " << outcome->text;
    }
}

TEST_F(WrittenArguments, WhatNumPyLeavesInThemDecides) {
    std::vector<double> after = relaxed(values(1000));
    after[501] += 1;
    write_file(job.datasets[0].arguments[1].after, after);
    ProcessWorkbench bench(job);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value) << built.outcome.text;
    const auto wrong = bench.verify(*built.value);
    ASSERT_TRUE(wrong);
    EXPECT_EQ(wrong->kind, OutcomeKind::wrong_answer);
    EXPECT_NE(wrong->text.find("A[501] is "), std::string::npos) << wrong->text;
    EXPECT_NE(wrong->text.find("(data set recorded; 1 of 1000 elements differ)"), std::string::npos) << wrong->text;
}

TEST_F(WrittenArguments, AJobThatDoesNotNameThemIsRefused) {
    job.datasets[0].arguments[1].is_written = false;
    ProcessWorkbench bench(job);
    const auto built = bench.build(default_of(bench));
    ASSERT_TRUE(built.value) << built.outcome.text;
    EXPECT_THROW(bench.verify(*built.value), InternalError);
}

TEST_F(WrittenArguments, GatherTellsElementsFromWhatLiesBetween) {
    job.datasets = {data("recorded", 10, 2)};
    job.datasets[0].arguments[1].strides_bytes = {-16};
    job.datasets[0].arguments[1].offset_bytes = 9 * 16;
    std::vector<native::DataSet> sets = native::load_data_sets(job);
    native::DataSet& set = sets[0];
    ASSERT_EQ(set.written.size(), 1u);
    native::WrittenArgument& written = set.written[0];
    char* const base = written.copy.before_guard(8);
    restore(set, written, base);
    const std::vector<double> a = values(10);
    const char* found = gather(set, written, base);
    ASSERT_NE(found, nullptr);
    for (std::size_t i = 0; i < 10; ++i) {
        double element = 0;
        std::memcpy(&element, found + 8 * i, 8);
        EXPECT_EQ(element, a[9 - i]);
    }
    const double changed = 5.5;
    std::memcpy(base + 16, &changed, 8);
    found = gather(set, written, base);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(std::memcmp(found + 64, &changed, 8), 0);
    base[8] ^= 1;
    EXPECT_EQ(gather(set, written, base), nullptr);
    restore(set, written, base);
    EXPECT_NE(gather(set, written, base), nullptr);
}

} // namespace
} // namespace tilewright::autotune
