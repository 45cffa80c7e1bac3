// tests/autotune/test_machine.cpp: facts of this machine, the roofline's arithmetic, values for conditions of spaces.
#include <gtest/gtest.h>

#include "autotune/machine.h"
#include "autotune/measure/roofline.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

TEST(Machine, IsReadTheSameTwice) {
    const Machine a = this_machine(), b = this_machine("x86-64");
    EXPECT_EQ(a.fingerprint, b.fingerprint);
    EXPECT_EQ(a.fingerprint.size(), 32u);
    EXPECT_GE(a.cores, 1);
    EXPECT_GE(a.l2_bytes, a.l1_bytes);
    EXPECT_EQ(b.isa, "x86-64");
    EXPECT_NE(a.isa, "host");
}

TEST(Machine, RefusesAnUnknownTarget) {
    try {
        this_machine("x86-64-v9");
        FAIL();
    } catch (const DeviceError& error) {
        EXPECT_STREQ(error.what(),
                     "target x86-64-v9: not a known instruction set. Use host, x86-64, x86-64-v3, x86-64-v4 or cuda.");
    }
}

TEST(Machine, ACudaTargetHasADeviceHereOrAssumed) {
    const Machine assumed = this_machine("cuda", false);
    EXPECT_EQ(assumed.isa, "cuda-sm_80");
    ASSERT_TRUE(assumed.is_device());
    EXPECT_FALSE(assumed.device->present);
    EXPECT_EQ(assumed.device->multiprocessors, 132);
    EXPECT_EQ(assumed.lanes("float64"), 2);
    EXPECT_EQ(assumed.l2_bytes, assumed.device->l2_bytes);
    // Records of a device are not those of the CPU, nor of what was only assumed.
    EXPECT_NE(assumed.fingerprint, this_machine().fingerprint);
    const Machine here = this_machine("cuda-sm_80");
    ASSERT_TRUE(here.is_device());
    EXPECT_EQ(here.device->present, here.fingerprint != assumed.fingerprint);
}

TEST(Machine, LanesFollowTheInstructionSet) {
    Machine machine;
    machine.isa = "x86-64-v4";
    EXPECT_EQ(machine.lanes("float64"), 8);
    EXPECT_EQ(machine.lanes("bool"), 64);
    machine.isa = "x86-64-v3";
    EXPECT_EQ(machine.lanes("float32"), 8);
    machine.isa = "x86-64";
    EXPECT_EQ(machine.lanes("float64"), 2);
    EXPECT_EQ(machine.lanes("str"), 0);
}

TEST(Machine, EnvironmentKnowsSizesExtentsLanesAndCaches) {
    Machine machine;
    machine.isa = "x86-64-v3";
    machine.cores = 6;
    dsl::AlgorithmInfo info;
    info.sizes = {{"X.0", 1000}, {"X.1", -1}};
    dsl::StageInfo stage;
    stage.name = "labels";
    stage.pure.loops.resize(1);
    stage.pure.loops[0].name = "i";
    stage.pure.loops[0].extent_here = 1000;
    info.stages = {stage};
    const dsl::Environment environment = make_environment(info, machine);
    auto symbol = [](const std::string& name) { return dsl::Expression::symbol(name); };
    auto call = [&](const std::string& name, const std::string& operand) {
        return dsl::Expression::call(name, {symbol(operand)});
    };
    EXPECT_EQ(environment(symbol("cores")), 6);
    EXPECT_EQ(environment(symbol("X.0")), 1000);
    EXPECT_EQ(environment(symbol("X.1")), std::nullopt);
    EXPECT_EQ(environment(call("lanes", "float64")), 4);
    EXPECT_EQ(environment(call("lanes", "nothing")), std::nullopt);
    EXPECT_EQ(environment(call("extent", "i")), 1000);
    EXPECT_EQ(environment(call("extent", "z")), std::nullopt);
}

