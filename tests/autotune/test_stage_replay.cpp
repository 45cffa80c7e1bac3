// tests/autotune/test_stage_replay.cpp: candidates of programs with stages: what NumPy gave is played back, and what
// stages are given is compared.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "autotune/measure/process_workbench.h"
#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "kmeans_job.h"
#include "python/native/worker/stage_replay.h"

namespace tilewright::autotune {
namespace {

namespace fs = std::filesystem;
using native::StageReplay;
using runtime::StageArray;
using runtime::StageOutcome;
using testing::write_file;

const char* const kSorted = R"tw(tilewright-program 1
function sorted "sorted.py"
arg x: float64[x.0]
%1: float64[] = const() {value=2.0} @2
doubled: float64[x.0] = multiply(x, %1) @2
sort: float64[x.0] = call(doubled) {callee="numpy.sort($0)"} @2
y: float64[x.0] = add(sort, %1) @2
return y
)tw";
const std::string kStage = "numpy.sort($0)";

class Replay : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tw-replay-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override { fs::remove_all(folder); }
    JobDataSet data(const std::string& kind, std::int64_t count) const {
        std::vector<double> x, doubled, y;
        for (std::int64_t i = 0; i < count; ++i)
            x.push_back(static_cast<double>(i * i % 97) / 7);
        for (const double each : x)
            doubled.push_back(2 * each);
        std::vector<double> both = doubled;
        std::sort(doubled.begin(), doubled.end());
        both.insert(both.end(), doubled.begin(), doubled.end());
        for (const double each : doubled)
            y.push_back(each + 2);
        const std::string prefix = folder + "/" + kind;
        write_file(prefix + "-x", x);
        write_file(prefix + "-stages", both);
        write_file(prefix + "-y", y);
        JobArgument argument;
        argument.name = "x";
        argument.dtype = "float64";
        argument.shape = {count};
        argument.strides_bytes = {8};
        argument.file = prefix + "-x";
        JobDataSet set;
        set.kind = kind;
        set.arguments = {argument};
        set.expected = {{"float64", {count}, prefix + "-y"}};
        set.stage_file = prefix + "-stages";
        set.stage_calls = {{kStage, {{"float64", {count}, 0}, {"float64", {count}, 8 * count}}}};
        return set;
    }
    Job job() const {
        Job made;
        made.program = kSorted;
        made.function = "sorted";
        made.layouts = {{"x", "c"}};
        made.sizes = {{"x.0", 1000}};
        made.threads = 2;
        made.worker = TW_WORKER;
        made.kernels_read_bytes = 16000;
        made.kernels_write_bytes = 16000;
        made.datasets = {data("recorded", 1000), data("perturbed", 77)};
        return made;
    }
    /// What becomes of the default schedule.
    static std::string verified(const Job& job) {
        ProcessWorkbench bench(job);
        Machine machine = this_machine();
        machine.cores = 2;
        const auto built = bench.build(default_schedule(bench.describe({}), machine));
        if (!built.value) return built.outcome.text;
        const auto wrong = bench.verify(*built.value);
        return wrong ? std::string(outcome_name(wrong->kind)) + ": " + wrong->text : "right";
    }

    std::string folder;
};

TEST_F(Replay, AJobKeepsItsStages) {
    const Job read = read_job(print_job(job()));
    ASSERT_EQ(read.datasets.size(), 2u);
    const JobDataSet& set = read.datasets[1];
    EXPECT_EQ(set.stage_file, folder + "/perturbed-stages");
    ASSERT_EQ(set.stage_calls.size(), 1u);
    EXPECT_EQ(set.stage_calls[0].stage, kStage);
    ASSERT_EQ(set.stage_calls[0].arrays.size(), 2u);
    EXPECT_EQ(set.stage_calls[0].arrays[1].shape, std::vector<std::int64_t>{77});
    EXPECT_EQ(set.stage_calls[0].arrays[1].offset_bytes, 8 * 77);
    EXPECT_EQ(read.stage_bytes(), 16 * 1077);
    EXPECT_EQ(read.read_bytes(), 16000) << "what kernels read, not what the call is given";
    EXPECT_EQ(read.work().read_bytes + read.work().written_bytes, 32000);
    EXPECT_EQ(read.argument_bytes(), 8000);
}

TEST_F(Replay, CandidatesAreCheckedAndTimedWithoutPython) {
    const Job made = job();
    EXPECT_EQ(verified(made), "right");
    ProcessWorkbench bench(made);
    Machine machine = this_machine();
    machine.cores = 2;
    const auto built = bench.build(default_schedule(bench.describe({}), machine));
    ASSERT_TRUE(built.value) << built.outcome.text;
    ASSERT_FALSE(bench.verify(*built.value));
    MeasureRequest request;
    request.candidate = built.value->id;
    request.min_runs = 5;
    const auto times = bench.measure(request);
    ASSERT_TRUE(times.value) << times.outcome.text;
    EXPECT_GE(times.value->candidate_ns.size(), 5u);
}

