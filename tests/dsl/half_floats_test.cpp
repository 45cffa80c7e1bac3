// tests/dsl/half_floats_test.cpp: float16 on the host and in kernels, with instructions for it and without.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "Halide.h"
#include "dsl/base/half.h"
#include "dsl/base/targets.h"
#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using Halide::Buffer;
using Halide::Func;
using Halide::ImageParam;
using Halide::Var;

TEST(Half, EveryNumberComesBackFromItsBits) {
    for (int bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float value = half_value(half);
        const bool is_nan = (bits & 0x7FFF) > 0x7C00;
        EXPECT_EQ(std::isnan(value), is_nan);
        EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0);
        if (is_nan) continue;
        EXPECT_EQ(half_bits(static_cast<double>(value)), half);
    }
    EXPECT_EQ(half_value(0x0001), std::ldexp(1.0F, -24));
    EXPECT_EQ(half_value(0x7BFF), 65504.0F);
}

TEST(Half, IsTheNearestAndTiesGoToEven) {
    for (std::uint16_t bits = 0; bits < 0x7BFF; ++bits) {
        const auto low = static_cast<double>(half_value(bits)), high = static_cast<double>(half_value(bits + 1));
        const double middle = (low + high) / 2;
        const auto above = static_cast<std::uint16_t>(bits + 1);
        EXPECT_EQ(half_bits(middle), bits % 2 == 0 ? bits : above);
        EXPECT_EQ(half_bits(std::nextafter(middle, 0)), bits);
        EXPECT_EQ(half_bits(std::nextafter(middle, 1e9)), above);
        EXPECT_EQ(half_bits(-middle), half_bits(middle) | 0x8000);
    }
    EXPECT_EQ(half_bits(std::nextafter(65520.0, 0)), 0x7BFF);
    EXPECT_EQ(half_bits(65520), 0x7C00);
    EXPECT_EQ(half_bits(1e-300), 0);
    EXPECT_EQ(half_bits(-0.0), 0x8000);
    EXPECT_EQ(half_bits(std::nan("")) & 0x7E00, 0x7E00);
}

/// `func` with the passes of kernels, in vectors or not.
template <class T, class From> Buffer<T> run(Func func, ImageParam in, Buffer<From> values, int lanes, bool converts) {
    Var i = func.args()[0];
    if (lanes > 1) func.vectorize(i, lanes, Halide::TailStrategy::GuardWithIf);
    Halide::Target target = Halide::get_jit_target_from_environment().with_feature(Halide::Target::StrictFloat);
    if (!converts) target = target.without_feature(Halide::Target::F16C);
    Halide::Pipeline pipeline(func);
    add_passes(pipeline, converts);
    in.set(values);
    return pipeline.realize({values.width()}, target);
}

class Halves : public testing::TestWithParam<std::tuple<int, bool>> {
  protected:
    void SetUp() override {
        if (std::get<1>(GetParam()) && cpu_isa_rank() < 3) GTEST_SKIP() << "this CPU has no such instructions";
    }
    int lanes() const { return std::get<0>(GetParam()); }
    bool converts() const { return std::get<1>(GetParam()); }
};

TEST_P(Halves, AreWidened) {
    ImageParam in(Halide::UInt(16), 1);
    Var i;
    Func out;
    out(i) = half_to_float(in(i));
    Buffer<std::uint16_t> values(65536);
    for (int bits = 0; bits < 65536; ++bits)
        values(bits) = static_cast<std::uint16_t>(bits);
    const Buffer<float> found = run<float>(out, in, values, lanes(), converts());
    for (int bits = 0; bits < 65536; ++bits) {
        const float wanted = half_value(static_cast<std::uint16_t>(bits));
        if (std::isnan(wanted)) {
            EXPECT_TRUE(std::isnan(found(bits)));
        } else {
            EXPECT_EQ(std::bit_cast<std::uint32_t>(found(bits)), std::bit_cast<std::uint32_t>(wanted)) << bits;
        }
    }
}

TEST_P(Halves, AreRounded) {
    std::vector<float> numbers = {0.0F, 65519.0F, 65520.0F, 1e38F, INFINITY, NAN, 1e-40F, std::ldexp(1.0F, -25)};
    for (std::uint16_t bits = 0; bits < 0x7C00; ++bits) {
        const float low = half_value(bits), middle = (low + half_value(bits + 1)) / 2;
        for (const float near : {low, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)})
            if (std::isfinite(near)) numbers.push_back(near);
    }
    std::mt19937 random(0);
    for (int k = 0; k < 100'000; ++k)
        numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    for (std::size_t k = 0, count = numbers.size(); k < count; ++k)
        numbers.push_back(-numbers[k]);
    ImageParam in(Halide::Float(32), 1);
    Var i;
    Func out;
    out(i) = float_to_half(in(i));
    const auto count = static_cast<int>(numbers.size());
    const auto found = run<std::uint16_t>(out, in, Buffer<float>(numbers.data(), count), lanes(), converts());
    for (int k = 0; k < count; ++k) {
        const float number = numbers[static_cast<std::size_t>(k)];
        if (std::isnan(number)) {
            EXPECT_GT(found(k) & 0x7FFF, 0x7C00);
        } else {
            EXPECT_EQ(found(k), half_bits(static_cast<double>(number))) << number;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(LanesAndInstructions, Halves,
                         testing::Combine(testing::Values(1, 8), testing::Values(false, true)));

TEST(RoundToEven, IsWhatTheInstructionGives) {
    std::vector<double> numbers = {0.0,   0.25,     0.5, 1.5, 2.5, 4503599627370495.5, 4503599627370496.5,
                                   1e300, INFINITY, NAN};
    for (std::size_t k = 0, count = numbers.size(); k < count; ++k)
        numbers.push_back(-numbers[k]);
    ImageParam in(Halide::Float(64), 1);
    Var i("i");
    Func out;
    out(i) = Halide::round(in(i));
    out.vectorize(i, 4);
    Halide::Pipeline pipeline(out);
    add_statement_pass(pipeline, round_to_even);
    const auto count = static_cast<int>(numbers.size());
    in.set(Buffer<double>(numbers.data(), count));
    const Halide::Target target = Halide::get_jit_target_from_environment().with_feature(Halide::Target::StrictFloat);
    const Buffer<double> found = pipeline.realize({count}, target);
    for (int k = 0; k < count; ++k) {
        const double wanted = std::nearbyint(numbers[static_cast<std::size_t>(k)]);
        if (std::isnan(wanted)) {
            EXPECT_TRUE(std::isnan(found(k)));
        } else {
            EXPECT_EQ(std::bit_cast<std::uint64_t>(found(k)), std::bit_cast<std::uint64_t>(wanted)) << k;
        }
    }
}

} // namespace
} // namespace tilewright::dsl
