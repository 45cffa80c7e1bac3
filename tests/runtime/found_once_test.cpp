// tests/runtime/found_once_test.cpp: what is found out once, by threads at the same time and across a fork.
#include "dsl/runtime/found_once.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <latch>
#include <thread>
#include <vector>

namespace tilewright::runtime {
namespace {

using std::chrono::milliseconds;

TEST(FoundOnce, ThreadsThatAskAtTheSameTimeGetTheSame) {
    FoundOnce<int> found;
    std::atomic<int> calls{0};
    std::vector<const int*> got(8);
    std::vector<std::thread> threads;
    for (const int*& mine : got)
        threads.emplace_back([&] {
            mine = &found.get([&] {
                std::this_thread::sleep_for(milliseconds(20));
                return ++calls;
            });
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(calls, 1);
    for (const int* mine : got)
        EXPECT_EQ(mine, got.front());
}

TEST(FoundOnce, WhatIsFoundMayAskForOthers) {
    FoundOnce<int> inner, outer;
    EXPECT_EQ(outer.get([&] { return 1 + inner.get([] { return 2; }); }), 3);
}

TEST(FoundOnce, AForkWaitsForWhatIsBeingFound) {
    FoundOnce<int> found, other;
    std::latch begun{1};
    std::thread thread([&] {
        found.get([&] {
            begun.count_down();
            std::this_thread::sleep_for(milliseconds(200));
            return 7;
        });
    });
    begun.wait();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); // a child that waits for a thread that it does not have
        const auto wrong = [] { return 0; };
        const bool is_known = found.get(wrong) == 7;
        _exit(is_known && other.get([] { return 8; }) == 8 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    thread.join();
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
} // namespace tilewright::runtime
