// tests/runtime/memory_test.cpp: alignment, reuse and limits of the pool and the scratch lists.
#include "dsl/runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "dsl/runtime/kernel_symbols.h"

namespace tilewright::runtime {
namespace {

constexpr std::size_t kMiB = 1 << 20;

TEST(Scratch, IsAlignedWithSlackOnBothSides) {
    for (std::size_t bytes : {0ul, 1ul, 63ul, 256ul, 257ul, 4096ul, 5000ul, 65537ul, kMiB, kMiB + 1, 9 * kMiB}) {
        auto* p = static_cast<unsigned char*>(scratch_allocate(bytes));
        ASSERT_NE(p, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
        volatile unsigned char around = static_cast<unsigned char>(p[-64] + p[bytes + 63]);
        (void)around;
        std::memset(p, 0xab, bytes);
        scratch_release(p);
    }
    scratch_release(nullptr);
}

TEST(Scratch, BlocksOfAllSizesKeepTheirContents) {
    std::vector<std::pair<unsigned char*, std::size_t>> blocks;
    for (std::size_t bytes = 1; bytes < 3 * kMiB; bytes += bytes / 3 + 1) {
        auto* p = static_cast<unsigned char*>(scratch_allocate(bytes));
        std::memset(p, static_cast<int>(blocks.size() & 255), bytes);
        blocks.emplace_back(p, bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t k = 0; k < blocks[i].second; k += 97)
            ASSERT_EQ(blocks[i].first[k], i & 255);
        scratch_release(blocks[i].first);
    }
}

TEST(Scratch, MayBeReleasedByAnotherThread) {
    for (int round = 0; round < 100; ++round) {
        void* p = scratch_allocate(10000);
        std::thread([p] { scratch_release(p); }).join();
    }
}

TEST(Pool, ReusesABlockAndKeepsItsLimit) {
    trim_pool();
    void* first = result_allocate(100 * kMiB);
    std::memset(first, 1, 100 * kMiB);
    result_release(first);
    EXPECT_GE(pool_info().pooled_bytes, 100 * kMiB);
    void* again = result_allocate(99 * kMiB);
    EXPECT_EQ(again, first);
    EXPECT_GE(pool_info().live_bytes, 99 * kMiB);
    result_release(again);
    // Many blocks: never more than the largest result and 64 MiB.
    std::vector<void*> many;
    for (int i = 0; i < 8; ++i)
        many.push_back(result_allocate(60 * kMiB));
    for (void* p : many)
        result_release(p);
    EXPECT_LE(pool_info().pooled_bytes, pool_info().limit_bytes);
    EXPECT_LE(pool_info().limit_bytes, (100 + 64 + 4) * kMiB);
    EXPECT_GT(trim_pool(), 0u);
    EXPECT_EQ(pool_info().pooled_bytes, 0u);
    EXPECT_EQ(pool_info().live_bytes, 0u);
}

TEST(Pool, ASmallResultDoesNotTakeALargeBlock) {
    trim_pool();
    void* large = result_allocate(32 * kMiB);
    result_release(large);
    void* small = result_allocate(kMiB);
    EXPECT_NE(small, large);
    result_release(small);
    trim_pool();
}

TEST(Pool, ZeroedAndResizedMemoryIsRight) {
    auto* p = static_cast<unsigned char*>(result_allocate(5 * kMiB));
    std::memset(p, 7, 5 * kMiB);
    result_release(p);
    auto* zeroed = static_cast<unsigned char*>(result_allocate_zeroed(5 * kMiB));
    for (std::size_t i = 0; i < 5 * kMiB; i += 101)
        ASSERT_EQ(zeroed[i], 0);
    std::memset(zeroed, 9, 5 * kMiB);
    auto* grown = static_cast<unsigned char*>(result_resize(zeroed, 50 * kMiB));
    for (std::size_t i = 0; i < 5 * kMiB; i += 101)
        ASSERT_EQ(grown[i], 9);
    auto* shrunk = static_cast<unsigned char*>(result_resize(grown, 1000));
    for (std::size_t i = 0; i < 1000; ++i)
        ASSERT_EQ(shrunk[i], 9);
    result_release(shrunk);
}

TEST(Pool, ImpossibleSizesAreNull) {
    EXPECT_EQ(result_allocate(SIZE_MAX), nullptr);
    EXPECT_EQ(result_allocate(std::size_t{1} << 60), nullptr);
}

TEST(Pool, ServesManyThreads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int round = 0; round < 200; ++round) {
                std::size_t bytes = (static_cast<std::size_t>(round % 7) + 1) * 300000;
                auto* p = static_cast<unsigned char*>(result_allocate(bytes));
                p[0] = p[bytes - 1] = static_cast<unsigned char>(t);
                EXPECT_EQ(p[0], t);
                result_release(p);
            }
        });
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(pool_info().live_bytes, 0u);
}