TEST_F(Replay, ARecordThatDoesNotFitIsAWrongAnswerInWords) {
    Job made = job();
    made.datasets[0].stage_calls.clear();
    EXPECT_EQ(verified(made),
              "wrong_answer: it calls the stage numpy.sort($0) more than 0 times, which is how often the "
              "default schedule does (data set recorded)");
    made = job();
    made.datasets[0].stage_calls.push_back(made.datasets[0].stage_calls[0]);
    EXPECT_EQ(verified(made),
              "wrong_answer: it calls the stage numpy.sort($0) once, the default schedule 2 times (data set recorded)");
    made = job();
    made.datasets[0].stage_calls[0].arrays[1].shape = {999};
    EXPECT_EQ(verified(made),
              "wrong_answer: it takes float64[1000] of the stage numpy.sort($0), which gave float64[999] "
              "(data set recorded)");
    made = job();
    made.datasets[0].stage_calls[0].arrays[0].dtype = "int64";
    EXPECT_EQ(verified(made),
              "wrong_answer: it gives the stage numpy.sort($0) float64[1000] as $0, the default schedule "
              "int64[1000] (data set recorded)");
    made = job();
    made.datasets[0].stage_calls[0].arrays.erase(made.datasets[0].stage_calls[0].arrays.begin());
    EXPECT_EQ(verified(made),
              "wrong_answer: it gives the stage numpy.sort($0) 1 arrays, the default schedule 0 (data set "
              "recorded)");
}

TEST_F(Replay, OperandsAreComparedThoughNoResultShowsThem) {
    Job made = job();
    std::vector<double> both(2000);
    {
        std::ifstream file(made.datasets[0].stage_file, std::ios::binary);
        file.read(reinterpret_cast<char*>(both.data()), 16000);
    }
    both[17] += 1;
    write_file(made.datasets[0].stage_file, both);
    const std::string said = verified(made);
    EXPECT_EQ(said.substr(0, said.find(" is ")), "wrong_answer: $0[17] of the stage numpy.sort($0)");
    EXPECT_NE(said.find("where NumPy computed the stage it was"), std::string::npos) << said;
    // A function that rounds may be that near, relative to the largest of its elements.
    made.tolerance.rtol = 1e-12;
    both[17] += 1e-6 - 1;
    write_file(made.datasets[0].stage_file, both);
    EXPECT_EQ(verified(made), "right");
}

/// A stage by hand.
class Operands : public Replay {
  protected:
    void SetUp() override {
        Replay::SetUp();
        set = data("recorded", 4);
        values = {0, 2.0 / 7, 8.0 / 7, 18.0 / 7};
        result.assign(4, -1.0);
    }
    static StageArray array(void* data, std::int64_t extent, std::int64_t stride) {
        StageArray made{};
        made.dtype = DType::float64;
        made.rank = 1;
        made.data = data;
        made.shape[0] = extent;
        made.strides[0] = stride;
        return made;
    }
    StageOutcome run(StageReplay& replay, StageArray given, int times = 1) {
        const StageArray arrays[] = {given, array(result.data(), 4, 8)};
        StageOutcome outcome = StageOutcome::done;
        for (int k = 0; k < times; ++k)
            outcome = replay.runner()->run(replay.runner()->context, 0, arrays, 2);
        return outcome;
    }

    JobDataSet set;
    std::vector<double> values, result;
};

TEST_F(Operands, InAnyLayoutAreTheSame) {
    StageReplay replay(set);
    StageReplay::Operands kept, none;
    std::vector<double> spread(8, -7.0), backwards(values.rbegin(), values.rend());
    for (std::size_t i = 0; i < 4; ++i)
        spread[2 * i] = values[i];
    for (const StageArray& one :
         {array(values.data(), 4, 8), array(spread.data(), 4, 16), array(&backwards[3], 4, -8)}) {
        replay.begin({kStage}, {.kept = &kept, .same_as = &none});
        EXPECT_EQ(run(replay, one), StageOutcome::done);
        EXPECT_EQ(replay.problem(true), "");
        ASSERT_EQ(kept.size(), 1u);
        EXPECT_TRUE(kept[0].empty()) << "recorded bits are not kept twice";
    }
    EXPECT_EQ(result, values) << "sorted already";
    EXPECT_GT(replay.take_spent_ns(), 0);
    EXPECT_EQ(replay.take_spent_ns(), 0);
}

TEST_F(Operands, OfAnotherVariantAreWhatItsCandidatesAreComparedWith) {
    StageReplay replay(set);
    StageReplay::Operands kept;
    const JobTolerance tolerance{1e-9, 0, 0, 0};
    values[2] *= 1 + 1e-15;
    replay.begin({kStage}, {.tolerance = &tolerance, .kept = &kept});
    EXPECT_EQ(run(replay, array(values.data(), 4, 8)), StageOutcome::done);
    ASSERT_EQ(kept[0].size(), 32u);
    replay.begin({kStage}, {.same_as = &kept});
    EXPECT_EQ(run(replay, array(values.data(), 4, 8)), StageOutcome::done);
    values[2] = 8.0 / 7;
    replay.begin({kStage}, {.same_as = &kept});
    EXPECT_EQ(run(replay, array(values.data(), 4, 8)), StageOutcome::refused);
    EXPECT_EQ(replay.problem(false),
              "$0[2] of the stage numpy.sort($0) is 1.1428571428571428, the default schedule gives "
              "1.1428571428571441 (data set recorded)");
    replay.begin({kStage}, {});
    EXPECT_EQ(run(replay, array(values.data(), 4, 8)), StageOutcome::done) << "nobody looks in runs that are timed";
    EXPECT_EQ(run(replay, array(values.data(), 4, 8)), StageOutcome::refused);
    EXPECT_EQ(replay.problem(false), "it calls the stage numpy.sort($0) more than once, which is how often the default "
                                     "schedule does (data set recorded)");
}

TEST_F(Operands, AFileThatIsTooShortIsNamed) {
    set.stage_calls[0].arrays[1].offset_bytes = 64;
    try {
        const StageReplay replay(set);
        FAIL() << "it was read";
    } catch (const InternalError& error) {
        EXPECT_NE(std::string(error.what()).find("recorded-stages has 64 bytes, the data needs 96."), std::string::npos)
            << error.what();
    }
}

} // namespace
} // namespace tilewright::autotune
