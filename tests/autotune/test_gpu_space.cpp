// tests/autotune/test_gpu_space.cpp: spaces and default schedules for CUDA targets: what the rules promise, that points
// of every space are legal, and that the schedules build on a machine without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "autotune/space/default_space.h"
#include "autotune/tune.h"
#include "dsl/base/error.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/space.h"
#include "space_programs.h"
#include "tests/autotune/recorded_workbench.h"
#include "translator/ir/program.h"
#include "translator/translate.h"

namespace tilewright::autotune {
namespace {

using testing::HasSubstr;
using testing::Not;
using Sizes = std::map<std::string, std::int64_t>;

constexpr const char* kNorm = R"(tilewright-program 1
function norm
arg x: float32[x.0]
%1: float32[x.0] = multiply(x, x)
sum: float32[] = sum(%1) {axes=[0]}
%2: float32[] = sqrt(sum)
return %2
)";

constexpr const char* kSquares = R"(tilewright-program 1
function squares
arg x: float64[x.0, x.1]
%1: float64[x.0, x.1] = multiply(x, x)
sum: float64[x.0] = sum(%1) {axes=[1]}
return sum
)";

constexpr const char* kLongest = R"(tilewright-program 1
function longest
arg x: float32[x.0, x.1]
guard x.1 >= 1 "empty"
m: int64[x.0] = argmax(x) {axis=1}
return m
)";

constexpr const char* kDeep = R"(tilewright-program 1
function deep
arg x: float32[x.0, x.1, x.2, x.3]
y: float32[x.0, x.1, x.2, x.3] = exp(x)
return y
)";

/// A loop over rows of pixels, each a sum over windows: an axis on a device.
constexpr const char* kConvolution = R"(tilewright-program 1
function convolution
arg x: float32[x.0, x.1, x.2]
arg w: float32[w.0, x.2, w.2]
arg y0: float32[x.0, x.1 - w.0 + 1, w.2]
guard x.1 >= w.0 "too short"
y: float32[x.0, x.1 - w.0 + 1, w.2] = for j in range(0, x.1 - w.0 + 1, 1) carry (y1: float32[x.0, x.1 - w.0 + 1, w.2] = y0) {
  %1: float32[x.0, w.0, x.2, 1] = index(x) {index=[0:1, j:1, 0:1, newaxis]} @3
  %2: float32[x.0, w.0, x.2, w.2] = multiply(%1, w) @3
  sum: float32[x.0, w.2] = sum(%2) {axes=[1, 2]} @3
  y2: float32[x.0, x.1 - w.0 + 1, w.2] = update(y1, sum) {index=[0:1, j, 0:1]} @3
  yield y2
} @2
%3: float32[] = const() {value=1.0} @4
%4: float32[x.0, x.1 - w.0 + 1, w.2] = add(y, %3) @4
return %4
)";

/// Sums of the first i elements of row i.
constexpr const char* kTriangle = R"(tilewright-program 1
function triangle
arg A: float64[A.0, A.1]
arg b: float64[A.0]
guard A.1 >= A.0 "too short"
s: float64[A.0] = for i in range(0, A.0, 1) carry (s1: float64[A.0] = b) {
  %1: float64[i] = index(A) {index=[i, 0:1]} @3
  sum: float64[] = sum(%1) {axes=[0]} @3
  s2: float64[A.0] = update(s1, sum) {index=[i]} @3
  yield s2
} @2
return s
)";

/// The sum of the rows' norms takes several at once.
constexpr const char* kNorms = R"(tilewright-program 1
function norms
arg a: float32[a.0, a.1]
arg m: bool[a.0]
%1: float32[] = const() {value=0.0} @2
%2: float32[a.0, a.1] = multiply(a, a) @2
norm: float32[a.0] = sum(%2) {axes=[1]} @2
%3: float32[a.0] = sqrt(norm) @2
%4: float32[a.0] = where(m, %3, %1) @2
sum: float32[] = sum(%4) {axes=[0]} @2
return sum
)";

/// All elements read the same dear value in an iteration.
constexpr const char* kWeights = R"(tilewright-program 1
function weights
arg x: float64[x.0]
arg y: float64[y.0]
%1: float64[y.0] = exp(y) @2
%2: float64[y.0] = log(y) @2
w: float64[y.0] = add(%1, %2) @2
z: float64[x.0] = for n in range(0, y.0, 1) carry (z1: float64[x.0] = x) {
  %3: float64[] = index(w) {index=[n]} @4
  %4: float64[x.0] = multiply(z1, z1) @4
  z2: float64[x.0] = add(%4, %3) @4
  yield z2
} @3
return z
)";

