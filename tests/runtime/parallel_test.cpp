// tests/runtime/parallel_test.cpp: loops on both backends, budgets, nesting, errors and forks.
#include "dsl/runtime/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "dsl/runtime/helper_trust.h"
#include "dsl/runtime/kernel_symbols.h"
#include "dsl/runtime/loop_state.h"
#include "dsl/runtime/out_of_memory.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/watch.h"

namespace tilewright::runtime {
namespace {

class ParallelLoop : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!choose_parallel_backend(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
    }
    void TearDown() override { set_num_threads(0); }
};

TEST_P(ParallelLoop, EveryIterationRunsOnce) {
    for (int count : {0, 1, 2, 3, 7, 64, 1000, 100003}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        parallel_for(count, [&](int i) { seen[static_cast<std::size_t>(i)].fetch_add(1); });
        for (auto& n : seen)
            ASSERT_EQ(n.load(), 1);
    }
}

TEST_P(ParallelLoop, UnevenIterationsAreShared) {
    if (num_threads() < 2) GTEST_SKIP() << "one core";
    std::mutex mutex;
    std::set<std::thread::id> threads;
    // All the work is in the first half, which one participant starts with.
    parallel_for(64, [&](int i) {
        if (i < 32) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::lock_guard lock(mutex);
        if (i < 32) threads.insert(std::this_thread::get_id());
    });
    EXPECT_GE(threads.size(), 2u);
}

TEST_P(ParallelLoop, NestedLoopsRunInline) {
    std::atomic<int> total{0}, elsewhere{0};
    parallel_for(8, [&](int) {
        auto me = std::this_thread::get_id();
        parallel_for(100, [&](int) {
            total.fetch_add(1);
            if (std::this_thread::get_id() != me) elsewhere.fetch_add(1);
        });
    });
    EXPECT_EQ(total.load(), 800);
    EXPECT_EQ(elsewhere.load(), 0);
}

TEST_P(ParallelLoop, ErrorsEndTheLoopAndComeBack) {
    std::atomic<int> ran{0};
    struct Context {
        std::atomic<int>* ran;
    } context{&ran};
    int rc = parallel_loop(
        &context,
        [](void* c, int i, std::uint8_t*) { return static_cast<Context*>(c)->ran->fetch_add(1), i == 10 ? -42 : 0; }, 0,
        1 << 20, nullptr);
    EXPECT_EQ(rc, -42);
    EXPECT_LT(ran.load(), 1 << 20);
    EXPECT_THROW(parallel_for(100,
                              [](int i) {
                                  if (i == 50) throw std::runtime_error("fifty");
                              }),
                 std::runtime_error);
    std::atomic<int> after{0};
    parallel_for(100, [&](int) { after.fetch_add(1); });
    EXPECT_EQ(after.load(), 100);
}

TEST_P(ParallelLoop, AnInterruptReachesHelpersThatNeverEnd) {
    if (num_threads() < 2) GTEST_SKIP() << "one core";
    struct Context {
        std::thread::id caller = std::this_thread::get_id();
        std::atomic<int> asked{0};
        std::atomic<bool> helped{false};
    } context;
    const Interrupt interrupt{[](void* c) { return static_cast<Context*>(c)->asked.fetch_add(1) == 3; }, &context};
    Watch watch(&interrupt);
    watch_of_thread() = &watch;
    const int rc = with_memory_exit([&] {
        return kernel_parallel_loop(
            &context,
            [](void* data, int, std::uint8_t*) {
                auto& c = *static_cast<Context*>(data);
                if (std::this_thread::get_id() == c.caller)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                else
                    for (c.helped = true;;)
                        kernel_ask_interrupt();
                return 0;
            },
            0, 200, nullptr);
    });
    watch_of_thread() = nullptr;
    EXPECT_TRUE(context.helped);
    EXPECT_EQ(rc, kInterrupted);
    EXPECT_EQ(context.asked, 4) << "it is not asked again";
    std::atomic<int> after{0};
    parallel_for(100, [&](int) { after.fetch_add(1); });
    EXPECT_EQ(after.load(), 100);
}

TEST_P(ParallelLoop, AThreadLimitIsKept) {
    int before = set_thread_limit(1);
    auto me = std::this_thread::get_id();
    std::atomic<int> elsewhere{0};
    parallel_for(100, [&](int) {
        if (std::this_thread::get_id() != me) elsewhere.fetch_add(1);
    });
    set_thread_limit(before);
    EXPECT_EQ(elsewhere.load(), 0);
}

TEST_P(ParallelLoop, ConcurrentCallersShareOneBudget) {
    std::atomic<int> inside{0}, most{0};
    std::vector<std::thread> callers;
    constexpr int kCallers = 4;
    for (int c = 0; c < kCallers; ++c)
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round)
                parallel_for(32, [&](int) {
                    int now = inside.fetch_add(1) + 1, seen = most.load();
                    while (now > seen && !most.compare_exchange_weak(seen, now)) {
                    }
                    inside.fetch_sub(1);
                });
        });
    for (std::thread& t : callers)
        t.join();
    // Callers themselves always run; helpers come out of what they leave. A loop that began alone keeps its helpers.
    EXPECT_LE(most.load(), kCallers + num_threads() - 1);
}

