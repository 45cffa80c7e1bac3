// tests/runtime/cuda/device_test.cpp: what only a real device shows: errors that lose a context, cuBLAS, time. Skipped
// without a device.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/blas.h"
#include "tests/runtime/cuda/on_device.h"

namespace tilewright::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using tests::call_on_device;
using tests::DeviceVector;
using tests::load_for_device;

double ns_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

#define TW_NEEDS_DEVICE()                                                                                              \
    std::string why;                                                                                                   \
    if (cuda::device_count(&why) == 0) GTEST_SKIP() << why

// First in this file: its child is forked before the process uses the device.
TEST(Device, AWildKernelLosesTheContextOfItsProcessAndSaysSo) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    if (const pid_t child = fork(); child == 0) {
        std::string text;
        std::string why;
        if (cuda::device_count(&why) == 0) {
            text = "none " + why;
        } else {
            try {
                auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar n "
                                         "int64\nreturn None\nversion \"cuda\"\n"
                                         "require isa cuda-sm_70\ncall dev_step in \"dev\" (n, A)\n"
                                         "call dev_wild in \"dev\" ()\nend\n");
                const cuda::Place place{0, cuda::new_stream(0)};
                DeviceVector a(place, {1});
                auto c = call_on_device(*e, place, {a.view()}, 0, false);
                text = c.failed;
                cuda::synchronize(place);
                text += "not seen";
            } catch (const DeviceError& error) {
                text += error.what();
                try {
                    cuda::synchronize({});
                } catch (const DeviceError& again) {
                    text += std::string("\n") + again.what();
                }
            }
        }
        if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
        _exit(0);
    } else {
        close(ends[1]);
        std::string text(65536, '\0');
        std::size_t n = 0;
        while (ssize_t got = read(ends[0], text.data() + n, text.size() - n)) {
            if (got < 0) break;
            n += static_cast<std::size_t>(got);
        }
        text.resize(n);
        close(ends[0]);
        int status = 0;
        waitpid(child, &status, 0);
        if (text.starts_with("none ") || text.find("forked") != std::string::npos) GTEST_SKIP() << text;
        std::printf("%s\n", text.c_str());
        EXPECT_NE(text.find("CUDA_ERROR_ILLEGAL_ADDRESS (700"), std::string::npos) << text;
        EXPECT_NE(text.find("nothing works on the device in this process any more"), std::string::npos) << text;
    }
}

TEST(Device, FactsAreThere) {
    TW_NEEDS_DEVICE();
    const auto& d = cuda::device(0);
    std::printf("%s %d.%d %s: %d multiprocessors, %lld bytes shared a block, %lld a multiprocessor, %d registers, "
                "%lld bytes, L2 %lld, clock %d kHz, memory %d kHz x %d bits, driver %d, %s\n",
                d.name.c_str(), d.major, d.minor, d.uuid.c_str(), d.multiprocessors,
                static_cast<long long>(d.shared_bytes_per_block),
                static_cast<long long>(d.shared_bytes_per_multiprocessor), d.registers_per_multiprocessor,
                static_cast<long long>(d.memory_bytes), static_cast<long long>(d.l2_bytes), d.clock_khz,
                d.memory_clock_khz, d.memory_bus_bits, cuda::driver_version(),
                cuda::has_blas() ? "cuBLAS" : "no cuBLAS");
    EXPECT_GT(d.multiprocessors, 0);
    EXPECT_GT(d.shared_bytes_per_block, 48 << 10);
    EXPECT_GT(d.memory_bytes, 0);
}

TEST(Device, WhatCallsAndCopiesCost) {
    TW_NEEDS_DEVICE();
    const cuda::Place place{0, cuda::new_stream(0)};
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar t int64\nreturn None\n"
                             "version \"cuda\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (t, A)\nend\n");
    {
        DeviceVector a(place, std::vector<double>(100));
        for (int i = 0; i < 100; ++i)
            ASSERT_EQ(call_on_device(*e, place, {a.view()}, 0, false).status, RunStatus::done);
        cuda::synchronize(place);
        constexpr int kCalls = 500; // fewer than fit into a stream's queue
        std::vector<char> memory(e->frame_bytes());
        auto frame = e->lay_out(memory.data());
        frame.place = &place;
        frame.arguments[0].array = a.view();
        int argument = 0, version = 0;
        double best = 1e9;
        for (int round = 0; round < 20; ++round) {
            auto start = Clock::now();
            for (int i = 0; i < kCalls; ++i) {
                e->read_sizes(frame, argument);
                version = e->select(frame);
                e->size_results(frame);
                e->run(frame, version);
            }
            best = std::min(best, ns_since(start) / kCalls);
            cuda::synchronize(place);
        }
        std::printf("a call of one tiny kernel, host side: %.0f ns\n", best);
        best = 1e9;
        for (int round = 0; round < 20; ++round) {
            auto start = Clock::now();
            for (int i = 0; i < kCalls; ++i)
                cuda::release(place, cuda::allocate(place, 4096));
            best = std::min(best, ns_since(start) / kCalls);
        }
        std::printf("memory from the pool and back: %.0f ns\n", best);
    }
    const std::size_t bytes = std::size_t{160} << 20;
    std::vector<char> from(bytes, 1), to(bytes, 2);
    void* memory = cuda::allocate(place, bytes);
    for (int round = 0; round < 3; ++round) {
        auto start = Clock::now();
        cuda::copy_to_device(place, memory, from.data(), bytes);
        cuda::synchronize(place);
        const double there = ns_since(start);
        start = Clock::now();
        cuda::copy_to_host(place, to.data(), memory, bytes);
        const double back = ns_since(start);
        std::printf("pageable 160 MiB to the device %.1f GB/s, back %.1f GB/s\n", static_cast<double>(bytes) / there,
                    static_cast<double>(bytes) / back);
    }
    EXPECT_TRUE(from == to);
    cuda::release(place, memory);
    cuda::destroy_stream(0, place.stream);
}

} // namespace
} // namespace tilewright::runtime