/// Row i from column i on less column i, in two dimensions.
constexpr const char* kCorner = R"(tilewright-program 1
function corner
arg A: float64[A.0, A.0]
s: float64[A.0, A.0] = for i in range(0, A.0 - 1, 1) carry (s1: float64[A.0, A.0] = A) {
  %1: float64[A.0 - i - 1, 1] = index(s1) {index=[i + 1:1, i:1]} @3
  %2: float64[1, A.0 - i - 1] = index(s1) {index=[i:1, i + 1:1]} @3
  %3: float64[A.0 - i - 1, A.0 - i - 1] = multiply(%1, %2) @3
  %4: float64[A.0 - i - 1, A.0 - i - 1] = index(s1) {index=[i + 1:1, i + 1:1]} @3
  %5: float64[A.0 - i - 1, A.0 - i - 1] = subtract(%4, %3) @3
  s2: float64[A.0, A.0] = update(s1, %5) {index=[i + 1:1, i + 1:1]} @3
  yield s2
} @2
write A = s
return none
)";

/// Of an H100, wherever the test runs.
Machine device() {
    Machine machine;
    machine.isa = "cuda-sm_80";
    machine.device = assumed_device();
    return machine;
}

translator::TranslateOptions at(const Sizes& sizes) {
    translator::TranslateOptions options;
    options.sizes_here = sizes;
    options.device = true;
    return options;
}

dsl::Algorithm translated(const char* program, const Sizes& sizes) {
    return translator::translate(translator::read_program(program), at(sizes));
}

std::string space_of(const char* program, const Sizes& sizes) {
    return dsl::print_schedule(default_space(translated(program, sizes).info(), device()));
}
std::string default_of(const char* program, const Sizes& sizes) {
    return dsl::print_schedule(default_schedule(translated(program, sizes).info(), device()));
}

TEST(GpuSpace, APointAThreadWithItsReductionsInRegisters) {
    EXPECT_EQ(default_of(kKmeans, {{"X.0", 20'000'000}, {"X.1", 2}, {"means.0", 3}}),
              "tilewright-schedule 1\n"
              "schedule kmeans for cuda-sm_80\n"
              "variant argmin = serial\n"
              "variant norm = serial\n"
              "argmin.split(i, io, ii, 256, guard_with_if).split(ii, it, is, 128, guard_with_if).reorder(it, is, "
              "io).gpu_blocks(io).gpu_threads(is).specialize(X.1 == 2 and means.0 == 3) { unroll(it) }\n"
              "argmin_best.compute_at(argmin, it)\n"
              "argmin_best.update(0).specialize(extent(r) == 3) { unroll(r) }\n"
              "norm.compute_at(argmin_best, r)\n"
              "norm.update(0).specialize(extent(r) == 2) { unroll(r) }\n");
}

TEST(GpuSpace, NeighbouringThreadsTouchNeighboursInMemory) {
    const std::string flat = space_of(kExp, {{"x.0", 10'000'000}});
    EXPECT_THAT(flat, HasSubstr("y.split(i, io, it, ?y_threads, guard_with_if)"));
    // Several elements a thread: a block's width apart, or side by side in one load.
    EXPECT_THAT(
        flat, HasSubstr(".split(ii, im, it, ?y_threads{128, 64, 256, 512, 1024}, guard_with_if).reorder(im, it, io)"));
    EXPECT_THAT(flat, HasSubstr(".split(ii, it, iv, ?y_vec{2}).vectorize(iv)"));
    EXPECT_THAT(space_of(kLaplace, {{"x.0", 2000}, {"x.1", 2000}}), HasSubstr("gpu_threads(jt, it)"));
    // Rows shorter than a warp are one long axis.
    EXPECT_THAT(space_of(kLaplace, {{"x.0", 2000}, {"x.1", 10}}), HasSubstr("y.fuse(j, i, t).split(t, to, tt,"));
}