TEST_P(ParallelLoop, AForkedChildRunsLoopsToo) {
    std::atomic<int> warm{0};
    parallel_for(1000, [&](int) { warm.fetch_add(1); });
    for (int round = 0; round < 3; ++round) {
        pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            alarm(20);
            std::atomic<int> n{0};
            for (int k = 0; k < 50; ++k)
                parallel_for(100, [&](int) { n.fetch_add(1); });
            _exit(n.load() == 5000 && std::string(parallel_backend()) == "own" ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
}

TEST_P(ParallelLoop, SurvivesManyShortLoops) {
    std::atomic<long> total{0};
    for (int round = 0; round < 20000; ++round)
        parallel_for(3, [&](int i) { total.fetch_add(i); });
    EXPECT_EQ(total.load(), 60000);
}

INSTANTIATE_TEST_SUITE_P(Backends, ParallelLoop, testing::Values("own", "openmp"),
                         [](const auto& backend) { return std::string(backend.param); });

TEST(HelperTrust, ALongWaitLetsLoopsBeginAloneForAWhile) {
    HelperTrust trust;
    std::uint64_t now = 1'000'000'000;
    EXPECT_EQ(trust.alone(now), 0u);
    trust.note(now, 10'000, 20'000);           // a helper that runs is back soon
    trust.note(now, 100'000'000, 100'000'000); // long iterations end one after the other
    EXPECT_EQ(trust.alone(now), 0u);
    trust.note(now, 10'000, 10'000'000);
    EXPECT_EQ(trust.alone(now + 1), HelperTrust::kAlone);
    const auto pause = [&] {
        std::uint64_t length = 0;
        while (trust.alone(now + length) != 0)
            length += 100'000;
        return length;
    };
    const std::uint64_t first = pause();
    now += 2 * first;
    EXPECT_EQ(trust.alone(now), 0u);
    // Again, soon afterwards: longer. Much later: as at first.
    trust.lost_processor(now, 1);
    EXPECT_NEAR(static_cast<double>(pause()), 2.0 * static_cast<double>(first), 200'000);
    now += 1000 * first;
    trust.lost_processor(now, 1);
    EXPECT_EQ(trust.alone(now), 0u);
    trust.lost_processor(now, 2);
    EXPECT_EQ(pause(), first);
}

TEST(HelperTrust, SleepingHelpersAreWokenForManyShortLoopsInARow) {
    HelperTrust trust;
    std::uint64_t now = 1'000'000'000;
    EXPECT_EQ(trust.alone_while_asleep(now), HelperTrust::kAsleep);
    for (int loop = 0; loop < 3; ++loop) {
        now += 30'000;
        trust.missed(now, 30'000);
    }
    EXPECT_EQ(trust.alone_while_asleep(now), HelperTrust::kAsleep - 90'000);
    trust.missed(now + 30'000, 30'000);
    EXPECT_EQ(trust.alone_while_asleep(now + 30'000), 0u);
    // Now and then is not in a row.
    EXPECT_EQ(trust.alone_while_asleep(now + 10'000'000), HelperTrust::kAsleep);
    trust.missed(now + 10'000'000, 50'000);
    trust.woken();
    EXPECT_EQ(trust.alone_while_asleep(now + 10'000'000), HelperTrust::kAsleep);
}

TEST(LoopState, AParticipantMayLeaveWhatIsLeft) {
    int ran = 0;
    LoopState loop(
        &ran, [](void* count, int, std::uint8_t*) { return ++*static_cast<int*>(count), 0; }, 0, 10, nullptr, 2);
    EXPECT_TRUE(loop.participate_while(0, [&] { return ran < 3; }));
    EXPECT_EQ(ran, 3);
    EXPECT_FALSE(loop.participate_while(0, [] { return true; }));
    EXPECT_EQ(ran, 10);
}

TEST(ThreadBudget, IsCutToTheMachine) {
    set_num_threads(100000);
    EXPECT_EQ(num_threads(), available_cores());
    set_num_threads(1);
    EXPECT_EQ(num_threads(), 1);
    EXPECT_EQ(take_helpers(8), 0);
    give_back_helpers(0);
    set_num_threads(0);
    EXPECT_GE(num_threads(), 1);
}

} // namespace
} // namespace tilewright::runtime