TEST(Roofline, BoundsReadsWritesAndMixtures) {
    Roofline roofline;
    roofline.levels = {{1 << 20, 100, 50, 80}, {1 << 28, 20, 10, 16}};
    EXPECT_EQ(roofline.memory_bound_ns(1000, 1000), 0) << "smaller than anything measured: no claim";
    EXPECT_DOUBLE_EQ(roofline.memory_bound_ns(2e6, 0), 2e6 / 100);
    EXPECT_DOUBLE_EQ(roofline.memory_bound_ns(0, 2e6), 2e6 / 50);
    EXPECT_DOUBLE_EQ(roofline.memory_bound_ns(3e8, 1e8), 2e8 / 16 + 2e8 / 20);
}

TEST(Roofline, TheLimitThatLeavesTheMostTimeBinds) {
    Roofline roofline;
    roofline.levels = {{1 << 20, 10, 10, 10}};
    roofline.float32_gflops = 100;
    roofline.float64_gflops = 50;
    roofline.float32_fma_gflops = 200;
    roofline.float64_fma_gflops = 100;
    CallWork work{1e7, 0, {}, "numpy"};
    EXPECT_EQ(roofline.bound(work).roof, Roof::memory);
    EXPECT_DOUBLE_EQ(roofline.bound(work).ns, 1e6);
    work.flops.float64 = 1e8;
    EXPECT_EQ(roofline.bound(work).roof, Roof::compute);
    EXPECT_DOUBLE_EQ(roofline.bound(work).ns, 2e6);
    work.contract = "fast"; // may fuse what NumPy does not
    EXPECT_EQ(roofline.bound(work).ns, 1e6);
    work.contract = "numpy";
    work.flops.float32_products = 1e9; // by a library or not
    EXPECT_EQ(roofline.bound(work).roof, Roof::fused_compute);
    EXPECT_DOUBLE_EQ(roofline.bound(work).ns, 7e6);
    work.contract = "reproducible"; // no library, no fusion
    EXPECT_EQ(roofline.bound(work).roof, Roof::compute);
    EXPECT_DOUBLE_EQ(roofline.bound(work).ns, 12e6);
    EXPECT_EQ(Roofline().bound(work).roof, Roof::none);
}

TEST(Roofline, IsOnlyEverRaised) {
    Roofline roofline;
    roofline.levels = {{1 << 20, 10, 30, 10}};
    roofline.float32_gflops = 100;
    Roofline other;
    other.levels = {{1 << 20, 20, 20, 5}};
    other.float32_gflops = 50;
    other.float64_fma_gflops = 7;
    roofline.raise_to(other);
    EXPECT_EQ(roofline.levels[0].read_gbps, 20);
    EXPECT_EQ(roofline.levels[0].write_gbps, 30);
    EXPECT_EQ(roofline.levels[0].copy_gbps, 10);
    EXPECT_EQ(roofline.float32_gflops, 100);
    EXPECT_EQ(roofline.float64_fma_gflops, 7);
}

TEST(Roofline, IsMeasuredAsPlausibleNumbers) {
    const Roofline roofline = measure_roofline(this_machine(), 1 << 23);
    ASSERT_TRUE(roofline.measured());
    for (const BandwidthLevel& level : roofline.levels) {
        EXPECT_GT(level.read_gbps, 0.2);
        EXPECT_LT(level.read_gbps, 20000);
        EXPECT_GT(level.write_gbps, 0.2);
        EXPECT_GT(level.copy_gbps, 0.2);
    }
    EXPECT_GT(roofline.float32_gflops, 0.5);
    EXPECT_GT(roofline.float64_gflops, 0.5);
    EXPECT_GE(roofline.float32_fma_gflops, roofline.float32_gflops);
    EXPECT_GE(roofline.float64_fma_gflops, roofline.float64_gflops);
}

} // namespace
} // namespace tilewright::autotune
