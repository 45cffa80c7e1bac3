// tests/runtime/cuda/executor_test.cpp: plans on a device: order, temporaries, loops that look at data, copies, errors.
// Compiled twice: with the fake driver, and for a real one, where it is skipped without a device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/blas.h"
#include "dsl/runtime/cuda/strided_copy.h"
#include "tests/runtime/cuda/on_device.h"
#include "tests/runtime/cuda/which_driver.h"

namespace tilewright::runtime {
namespace {

using tests::call_on_device;
using tests::DeviceVector;
using tests::load_for_device;

class OnDevice : public testing::Test {
  protected:
    void SetUp() override {
        std::string why;
        tests::prepare_driver();
        if (cuda::device_count(&why) == 0) GTEST_SKIP() << why;
        place_.stream = cuda::new_stream(0);
    }
    void TearDown() override {
        if (place_.stream) cuda::destroy_stream(0, place_.stream);
    }
    cuda::Place place_;
};

std::vector<double> counted(std::size_t n, double factor = 1) {
    std::vector<double> out(n);
    for (std::size_t i = 0; i < n; ++i)
        out[i] = factor * static_cast<double>(i);
    return out;
}

TEST_F(OnDevice, KernelsRunInOrderWithTheTemporariesOfThePlanAndOfTheKernel) {
    for (const char* body : {"temp t float64 [x.0]\ncall dev_half in \"dev\" (x, t)\ncall dev_half in \"dev\" (t, y)\n",
                             "call dev_quarter in \"dev\" (x, y)\n"}) {
        auto e = load_for_device(std::string("tilewright-plan 1\nfunction f\narg x float64 1\nresult y float64 [x.0]\n"
                                             "return y\nversion \"cuda\"\nrequire isa cuda-sm_70\n") +
                                 body + "end\n");
        for (std::size_t n : {std::size_t{1}, std::size_t{127}, std::size_t{128}, std::size_t{100'001}}) {
            DeviceVector x(place_, counted(n));
            auto c = call_on_device(*e, place_, {x.view()});
            ASSERT_EQ(c.status, RunStatus::done) << c.failed;
            EXPECT_EQ(c.results[0], counted(n, 0.25));
        }
    }
}

TEST_F(OnDevice, TheDefaultStreamServesToo) {
    const cuda::Place legacy;
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(legacy, counted(1000));
    auto c = call_on_device(*e, legacy, {x.view()});
    ASSERT_EQ(c.status, RunStatus::done) << c.failed;
    EXPECT_EQ(c.results[0], counted(1000, 0.25));
}

TEST_F(OnDevice, VersionsAreChosenByWhereTheArraysLie) {
    auto both = load_for_device(R"(tilewright-plan 1
function f
arg A float64 1 written
scalar t int64
return None
version "host"
call step in "step" (t, A)
end
version "cuda"
require isa cuda-sm_70
call dev_step in "dev" (t, A)
end
version "of the future"
require isa cuda-sm_9990
call dev_step in "dev" (t, A)
end
)");
    EXPECT_TRUE(both->serves_host());
    EXPECT_TRUE(both->serves_devices());
    DeviceVector a(place_, {1, 2, 3});
    auto c = call_on_device(*both, place_, {a.view()}, 5);
    EXPECT_EQ(c.version, 1);
    ASSERT_EQ(c.status, RunStatus::done) << c.failed;
    EXPECT_EQ(a.values(), (std::vector<double>{7, 9, 11}));

    std::vector<char> memory(both->frame_bytes());
    auto frame = both->lay_out(memory.data());
    std::int64_t shape[] = {3}, strides[] = {8};
    double values[3] = {};
    frame.arguments[0].array = {values, shape, strides};
    int argument = 0;
    ASSERT_TRUE(both->read_sizes(frame, argument));
    EXPECT_EQ(both->select(frame), 0);

    auto future = load_for_device(R"(tilewright-plan 1
function f
arg A float64 1 written
scalar t int64
return None
version "of the future"
require isa cuda-sm_9990
call dev_step in "dev" (t, A)
end
)");
    EXPECT_EQ(call_on_device(*future, place_, {a.view()}, 5).version, -1);
    EXPECT_FALSE(future->serves_host());
    EXPECT_EQ(future->requirements_text(), "arrays on a device of compute capability 999.0 or later");
}

TEST_F(OnDevice, ADecisionIsForCallsLikeItsOwn) {
    auto e = load_for_device(R"(tilewright-plan 1
function f
arg A float64 2
scalar t int64
guard A.0 >= 2 "A is too short."
result y float64 [A.0 + t]
return y
version "rows"
require isa cuda-sm_70
require layout A C
call dev_half in "dev" (A, y)
end
version "any"
require isa cuda-sm_70
call dev_half in "dev" (A, y)
end
)");
    std::vector<char> memory(e->frame_bytes());
    std::int64_t shape[] = {3, 2}, strides[] = {16, 8};
    cuda::Place place = place_;
    double values[16] = {};
    Executable::Decision decision;
    // The version: of the decision where it serves the call, else a new one.
    auto decide = [&](std::int64_t t, bool& recalled) {
        std::fill(memory.begin(), memory.end(), char{0x55});
        auto frame = e->lay_out(memory.data());
        frame.place = &place;
        frame.arguments[0].array = {values, shape, strides};
        std::memcpy(frame.arguments[1].scalar, &t, sizeof t);
        int version = e->recall(frame, decision);
        recalled = version >= 0;
        if (!recalled) {
            int argument = 0;
            if (!e->read_sizes(frame, argument) || e->failed_guard(frame) >= 0) return -1;
            version = e->select(frame);
            if (version < 0 || !e->size_results(frame)) return -1;
            e->remember(frame, version, decision);
        }
        EXPECT_EQ(frame.symbols[0], shape[0]);
        EXPECT_EQ(frame.symbols[1], shape[1]);
        EXPECT_EQ(frame.symbols[2], t);
        EXPECT_EQ(frame.results[0].shape[0], shape[0] + t);
        EXPECT_EQ(frame.results[0].elements, shape[0] + t);
        EXPECT_FALSE(frame.results[0].is_pooled);
        return version;
    };
    bool recalled = true;
    EXPECT_EQ(decide(1, recalled), 0);
    EXPECT_FALSE(recalled);
    EXPECT_EQ(decide(1, recalled), 0);
    EXPECT_TRUE(recalled);
    EXPECT_EQ(decide(2, recalled), 0); // another integer
    EXPECT_FALSE(recalled);
    strides[0] = 8, strides[1] = 24; // the same shape, in another order
    EXPECT_EQ(decide(2, recalled), 1);
    EXPECT_FALSE(recalled);
    EXPECT_EQ(decide(2, recalled), 1);
    EXPECT_TRUE(recalled);
    place.stream = nullptr; // no part of it
    EXPECT_EQ(decide(2, recalled), 1);
    EXPECT_TRUE(recalled);
    shape[0] = 1; // no array for the plan: what was decided before stays
    EXPECT_EQ(decide(2, recalled), -1);
    EXPECT_FALSE(recalled);
    shape[0] = 3;
    EXPECT_EQ(decide(2, recalled), 1);
    EXPECT_TRUE(recalled);
    if (cuda::device_count() > 1) {
        place.device = 1;
        EXPECT_EQ(decide(2, recalled), 1);
        EXPECT_FALSE(recalled);
    }
}

TEST_F(OnDevice, LoopsBranchesReadsAndChecksLookAtTheDevice) {
    // Halved until it is at most 1; counted; then as many steps as the last value says.
    auto e = load_for_device(R"(tilewright-plan 1
function f
arg A float64 1 written
arg whole float64 1
scalar n int64
return None
version "cuda"
require isa cuda-sm_70
temp c bool []
temp m int64 []
temp u float64 [A.0]
check n >= 0 "n is negative"
loop {
  call dev_large in "dev" (A, c)
  leave unless c
  call dev_half in "dev" (A, u)
  copy u to A
}
call dev_whole in "dev" (whole, m)
read steps from m
for t from 0 to steps step 1 {
  if t % 2 == 0 {
    call dev_step in "dev" (t, A)
  } else {
    call dev_half in "dev" (A, u)
    copy u to A
  }
}
end
)");
    DeviceVector a(place_, {12, 4, -1}), whole(place_, {3.9});
    auto c = call_on_device(*e, place_, {a.view(), whole.view()}, 0);
    ASSERT_EQ(c.status, RunStatus::done) << c.failed;
    // 12 -> 0.75 by four halvings; then t=0: 2a, t=1: a/2, t=2: 2a+2.
    EXPECT_EQ(a.values(), (std::vector<double>{3.5, 2.5, 1.875}));
    auto failed = call_on_device(*e, place_, {a.view(), whole.view()}, -1);
    EXPECT_EQ(failed.status, RunStatus::check_failed);
    EXPECT_EQ(failed.failed, "n is negative");
    DeviceVector huge(place_, {1e15});
    EXPECT_EQ(call_on_device(*e, place_, {a.view(), huge.view()}, 0).status, RunStatus::check_failed);
}

TEST_F(OnDevice, TemporariesSwapTheirMemory) {
    auto e = load_for_device(R"(tilewright-plan 1
function f
arg x float64 1
scalar n int64
result y float64 [x.0]
return y
version "cuda"
require isa cuda-sm_70
temp a float64 [x.0]
temp b float64 [x.0]
copy x to a
for t from 0 to n step 1 {
  call dev_half in "dev" (a, b)
  swap a b
}
copy a to y
end
)");
    DeviceVector x(place_, counted(300, 1024));
    for (std::int64_t n : {0, 1, 2, 7}) {
        auto c = call_on_device(*e, place_, {x.view()}, n);
        ASSERT_EQ(c.status, RunStatus::done) << c.failed;
        EXPECT_EQ(c.results[0], counted(300, 1024 / static_cast<double>(1 << n)));
    }
}

TEST_F(OnDevice, LongLoopsOfEqualIterationsAreRecordedOnceAndLaunchedAsGraphs) {
    // A swap of two, a cycle of three, and a temporary of each iteration.
    auto e = load_for_device(R"(tilewright-plan 1
function f
arg A float64 1 written
arg x float64 1
scalar n int64
result y float64 [x.0]
return y
version "cuda"
require isa cuda-sm_70
temp a float64 [x.0]
temp b float64 [x.0]
temp c float64 [x.0]
copy x to a
copy x to b
copy x to c
for t from 0 to n step 1 {
  temp u float64 [x.0]
  call dev_quarter in "dev" (a, u)
  call dev_step in "dev" (1, u)
  call dev_half in "dev" (u, b)
  swap a b
  swap b c
  call dev_step in "dev" (3, A)
  call dev_half in "dev" (A, A)
}
copy a to y
end
)");
    auto expected = [](std::vector<double> x, std::vector<double>& A, std::int64_t n) {
        std::vector<double> a = x, b = x, c = x;
        for (std::int64_t t = 0; t < n; ++t) {
            for (std::size_t i = 0; i < x.size(); ++i)
                b[i] = (2 * (a[i] / 4) + 1) / 2;
            std::swap(a, b);
            std::swap(b, c);
            for (double& v : A)
                v = (2 * v + 3) / 2;
        }
        return a;
    };
    for (std::int64_t n : {0, 1, 5, 49, 50, 51, 333, 1000}) {
        std::vector<double> A{1, -1};
        DeviceVector x(place_, counted(300)), on_device(place_, A);
        const auto before = cuda::driver_calls();
        auto c = call_on_device(*e, place_, {on_device.view(), x.view()}, n);
        const auto after = cuda::driver_calls();
        ASSERT_EQ(c.status, RunStatus::done) << c.failed;
        EXPECT_EQ(c.results[0], expected(counted(300), A, n)) << n;
        EXPECT_EQ(on_device.values(), A) << n;
        EXPECT_EQ(after.graph_launches > before.graph_launches, n > 40) << n;
        EXPECT_LT(after.launches - before.launches, 400u) << n;
        // Memory that the graphs used is there again.
        EXPECT_LT(cuda::device_pool_info(0).live_bytes, 16u << 10);
    }
    // What an iteration's index changes is not recorded.
    auto indexed =
        load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar n int64\nreturn None\n"
                        "version \"cuda\"\nrequire isa cuda-sm_70\nfor t from 0 to n step 1 {\n"
                        "call dev_step in \"dev\" (t % 2, A)\ncall dev_half in \"dev\" (A, A)\n}\nend\n");
    DeviceVector a(place_, {0});
    const auto before = cuda::driver_calls().graph_launches;
    ASSERT_EQ(call_on_device(*indexed, place_, {a.view()}, 1000).status, RunStatus::done);
    EXPECT_EQ(a.values()[0], 250);
    EXPECT_EQ(cuda::driver_calls().graph_launches, before);
}

TEST_F(OnDevice, CopiesTakeAnyStridesAndEverySizeOfElement) {
    for (const char* dtype : {"int8", "int16", "float32", "float64", "complex128"}) {
        auto e =
            load_for_device(std::string("tilewright-plan 1\nfunction f\narg A ") + dtype + " 3\narg B " + dtype +
                            " 3 written\nreturn None\nversion \"cuda\"\nrequire isa cuda-sm_70\ncopy A to B\nend\n");
        const std::int64_t bytes = info(e->plan().arguments[0].dtype).bytes;
        const std::int64_t shape[] = {5, 7, 3};
        // C order, Fortran order, every second element backwards, a broadcast axis.
        const std::vector<std::vector<std::int64_t>> layouts = {{21, 3, 1}, {1, 5, 35}, {-42, 6, -2}, {0, 3, 1}};
        const std::int64_t starts[] = {0, 0, 4 * 42 + 4, 0};
        for (std::size_t from = 0; from < layouts.size(); ++from)
            for (std::size_t to = 0; to < 3; ++to) {
                std::vector<unsigned char> source(static_cast<std::size_t>(256 * bytes)), target(source.size(), 0xEE);
                for (std::size_t i = 0; i < source.size(); ++i)
                    source[i] = static_cast<unsigned char>(i * 7 + i / 256);
                std::vector<unsigned char> expected = target;
                std::int64_t strides[2][3];
                for (int k = 0; k < 3; ++k) {
                    strides[0][k] = layouts[from][static_cast<std::size_t>(k)] * bytes;
                    strides[1][k] = layouts[to][static_cast<std::size_t>(k)] * bytes;
                }
                for (std::int64_t i = 0; i < 5; ++i)
                    for (std::int64_t j = 0; j < 7; ++j)
                        for (std::int64_t k = 0; k < 3; ++k)
                            std::memcpy(&expected[static_cast<std::size_t>(starts[to] * bytes + i * strides[1][0] +
                                                                           j * strides[1][1] + k * strides[1][2])],
                                        &source[static_cast<std::size_t>(starts[from] * bytes + i * strides[0][0] +
                                                                         j * strides[0][1] + k * strides[0][2])],
                                        static_cast<std::size_t>(bytes));
                auto* a = static_cast<unsigned char*>(cuda::allocate(place_, source.size()));
                auto* b = static_cast<unsigned char*>(cuda::allocate(place_, target.size()));
                cuda::copy_to_device(place_, a, source.data(), source.size());
                cuda::copy_to_device(place_, b, target.data(), target.size());
                auto c = call_on_device(
                    *e, place_,
                    {{a + starts[from] * bytes, shape, strides[0]}, {b + starts[to] * bytes, shape, strides[1]}});
                ASSERT_EQ(c.status, RunStatus::done) << c.failed;
                cuda::copy_to_host(place_, target.data(), b, target.size());
                EXPECT_EQ(target, expected) << dtype << " " << from << " to " << to;
                cuda::release(place_, a);
                cuda::release(place_, b);
            }
    }
}

TEST_F(OnDevice, ProductsOfMatrices) {
    if (!cuda::has_blas()) GTEST_SKIP() << "no cuBLAS";
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 2\narg B float64 2\n"
                             "result C float64 [A.0, B.1]\nreturn C\nversion \"cuda\"\nrequire isa cuda-sm_70\n"
                             "library matmul (A, B, C)\nend\n");
    // Plain, transposed, and with gaps in both directions.
    const std::int64_t m = 5, k = 4, n = 3;
    for (int left = 0; left < 3; ++left)
        for (int right = 0; right < 3; ++right) {
            std::vector<double> a(256), b(256);
            for (std::size_t i = 0; i < a.size(); ++i)
                a[i] = static_cast<double>(i % 17) - 8, b[i] = static_cast<double>(i % 13) - 6;
            DeviceVector da(place_, a), db(place_, b);
            const std::int64_t a_strides[3][2] = {{k, 1}, {1, m}, {2 * k, 2}},
                               b_strides[3][2] = {{n, 1}, {1, k}, {2 * n, 2}};
            const std::int64_t a_shape[] = {m, k}, b_shape[] = {k, n};
            const std::int64_t a_bytes[] = {a_strides[left][0] * 8, a_strides[left][1] * 8},
                               b_bytes[] = {b_strides[right][0] * 8, b_strides[right][1] * 8};
            auto c = call_on_device(*e, place_, {{da.data(), a_shape, a_bytes}, {db.data(), b_shape, b_bytes}});
            ASSERT_EQ(c.status, RunStatus::done) << c.failed;
            for (std::int64_t i = 0; i < m; ++i)
                for (std::int64_t j = 0; j < n; ++j) {
                    double sum = 0;
                    for (std::int64_t x = 0; x < k; ++x)
                        sum += a[static_cast<std::size_t>(i * a_strides[left][0] + x * a_strides[left][1])] *
                               b[static_cast<std::size_t>(x * b_strides[right][0] + j * b_strides[right][1])];
                    EXPECT_EQ(c.results[0][static_cast<std::size_t>(i * n + j)], sum);
                }
        }
}

TEST_F(OnDevice, ProductsOfStacksOfMatrices) {
    if (!cuda::has_blas()) GTEST_SKIP() << "no cuBLAS";
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 4\narg B float64 3\n"
                             "result C float64 [A.0, B.0, A.2, B.2]\nreturn C\nversion \"cuda\"\n"
                             "require isa cuda-sm_70\nlibrary matmul (A, B, C)\nend\n");
    const std::int64_t m = 5, k = 4, n = 3;
    // Extents of the stack, elements between its matrices, and those between rows and columns.
    struct Left {
        std::int64_t outer, inner, outer_step, inner_step, row, column, first;
    };
    struct Right {
        std::int64_t extent, step, row, column, first;
    };
    for (const Left& l : {Left{2, 3, 60, 20, k, 1, 0},
                          {2, 3, 20, 40, 1, m, 0},
                          {2, 1, 20, 0, k, 1, 0},
                          {2, 3, 0, 0, k, 1, 0},
                          {2, 3, 60, -20, k, 1, 200},
                          {3, 3, 4, 12, 36, 1, 0},
                          {2, 3, 200, 50, 9, 2, 0},
                          {1, 1, 0, 0, k, 1, 0},
                          {0, 3, 60, 20, k, 1, 0}})
        for (const Right& r :
             {Right{3, 12, n, 1, 0}, {3, 12, 1, k, 0}, {1, 0, n, 1, 0}, {3, -12, n, 1, 100}, {3, 40, 7, 2, 0}}) {
            const std::int64_t count = std::max(l.inner, r.extent);
            std::vector<double> a(1024), b(1024);
            for (std::size_t i = 0; i < a.size(); ++i)
                a[i] = static_cast<double>(i % 17) - 8, b[i] = static_cast<double>(i % 13) - 6;
            DeviceVector da(place_, a), db(place_, b);
            if (l.inner != r.extent && l.inner != 1 && r.extent != 1) continue;
            if (r.extent != count) continue; // the plan says that C has as many
            const std::int64_t a_shape[] = {l.outer, l.inner, m, k}, b_shape[] = {r.extent, k, n};
            const std::int64_t a_bytes[] = {8 * l.outer_step, 8 * l.inner_step, 8 * l.row, 8 * l.column},
                               b_bytes[] = {8 * r.step, 8 * r.row, 8 * r.column};
            auto c = call_on_device(*e, place_,
                                    {{static_cast<double*>(da.data()) + l.first, a_shape, a_bytes},
                                     {static_cast<double*>(db.data()) + r.first, b_shape, b_bytes}});
            ASSERT_EQ(c.status, RunStatus::done) << c.failed;
            for (std::int64_t at = 0; at < l.outer * count * m * n; ++at) {
                const std::int64_t o = at / (count * m * n), s = at / (m * n) % count, i = at / n % m, j = at % n;
                double sum = 0;
                for (std::int64_t x = 0; x < k; ++x)
                    sum +=
                        a[static_cast<std::size_t>(l.first + o * l.outer_step + (l.inner == 1 ? 0 : s) * l.inner_step +
                                                   i * l.row + x * l.column)] *
                        b[static_cast<std::size_t>(r.first + s * r.step + x * r.row + j * r.column)];
                ASSERT_EQ(c.results[0][static_cast<std::size_t>(at)], sum) << at;
            }
        }
}

TEST_F(OnDevice, LargeCopiesGoThroughPinnedSlotsAndBack) {
    for (std::size_t bytes : {std::size_t{1}, std::size_t{255}, std::size_t{257}, std::size_t{65'537},
                              (std::size_t{4} << 20) + 3, (std::size_t{37} << 20) + 11}) {
        std::vector<unsigned char> from(bytes), to(bytes);
        for (std::size_t i = 0; i < bytes; ++i)
            from[i] = static_cast<unsigned char>(i * 31 + (i >> 16));
        void* on_device = cuda::allocate(place_, bytes);
        void* again = cuda::allocate(place_, bytes);
        ASSERT_NE(on_device, nullptr);
        cuda::copy_to_device(place_, on_device, from.data(), bytes);
        cuda::copy_on_device(place_, again, on_device, bytes);
        cuda::fill(place_, on_device, 9, bytes);
        cuda::copy_to_host(place_, to.data(), again, bytes);
        EXPECT_TRUE(from == to) << bytes;
        cuda::copy_to_host(place_, to.data(), on_device, bytes);
        EXPECT_TRUE(to == std::vector<unsigned char>(bytes, 9)) << bytes;
        cuda::release(place_, on_device);
        cuda::release(place_, again);
    }
}

TEST_F(OnDevice, AThousandCallsNeitherWaitNorCopyNorAllocate) {
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(place_, counted(1000));
    for (int i = 0; i < 3; ++i)
        call_on_device(*e, place_, {x.view()}, 0, false);
    const cuda::DriverCalls before = cuda::driver_calls();
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(call_on_device(*e, place_, {x.view()}, 0, false).status, RunStatus::done);
    const cuda::DriverCalls after = cuda::driver_calls();
    EXPECT_EQ(after.launches - before.launches, 2000u);
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.frees, before.frees);
    EXPECT_EQ(after.copies_to_device, before.copies_to_device);
    EXPECT_EQ(after.copies_to_host, before.copies_to_host);
    EXPECT_EQ(after.copies_on_device, before.copies_on_device);
    EXPECT_EQ(after.stream_synchronizations, before.stream_synchronizations);
    EXPECT_EQ(after.event_synchronizations, before.event_synchronizations);
    EXPECT_EQ(after.device_synchronizations, before.device_synchronizations);
    EXPECT_EQ(after.module_loads, before.module_loads);
    EXPECT_EQ(after.context_switches, before.context_switches);
}

TEST_F(OnDevice, MoreSharedMemoryThanADefaultIsAskedForAndTooMuchIsAnError) {
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar n int64\nreturn None\n"
                             "version \"cuda\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (n, A)\n"
                             "call dev_shared in \"dev\" (n)\nend\n");
    DeviceVector a(place_, {1});
    EXPECT_EQ(call_on_device(*e, place_, {a.view()}, 98'304).status, RunStatus::done);
    cuda::synchronize(place_);
    auto c = call_on_device(*e, place_, {a.view()}, 1 << 20);
    EXPECT_EQ(c.status, RunStatus::device_error);
    EXPECT_NE(c.failed.find("dev_shared needs 1048576 bytes of shared memory a block, and device 0 has " +
                            std::to_string(cuda::device(0).shared_bytes_per_block)),
              std::string::npos)
        << c.failed;
    EXPECT_EQ(call_on_device(*e, place_, {a.view()}, 98'304).status, RunStatus::done);
}

TEST_F(OnDevice, ObjectsThatGoTakeTheirModulesWithThem) {
    for (int i = 0; i < 3; ++i) {
        auto e = load_for_device(tests::kQuarterPlan);
        DeviceVector x(place_, counted(10));
        const auto loads = cuda::driver_calls().module_loads;
        ASSERT_EQ(call_on_device(*e, place_, {x.view()}).results[0], counted(10, 0.25));
        EXPECT_EQ(cuda::driver_calls().module_loads, loads + 1);
    }
}

TEST_F(OnDevice, FunctionsTellWhatTheyNeed) {
    const auto facts = cuda::function_facts(0, cuda::strided_copy_ptx());
    ASSERT_EQ(facts.size(), 5u);
    EXPECT_EQ(facts[3].name, "tilewright_copy_8");
    for (const auto& f : facts) {
        EXPECT_GT(f.registers, 0);
        EXPECT_EQ(f.local_bytes, 0);
        EXPECT_GE(f.max_threads, 256);
    }
    EXPECT_THROW(cuda::function_facts(0, ".version 6.0\n.target sm_70\nSYNTAX ERROR\n"), DeviceError);
}

TEST_F(OnDevice, AProfileTimesEachLaunch) {
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(place_, counted(1000));
    ASSERT_EQ(call_on_device(*e, place_, {x.view()}).results[0], counted(1000, 0.25));
    const auto before = cuda::driver_calls();
    cuda::Profile profile;
    ASSERT_EQ(call_on_device(*e, place_, {x.view()}).results[0], counted(1000, 0.25));
    const auto launches = cuda::driver_calls().launches - before.launches;
    const auto times = profile.read();
    ASSERT_EQ(times.size(), launches);
    for (const auto& time : times) {
        EXPECT_GT(time.ns, 0);
        EXPECT_GT(time.facts.registers, 0);
        EXPECT_GT(time.blocks_per_multiprocessor, 0);
        EXPECT_GT(time.blocks[0] * time.threads[0], 0u);
        EXPECT_EQ(time.array_bytes % 8000, 0);
    }
    EXPECT_TRUE(profile.read().empty());
    EXPECT_EQ(profile.untimed(), 0u);
}

TEST_F(OnDevice, AddressesKnowTheirDevice) {
    DeviceVector x(place_, {1});
    double host = 0;
    EXPECT_EQ(cuda::device_of(x.data()), 0);
    EXPECT_EQ(cuda::device_of(&host), -1);
    EXPECT_EQ(cuda::device_of(nullptr), -1);
}

TEST_F(OnDevice, TimersMeasureTheStream) {
    cuda::Timer timer(place_);
    DeviceVector x(place_, counted(1 << 20));
    timer.start();
    cuda::fill(place_, x.data(), 0, 8 << 20);
    timer.stop();
    EXPECT_GT(timer.elapsed_ns(), 0);
}

TEST_F(OnDevice, StreamsWaitForEachOther) {
    const cuda::Place other{0, cuda::new_stream(0)};
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(place_, counted(100'000));
    cuda::wait_for(other, place_);
    auto c = call_on_device(*e, other, {x.view()});
    ASSERT_EQ(c.status, RunStatus::done) << c.failed;
    EXPECT_EQ(c.results[0], counted(100'000, 0.25));
    cuda::destroy_stream(0, other.stream);
}

TEST_F(OnDevice, ADeviceThatIsNotThereIsAnError) {
    EXPECT_THROW(cuda::device(99), DeviceError);
    EXPECT_EQ(cuda::capability(99), 0);
    EXPECT_GE(cuda::device(0).multiprocessors, 1);
    EXPECT_GE(cuda::driver_version(), 11040);
}

} // namespace
} // namespace tilewright::runtime
