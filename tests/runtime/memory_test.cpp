// tests/runtime/memory_test.cpp: alignment, reuse and limits of the pool and the scratch lists.
#include "dsl/runtime/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
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