/// What arrays need beside results; the pool keeps them until the end of a test.
class Arrays : public testing::Test {
  protected:
    void SetUp() override {
        trim_pool();
        keep_arrays(true);
    }
    void TearDown() override {
        trim_pool();
        keep_arrays(false);
    }
};

TEST_F(Arrays, ShareBlocksWithResults) {
    void* array = array_allocate(3 * kMiB);
    array_release(array);
    EXPECT_EQ(result_allocate(3 * kMiB), array);
    result_release(array);
    EXPECT_EQ(array_allocate_zeroed(3 * kMiB), array);
    array_release(array);
    EXPECT_EQ(pool_info().live_bytes, 0u);
}

TEST_F(Arrays, AreToldFromOtherMemory) {
    void* array = array_allocate(kMiB);
    EXPECT_TRUE(is_pooled(array));
    // At every place of a page, also where blocks begin, with what a block has in front of it.
    std::vector<unsigned char> other(4 * 4096);
    std::memcpy(other.data() + 4096 - 64, static_cast<unsigned char*>(array) - 64, 64);
    for (std::size_t at = 64; at < 3 * 4096; ++at) {
        std::memmove(other.data() + at - 64, static_cast<unsigned char*>(array) - 64, 64);
        EXPECT_FALSE(is_pooled(other.data() + at)) << at;
    }
    EXPECT_FALSE(is_pooled(nullptr));
    array_release(array);
}

TEST_F(Arrays, StayUpToTheLimitTheOldestGoFirst) {
    const std::size_t bytes = 64 * kMiB;
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < 20; ++i)
        arrays.push_back(array_allocate(bytes)); // no page of them is touched but the first
    for (void* array : arrays)
        array_release(array);
    const std::size_t limit = pool_info().limit_bytes;
    EXPECT_LE(limit, 1024 * kMiB);
    EXPECT_LE(pool_info().pooled_bytes, limit);
    EXPECT_GE(pool_info().pooled_bytes, limit - 2 * bytes);
    EXPECT_EQ(array_allocate(bytes), arrays.back());
    array_release(arrays.back());
    // While one is out that is larger than all that may be kept, less is, and it goes back at once.
    const std::size_t before = pool_info().pooled_bytes;
    array_release(array_allocate(1025 * kMiB));
    EXPECT_LT(pool_info().pooled_bytes, before);
    EXPECT_GT(pool_info().pooled_bytes, 0u);
}

TEST_F(Arrays, OnlySoManyAreOut) {
    std::vector<void*> arrays;
    while (void* array = array_allocate(1)) {
        arrays.push_back(array);
        ASSERT_LE(arrays.size(), 65000u);
    }
    EXPECT_GT(arrays.size(), 10000u);
    void* result = result_allocate(1); // results have no other memory
    EXPECT_NE(result, nullptr);
    result_release(result);
    for (void* array : arrays)
        array_release(array);
    EXPECT_LE(pool_info().pooled_blocks, 5000u);
    EXPECT_EQ(pool_info().live_bytes, 0u);
}

TEST_F(Arrays, GoBackWhenNobodyTakesThem) {
    std::vector<void*> arrays;
    for (std::size_t i = 0; i < 300; ++i)
        arrays.push_back(array_allocate(kMiB));
    for (void* array : arrays)
        array_release(array);
    const std::size_t before = pool_info().pooled_bytes;
    EXPECT_GE(before, 300 * kMiB);
    give_back_idle(1000);
    EXPECT_EQ(pool_info().pooled_bytes, before);
    give_back_idle(0);
    EXPECT_LT(pool_info().pooled_bytes, before);
    EXPECT_GT(pool_info().pooled_bytes, before / 2); // some at a time
    for (int i = 0; i < 30; ++i)
        give_back_idle(0);
    // What stays is kept for results, of which other tests have had 100 MiB.
    EXPECT_LE(pool_info().pooled_bytes, (100 + 64 + 4) * kMiB);
}