TEST(GpuSpace, IterationsThatBecameAnAxisAreAThreadAnElementWithItsSumInARegister) {
    const Sizes wide{{"x.0", 8}, {"x.1", 128}, {"x.2", 3}, {"w.0", 10}, {"w.2", 8}};
    const Sizes narrow{{"x.0", 800}, {"x.1", 14}, {"x.2", 3}, {"w.0", 10}, {"w.2", 2}};
    EXPECT_THAT(default_of(kConvolution, wide), HasSubstr(".fuse(k, j, t).split(t, to, ti, 256, guard_with_if)"));
    EXPECT_THAT(default_of(kConvolution, narrow), HasSubstr(".gpu_threads(tt, it)"));
    for (const Sizes& sizes : {wide, narrow}) {
        dsl::Algorithm algorithm = translated(kConvolution, sizes);
        const dsl::Schedule schedule = default_schedule(algorithm.info(), device());
        EXPECT_THAT(dsl::print_schedule(schedule), HasSubstr("sum.compute_at(result, tt)"));
        dsl::apply(algorithm, schedule);
        dsl::EmitOptions options;
        options.isa = "cuda-sm_80";
        options.assembly = true;
        const dsl::Emitted emitted = dsl::emit(std::move(algorithm), schedule, options);
        ASSERT_EQ(emitted.kernels.size(), 1U);
        EXPECT_THAT(emitted.kernels[0].lowered, Not(HasSubstr("device_malloc")));
    }
}

