// tests/autotune/test_worker_parts.cpp: guard pages that kill, comparisons that see one element of twenty million.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "kmeans_job.h"
#include "python/native/worker/compare.h"
#include "python/native/worker/data_sets.h"
#include "python/native/worker/guarded_memory.h"
#include "python/native/worker/planted_specials.h"

namespace tilewright::native {
namespace {

TEST(GuardedMemoryDeathTest, KillsOnAnyTouchOutside) {
    for (const std::size_t bytes :
         {std::size_t{8}, std::size_t{4096}, std::size_t{100003}, (std::size_t{5} << 20) + 8}) {
        GuardedMemory memory(bytes);
        std::memset(memory.behind_guard(), 1, bytes);
        std::memset(memory.before_guard(8), 2, bytes);
        EXPECT_EQ(memory.before_guard(64) - memory.behind_guard(),
                  (memory.before_guard(8) - memory.behind_guard()) / 64 * 64);
        EXPECT_EXIT(static_cast<volatile char*>(memory.before_guard(8))[(bytes + 7) / 8 * 8] = 1,
                    ::testing::KilledBySignal(SIGSEGV), "");
        EXPECT_EXIT(static_cast<volatile char*>(memory.behind_guard())[-1] = 1, ::testing::KilledBySignal(SIGSEGV), "");
        memory.make_read_only();
        EXPECT_EQ(memory.before_guard(8)[0], 2);
        EXPECT_EXIT(static_cast<volatile char*>(memory.before_guard(8))[0] = 1, ::testing::KilledBySignal(SIGSEGV), "");
    }
    GuardedMemory empty(0);
    EXPECT_EQ(empty.bytes(), 0u);
}

TEST(PlantedSpecials, ShowThemselvesAndLeaveNoTrace) {
    std::vector<double> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(i);
    std::string file = ::testing::TempDir() + "tw-planted";
    autotune::testing::write_file(file, values);
    autotune::Job job;
    autotune::JobDataSet set;
    autotune::JobArgument x;
    x.name = "X";
    x.dtype = "float64";
    x.shape = {20, 50};
    x.strides_bytes = {-400, 8};
    x.offset_bytes = 19 * 400;
    x.file = file;
    set.arguments = {x};
    job.datasets = {set};
    std::vector<DataSet> sets = load_data_sets(job);
    const char* first = static_cast<const char*>(sets[0].arguments[0].array.data) - 19 * 400;
    EXPECT_EQ(std::memcmp(first, values.data(), 8000), 0);
    {
        const PlantedSpecials specials(sets[0]);
        EXPECT_TRUE(specials.any());
        std::vector<double> now(1000);
        std::memcpy(now.data(), first, 8000);
        EXPECT_TRUE(std::isnan(now[19 * 50])) << "index 0 of a reversed axis is the last row";
        int nans = 0, infinite = 0, same = 0;
        for (std::size_t i = 0; i < now.size(); ++i) {
            nans += std::isnan(now[i]);
            infinite += std::isinf(now[i]);
            same += now[i] == values[i];
        }
        EXPECT_GT(nans, 5);
        EXPECT_GT(infinite, 5);
        EXPECT_GT(same, 700);
    }
    EXPECT_EQ(std::memcmp(first, values.data(), 8000), 0);
    std::remove(file.c_str());
}

TEST(Compare, SeesOneElementOfTwentyMillion) {
    constexpr std::int64_t kCount = 20000000;
    std::vector<std::int64_t> a(kCount, 3), b = a;
    EXPECT_FALSE(first_bit_difference(DType::int64, a.data(), b.data(), kCount));
    for (const std::int64_t place : {kCount - 1, std::int64_t{12345678}, std::int64_t{0}}) {
        b[static_cast<std::size_t>(place)] ^= 1;
        EXPECT_EQ(first_bit_difference(DType::int64, a.data(), b.data(), kCount), place);
    }
    // Three of twenty million are allowed under a fraction of 1e-6, under 1e-7 they are not.
    EXPECT_FALSE(tolerance_difference(DType::int64, a.data(), b.data(), kCount, {0, 0, 1e-6}));
    const auto difference = tolerance_difference(DType::int64, a.data(), b.data(), kCount, {0, 0, 1e-7});
    ASSERT_TRUE(difference);
    EXPECT_EQ(difference->first, 0);
    EXPECT_EQ(difference->count, 3);
}

TEST(Compare, BitsOfFloatsWithAnyNaNEqualToAnyNaN) {
    const double nan1 = std::numeric_limits<double>::quiet_NaN(), nan2 = -nan1;
    const std::vector<double> a = {1, nan1, 0.0, 2}, b = {1, nan2, 0.0, 2}, c = {1, nan1, -0.0, 2}, d = {1, 5, 0.0, 2};
    EXPECT_FALSE(first_bit_difference(DType::float64, a.data(), b.data(), 4));
    EXPECT_EQ(first_bit_difference(DType::float64, a.data(), c.data(), 4), 2);
    EXPECT_EQ(first_bit_difference(DType::float64, a.data(), d.data(), 4), 1);
    EXPECT_EQ(first_bit_difference(DType::float64, d.data(), a.data(), 4), 1);
    EXPECT_EQ(first_bit_difference(DType::complex128, a.data(), c.data(), 2), 1);
    EXPECT_FALSE(first_bit_difference(DType::complex128, a.data(), b.data(), 2));
}

TEST(Compare, ToleranceIsRelativeToNumPyAndStrictAboutSpecials) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    auto differs = [](float ours, float numpy, double rtol, double atol) {
        return tolerance_difference(DType::float32, &ours, &numpy, 1, {rtol, atol, 1}).has_value();
    };
    EXPECT_FALSE(differs(1.0f, 1.00001f, 1e-4, 0));
    EXPECT_TRUE(differs(1.0f, 1.001f, 1e-4, 0));
    EXPECT_FALSE(differs(1e-9f, 0, 0, 1e-8));
    EXPECT_TRUE(differs(inf, 1e38f, 1, 1e30));
    EXPECT_TRUE(differs(1e38f, inf, 1, 1e30));
    EXPECT_TRUE(differs(inf, -inf, 1, 1e30));
    EXPECT_FALSE(differs(inf, inf, 0, 0));
    EXPECT_FALSE(differs(nan, nan, 0, 0));
    EXPECT_TRUE(differs(nan, 1, 1, 1));
    EXPECT_TRUE(differs(1, nan, 1, 1));
    const float ours[4] = {1, 2, inf, 4}, numpy[4] = {1, 2, 3, 4};
    EXPECT_TRUE(tolerance_difference(DType::float32, ours, numpy, 4, {0, 0, 1, 0.2}));
    EXPECT_FALSE(tolerance_difference(DType::float32, ours, numpy, 4, {0, 0, 0, 0.25})) << "one of four may differ";
    EXPECT_FALSE(differs(-0.0f, 0.0f, 0, 0)) << "against NumPy the sign of zero is within any tolerance";
}

TEST(Compare, KnowsFloat16ByItsBits) {
    const std::vector<std::uint16_t> a = {0x3C00, 0x7E00, 0x0000, 0x7C00}, b = {0x3C00, 0xFE01, 0x0000, 0x7C00},
                                     c = {0x3C01, 0x7E00, 0x8000, 0x7C00}, d = {0x3C00, 0x7E00, 0x0000, 0x7BFF};
    EXPECT_FALSE(first_bit_difference(DType::float16, a.data(), b.data(), 4));
    EXPECT_EQ(first_bit_difference(DType::float16, a.data(), c.data(), 4), 0);
    EXPECT_FALSE(tolerance_difference(DType::float16, c.data(), a.data(), 4, {1e-3, 0, 0}));
    EXPECT_TRUE(tolerance_difference(DType::float16, c.data(), a.data(), 4, {9e-4, 0, 0}));
    EXPECT_TRUE(tolerance_difference(DType::float16, d.data(), a.data(), 4, {1, 1e5, 0}));
    EXPECT_EQ(element_text(DType::float16, d.data(), 3), "65504");
    EXPECT_EQ(element_text(DType::float16, a.data(), 3), "inf");
}

TEST(PlantedSpecials, AreThoseOfFloat16) {
    const std::vector<double> bytes(250); // a thousand zeros of float16
    const std::string file = ::testing::TempDir() + "tw-planted-halves";
    autotune::testing::write_file(file, bytes);
    autotune::JobArgument x;
    x.name = "X";
    x.dtype = "float16";
    x.shape = {1000};
    x.strides_bytes = {2};
    x.file = file;
    autotune::JobDataSet set;
    set.arguments = {x};
    autotune::Job job;
    job.datasets = {set};
    std::vector<DataSet> sets = load_data_sets(job);
    const auto* first = static_cast<const std::uint16_t*>(sets[0].arguments[0].array.data);
    {
        const PlantedSpecials specials(sets[0]);
        EXPECT_TRUE(specials.any());
        for (const std::uint16_t bits : {0x7E00, 0x7C00, 0x8000, 0xFC00, 0x0001, 0x7BFF})
            EXPECT_GT(std::count(first, first + 1000, bits), 5) << bits;
    }
    EXPECT_EQ(std::count(first, first + 1000, 0), 1000);
    std::remove(file.c_str());
}

TEST(Compare, EveryDtypeHasAWord) {
    const std::uint8_t yes = 1;
    EXPECT_EQ(element_text(DType::boolean, &yes, 0), "True");
    const std::uint64_t large = ~0ULL;
    EXPECT_EQ(element_text(DType::uint64, &large, 0), "18446744073709551615");
    EXPECT_EQ(element_text(DType::int64, &large, 0), "-1");
    const double tenth = 0.1;
    EXPECT_EQ(element_text(DType::float64, &tenth, 0), "0.10000000000000001");
    EXPECT_EQ(place_text("labels", {4, 5, 6}, 4 * 6 + 5), "labels[0, 4, 5]");
    EXPECT_EQ(place_text("total", {}, 0), "total");
}

} // namespace
} // namespace tilewright::native