TEST_F(Arrays, MovedBlocksKeepContentsAndCounts) {
    std::size_t bytes = 70'000;
    auto* array = static_cast<unsigned char*>(array_allocate_zeroed(bytes));
    for (std::size_t next : {80'000ul, 3'000'000ul, 2'999'999ul, 9'000'001ul, 40'000'000ul, 100'000ul, 5'000'000ul}) {
        for (std::size_t i = 0; i < bytes; i += 61)
            array[i] = static_cast<unsigned char>(i % 251);
        array = static_cast<unsigned char*>(array_resize(array, next));
        ASSERT_NE(array, nullptr);
        EXPECT_TRUE(is_pooled(array));
        for (std::size_t i = 0; i < std::min(bytes, next); i += 61)
            ASSERT_EQ(array[i], i % 251);
        array[next - 1] = 1;
        EXPECT_GE(pool_info().live_bytes, next);
        bytes = next;
    }
    EXPECT_EQ(array_resize(array, SIZE_MAX), nullptr);
    EXPECT_EQ(array[61], 61);
    array_release(array);
    EXPECT_EQ(pool_info().live_bytes, 0u);
}

TEST_F(Arrays, OfManySizesAndThreadsKeepTheirContents) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            std::minstd_rand random(t + 1);
            std::vector<std::pair<unsigned char*, std::size_t>> held;
            for (int round = 0; round < 2000; ++round) {
                if (held.size() > 8 || (!held.empty() && random() % 2)) {
                    const std::size_t at = random() % held.size();
                    auto [array, bytes] = held[at];
                    ASSERT_EQ(array[0], static_cast<unsigned char>(bytes + t));
                    ASSERT_EQ(array[bytes - 1], static_cast<unsigned char>(bytes + t));
                    array_release(array);
                    held[at] = held.back();
                    held.pop_back();
                    continue;
                }
                const std::size_t bytes = (std::size_t{1} << (12 + random() % 10)) + random() % 4096 + 2;
                const bool is_zeroed = random() % 3 == 0;
                auto* array =
                    static_cast<unsigned char*>(is_zeroed ? array_allocate_zeroed(bytes) : array_allocate(bytes));
                if (is_zeroed) {
                    ASSERT_TRUE(array[0] == 0 && array[bytes / 2] == 0 && array[bytes - 1] == 0);
                }
                array[0] = array[bytes / 2] = array[bytes - 1] = static_cast<unsigned char>(bytes + t);
                held.emplace_back(array, bytes);
            }
            for (auto [array, bytes] : held)
                array_release(array);
        });
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(pool_info().live_bytes, 0u);
    EXPECT_LE(pool_info().pooled_bytes, pool_info().limit_bytes);
}

TEST(Stream, ResultsAreWrittenPastTheCachesOnlyWhereItPays) {
    const auto is_aligned_nowhere = [](void* base) { return base == reinterpret_cast<void*>(std::uintptr_t{1}); };
    halide_dimension_t shape[2] = {{0, 1000, 1}, {0, 300, 1000}};
    halide_buffer_t buffer{};
    buffer.type = halide_type_t(halide_type_float, 64);
    buffer.dimensions = 2;
    buffer.dim = shape;
    const std::int64_t bytes = 8 * 1000 * 300;
    trim_pool();
    auto* first = static_cast<unsigned char*>(result_allocate(static_cast<std::size_t>(bytes)));
    buffer.host = first;
    // The system has only just zeroed these pages in a cache; that is over when a kernel has written them.
    EXPECT_TRUE(is_aligned_nowhere(kernel_stream_base(&buffer, 1)));
    void* base = kernel_stream_base(&buffer, 1);
    EXPECT_FALSE(is_aligned_nowhere(base));
    // Both bases lie equally far below the array, whole cache lines below it.
    EXPECT_EQ(base, kernel_prefetch_base(&buffer));
    EXPECT_EQ((reinterpret_cast<std::uintptr_t>(first) - reinterpret_cast<std::uintptr_t>(base)) % 64, 0u);
    EXPECT_EQ(kernel_stream_base(&buffer, bytes), base);
    EXPECT_TRUE(is_aligned_nowhere(kernel_stream_base(&buffer, bytes + 1)));
    result_release(first);
    auto* second = static_cast<unsigned char*>(result_allocate(static_cast<std::size_t>(bytes)));
    buffer.host = second;
    EXPECT_FALSE(is_aligned_nowhere(kernel_stream_base(&buffer, bytes)));
    result_release(second);
    // Indices of 32 bits have to reach the last element through the second base too. Nothing is touched here.
    shape[1].extent = 1 << 21;
    EXPECT_TRUE(is_aligned_nowhere(kernel_stream_base(&buffer, 1)));
    buffer.type = halide_type_t(halide_type_uint, 1);
    shape[1].extent = 1 << 10;
    EXPECT_FALSE(is_aligned_nowhere(kernel_stream_base(&buffer, 1000 << 10)));
    EXPECT_TRUE(is_aligned_nowhere(kernel_stream_base(&buffer, (1000 << 10) + 1)));
    EXPECT_EQ(kernel_opaque_zero(), 0);
}

} // namespace
} // namespace tilewright::runtime