TEST(GpuSpace, GridsAreLongInOneDirectionOnly) {
    const std::string text = default_of(kDeep, {{"x.0", 70'000}, {"x.1", 3}, {"x.2", 100}, {"x.3", 200}});
    EXPECT_THAT(text, HasSubstr(".gpu_blocks(blk).gpu_threads(lt, kt)"));
    EXPECT_THAT(text, HasSubstr("fuse(lo, ko, "));
}

TEST(GpuSpace, ARowOfABlockStaysInSharedMemory) {
    const std::string text = default_of(kSoftmax, {{"x.0", 4096}, {"x.1", 4096}});
    // Each thread meets the elements that it adds up.
    EXPECT_THAT(text, HasSubstr("divide.split(j, jo, jr, 4096, guard_with_if)"));
    EXPECT_THAT(text, HasSubstr("e.compute_at(divide, i).store_in(gpu_shared).split(j, jo, jr, 4096, guard_with_if)"));
    EXPECT_THAT(text, HasSubstr("sum_lane.compute_at(sum_lanes, to)\nsum_lane.update(0).unroll(r)"));
    // Results of a row cost no barrier.
    EXPECT_THAT(text, HasSubstr("sum.compute_at(divide, jt)"));
    EXPECT_THAT(text, HasSubstr("max.compute_at(e, jt)"));
    EXPECT_THAT(text, Not(HasSubstr("sum_block")));
    EXPECT_THAT(text, Not(HasSubstr("compute_root")));
    // A row that does not fit has a kernel for each step.
    EXPECT_THAT(default_of(kSoftmax, {{"x.0", 16}, {"x.1", 1'000'000}}), HasSubstr("e.compute_root()"));
}

TEST(GpuSpace, RowsThatDoNotFitTakeAnotherVersion) {
    const auto requires_of = [](std::int64_t columns) {
        dsl::Algorithm algorithm = translated(kSoftmax, {{"x.0", 16}, {"x.1", columns}});
        const dsl::Schedule schedule = default_schedule(algorithm.info(), device());
        dsl::apply(algorithm, schedule);
        dsl::EmitOptions options;
        options.isa = "cuda-sm_80";
        return dsl::emit(std::move(algorithm), schedule, options).kernels.front().requires_;
    };
    const auto longest_of = [&](std::int64_t columns) {
        for (const std::string& condition : requires_of(columns))
            if (condition.rfind("x.1 <= ", 0) == 0) return std::stoll(condition.substr(7));
        return std::numeric_limits<long long>::max();
    };
    // The row of exponentials and what is left of two trees, in 99 KiB.
    EXPECT_THAT(longest_of(4096), testing::AllOf(testing::Gt(16'384), testing::Lt(25'344)));
    EXPECT_GE(longest_of(100'000), 100'000);
}

std::vector<std::string> requires_of(const char* program, const Sizes& sizes) {
    dsl::Algorithm algorithm = translated(program, sizes);
    const dsl::Schedule schedule = default_schedule(algorithm.info(), device());
    dsl::apply(algorithm, schedule);
    dsl::EmitOptions options;
    options.isa = "cuda-sm_80";
    std::vector<std::string> result;
    for (const dsl::EmittedKernel& kernel : dsl::emit(std::move(algorithm), schedule, options).kernels)
        result.insert(result.end(), kernel.requires_.begin(), kernel.requires_.end());
    return result;
}

TEST(GpuSpace, WhatChangesFromIterationToIterationIsAskedOfTheLongest) {
    // A sum of i elements shares memory, which grows with i.
    const std::vector<std::string> conditions = requires_of(kTriangle, {{"A.0", 5000}, {"A.1", 5000}});
    ASSERT_EQ(conditions.size(), 1U);
    EXPECT_EQ(conditions[0].rfind("A.0 <= ", 0), 0U) << conditions[0];
    const std::int64_t most = std::stoll(conditions[0].substr(7));
    EXPECT_GT(most, 100'000);
    EXPECT_LT(most, 1'000'000);
    // Made for longer ones, nothing can be asked: a launch that gets too little says so.
    EXPECT_THAT(requires_of(kTriangle, {{"A.0", 250'000}, {"A.1", 250'000}}), testing::IsEmpty());
    for (const std::string& condition : requires_of(kCorner, {{"A.0", 2000}}))
        EXPECT_EQ(condition.find('i'), std::string::npos) << condition;
}

TEST(GpuSpace, ALongSumIsTwoKernels) {
    const std::string text = default_of(kNorm, {{"x.0", 20'000'000}});
    std::size_t roots = 0;
    for (std::size_t at = 0; (at = text.find("compute_root", at)) != std::string::npos; ++at)
        ++roots;
    EXPECT_EQ(roots, 1u) << text; // and the result
    EXPECT_THAT(text, HasSubstr("result.gpu_single_block(blk)"));
    EXPECT_THAT(text, HasSubstr("sum_lanes.compute_at(sum_block, bo).store_in(gpu_shared).fuse(u, b, t)"));
    EXPECT_THAT(text, HasSubstr("sum_fold3.compute_at(result, blk)"));
}

TEST(GpuSpace, ALoopRunsInItsThread) {
    const std::string text = default_of(kMandelbrot, {{"x.0", 833}, {"y.0", 1000}, {"maxiter", 200}});
    EXPECT_THAT(text, HasSubstr("A_B_N.split(j, jo, jt, 8, guard_with_if).split(i, io, it, 8, guard_with_if)"));
    EXPECT_THAT(text, HasSubstr("loop_n.compute_at(A_B_N, jt)\nloop_n.update(0).split(n, no, ni, 20).unroll(ni)"));
}

TEST(GpuSpace, StepsOfALoopAreLaunchedByThePlan) {
    dsl::Algorithm algorithm = translated(kSteps, {{"A.0", 1000}, {"A.1", 1000}, {"k", 10}});
    const dsl::Schedule schedule = default_schedule(algorithm.info(), device());
    dsl::apply(algorithm, schedule);
    dsl::EmitOptions options;
    options.isa = "cuda-sm_80";
    const runtime::Plan plan = dsl::emit(std::move(algorithm), schedule, options).plan;
    EXPECT_THAT(print_body(plan.versions[0]), HasSubstr("for t from 0 to k step 1 {"));
}

TEST(GpuSpace, ConditionsKnowTheDevice) {
    const dsl::Environment environment = make_environment(translated(kExp, {{"x.0", 10}}).info(), device());
    for (const auto& [name, value] : std::map<std::string, std::int64_t>{
             {"multiprocessors", 132}, {"max_threads", 1024}, {"shared_bytes", 227 * 1024}, {"registers", 65536}}) {
        EXPECT_EQ(environment(dsl::Expression::symbol(name)), value) << name;
    }
}

struct Case {
    const char* name;
    const char* program;
    Sizes sizes;
};

const Case kCases[] = {
    {"kmeans", kKmeans, {{"X.0", 20'000'000}, {"X.1", 2}, {"means.0", 3}}},
    {"kmeans_wide", kKmeans, {{"X.0", 5000}, {"X.1", 300}, {"means.0", 40}}},
    {"exp", kExp, {{"x.0", 10'000'000}}},
    {"laplace", kLaplace, {{"x.0", 2000}, {"x.1", 2000}}},
    {"softmax", kSoftmax, {{"x.0", 4096}, {"x.1", 4096}}},
    {"softmax_short", kSoftmax, {{"x.0", 4096}, {"x.1", 10}}},
    {"softmax_narrow", kSoftmax, {{"x.0", 100}, {"x.1", 100}}},
    {"softmax_long", kSoftmax, {{"x.0", 16}, {"x.1", 1'000'000}}},
    {"mandelbrot", kMandelbrot, {{"x.0", 833}, {"y.0", 1000}, {"maxiter", 200}}},
    {"recurrence", kRecurrence, {{"x.0", 1'000'000}, {"k", 100}}},
    {"twice", kTwice, {{"x.0", 1'000'000}}},
    {"column_sums", kColumnSums, {{"x.0", 100'000}, {"x.1", 64}}},
    {"steps", kSteps, {{"A.0", 1000}, {"A.1", 1000}, {"k", 10}}},
    {"norm", kNorm, {{"x.0", 20'000'000}}},
    {"norm_small", kNorm, {{"x.0", 100}}},
    {"squares", kSquares, {{"x.0", 1'000'000}, {"x.1", 4}}},
    {"squares_long", kSquares, {{"x.0", 1000}, {"x.1", 100'000}}},
    {"longest", kLongest, {{"x.0", 1000}, {"x.1", 1000}}},
    {"longest_long", kLongest, {{"x.0", 10}, {"x.1", 1'000'000}}},
    {"norms", kNorms, {{"a.0", 30}, {"a.1", 6}}},
    {"weights", kWeights, {{"x.0", 1000}, {"y.0", 400}}},
    {"deep", kDeep, {{"x.0", 7}, {"x.1", 3}, {"x.2", 100}, {"x.3", 200}}},
};

class OfAProgram : public testing::TestWithParam<Case> {};

TEST_P(OfAProgram, PointsOfEveryVariantAreLegal) {
    const translator::Program program = translator::read_program(GetParam().program);
    std::vector<translator::TranslateOptions> all{at(GetParam().sizes)};
    for (const translator::VariantInfo& variant : translator::variants(program, all.front()))
        for (const std::string& option : variant.options) {
            all.push_back(all.front());
            all.back().variant[variant.name] = option;
        }
    std::mt19937_64 rng(7);
    for (const translator::TranslateOptions& options : all) {
        const dsl::AlgorithmInfo info = translator::translate(program, options).info();
        const dsl::Space space(default_space(info, device()));
        const dsl::Environment environment = make_environment(info, device());
        ASSERT_FALSE(space.violated(space.first_point(), environment)) << dsl::print_schedule(space.text());
        for (int k = 0; k < 20; ++k) {
            const auto point = k == 0 ? space.first_point() : space.random_point(rng, environment);
            ASSERT_TRUE(point);
            const dsl::Schedule schedule = space.at(*point);
            const auto violations = dsl::check(info, schedule);
            ASSERT_TRUE(violations.empty()) << violations.front().text() << "\n" << dsl::print_schedule(schedule);
        }
    }
}

TEST_P(OfAProgram, TheDefaultAndAnotherPointBuild) {
    std::mt19937_64 rng(11);
    for (int k = 0; k < 2; ++k) {
        dsl::Algorithm algorithm = translated(GetParam().program, GetParam().sizes);
        const dsl::Space space(default_space(algorithm.info(), device()));
        const auto point =
            k == 0 ? space.first_point() : space.random_point(rng, make_environment(algorithm.info(), device()));
        const dsl::Schedule schedule = space.at(*point);
        dsl::apply(algorithm, schedule);
        dsl::EmitOptions options;
        options.isa = "cuda-sm_80";
        dsl::Emitted emitted;
        ASSERT_NO_THROW(emitted = dsl::emit(std::move(algorithm), schedule, options)) << dsl::print_schedule(schedule);
        EXPECT_FALSE(emitted.kernels.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(GpuSpace, OfAProgram, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

/// A search over a space of a device, whose times are made up: 512 threads and two elements side by side are best.
TEST(GpuSpace, ASearchFindsItsWay) {
    const dsl::AlgorithmInfo info = translated(kExp, {{"x.0", 10'000'000}}).info();
    RecordedWorkbench bench(info, [](const dsl::Schedule& schedule) {
        const std::string text = dsl::print_schedule(schedule);
        RecordedCandidate candidate;
        candidate.median_ns = 100'000;
        if (text.find("vectorize") != std::string::npos) candidate.median_ns -= 20'000;
        if (text.find(", 1024, shift_inwards)") != std::string::npos) candidate.median_ns -= 10'000;
        return candidate;
    });
    Job job;
    job.function = info.function;
    job.isa = "cuda-sm_80";
    job.budget_s = 60;
    TuneEnvironment environment;
    environment.workbench = &bench;
    environment.machine = device();
    environment.rules.default_schedule = [](const dsl::AlgorithmInfo& of, const Machine& machine) {
        return default_schedule(of, machine);
    };
    environment.rules.default_space = [](const dsl::AlgorithmInfo& of, const Machine& machine) {
        return default_space(of, machine);
    };
    environment.rules.check = dsl::check;
    environment.clock_s = [&bench] { return bench.now_s(); };
    const TuneResult result = tune(job, environment);
    ASSERT_TRUE(result.found);
    EXPECT_THAT(result.schedule, HasSubstr("1024, shift_inwards"));
    EXPECT_THAT(result.schedule, HasSubstr("for cuda-sm_80"));
}

} // namespace
} // namespace tilewright::autotune
