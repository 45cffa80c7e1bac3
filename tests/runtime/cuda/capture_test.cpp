// tests/runtime/cuda/capture_test.cpp: calls on a stream that the caller captures into a graph: in every mode of
// captures, launched again on new data, with memory that is the graph's until nothing is left of it.
// Compiled twice: with the fake driver, and for a real one, where it is skipped without a device.
#include <gtest/gtest.h>

#include <thread>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/captures.h"
#include "dsl/runtime/cuda/context.h"
#include "dsl/runtime/cuda/marks.h"
#include "tests/runtime/cuda/on_device.h"
#include "tests/runtime/cuda/which_driver.h"

namespace tilewright::runtime {
namespace {

using tests::call_on_device;
using tests::DeviceVector;
using tests::load_for_device;

enum Mode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

/// 200 halvings and more, between two temporaries, with one of each iteration.
const std::string kLoopPlan = R"(tilewright-plan 1
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
  temp u float64 [x.0]
  call dev_half in "dev" (a, u)
  call dev_step in "dev" (1, u)
  call dev_half in "dev" (u, b)
  swap a b
}
copy a to y
end
)";

class Captures : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        std::string why;
        tests::prepare_driver();
        if (cuda::device_count(&why) == 0) GTEST_SKIP() << why;
        place_ = {0, cuda::new_stream(0)};
        cuda::trim_device_pool(0);
    }
    void TearDown() override {
        if (place_.stream) cuda::destroy_stream(0, place_.stream);
    }
    void begin(int mode) { ASSERT_EQ(cuda::ready_driver().capture_begin(cuda::stream_of(place_), mode), 0); }
    /// What the driver says to the end of the capture; the graph is ready to be launched where that is 0.
    int end() {
        const cuda::Driver& d = cuda::ready_driver();
        cuda::Graph graph = nullptr;
        if (const int status = d.capture_end(cuda::stream_of(place_), &graph)) return status;
        const int status = d.graph_instantiate(&graph_, graph, 0);
        d.graph_destroy(graph);
        return status;
    }
    void launch() {
        ASSERT_EQ(cuda::ready_driver().graph_launch(graph_, cuda::stream_of(place_)), 0);
        cuda::synchronize(place_);
    }
    /// The driver may tell the end of a graph a moment later, on a thread of its own.
    void drop_graph() {
        cuda::ready_driver().graph_executable_destroy(graph_);
        for (int i = 0; i < 1000 && cuda::device_pool_info(0).graph_bytes > 0; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }

    cuda::Place place_;
    cuda::GraphExecutable graph_ = nullptr;
};

/// A call whose arrays stay where they are.
class KeptCall {
  public:
    KeptCall(const Executable& e, const cuda::Place& place, const DeviceVector& x, std::int64_t n)
        : place_(place), memory_(e.frame_bytes()) {
        Executable::Frame frame = e.lay_out(memory_.data());
        frame.place = &place_;
        for (std::size_t i = 0; i < e.plan().arguments.size(); ++i)
            if (e.plan().arguments[i].is_array)
                frame.arguments[i].array = x.view();
            else
                std::memcpy(frame.arguments[i].scalar, &n, 8);
        int argument = -1;
        EXPECT_TRUE(e.read_sizes(frame, argument) && e.size_results(frame));
        elements_ = static_cast<std::size_t>(frame.results[0].elements);
        result_ = frame.results[0].data = cuda::allocate(place, elements_ * 8);
        status_ = e.run(frame, e.select(frame), nullptr, &failed_);
    }
    ~KeptCall() { cuda::release(place_, result_); }
    KeptCall(const KeptCall&) = delete;
    KeptCall& operator=(const KeptCall&) = delete;

    RunStatus status() const { return status_; }
    const std::string& failed() const { return failed_; }
    void* result() const { return result_; }
    std::vector<double> values() const {
        std::vector<double> out(elements_);
        cuda::copy_to_host(place_, out.data(), result_, elements_ * 8);
        return out;
    }

  private:
    cuda::Place place_;
    std::vector<char> memory_;
    std::size_t elements_ = 0;
    void* result_ = nullptr;
    RunStatus status_ = RunStatus::failed;
    std::string failed_;
};

double after_halvings(double x, int n) {
    for (int i = 0; i < n; ++i)
        x = (2 * (x / 2) + 1) / 2;
    return x;
}

TEST_P(Captures, AreLaunchedOnNewDataWithMemoryOfTheirOwn) {
    auto e = load_for_device(kLoopPlan); // its code is loaded within the capture
    auto quarter = load_for_device(tests::kQuarterPlan);
    DeviceVector x(place_, std::vector<double>(300, 8));
    cuda::synchronize(place_);
    const auto graphs = cuda::driver_calls().graph_launches;
    begin(GetParam());
    auto halved = std::make_unique<KeptCall>(*e, place_, x, 300);
    KeptCall quartered(*quarter, place_, x, 0);
    ASSERT_EQ(halved->status(), RunStatus::done) << halved->failed();
    ASSERT_EQ(quartered.status(), RunStatus::done) << quartered.failed();
    ASSERT_EQ(end(), 0);
    EXPECT_EQ(cuda::driver_calls().graph_launches, graphs) << "a captured loop is launches of its kernels";
    // Calls beside the graph find none of its memory.
    auto beside = call_on_device(*e, place_, {x.view()}, 3);
    ASSERT_EQ(beside.status, RunStatus::done) << beside.failed;
    for (double value : {8.0, -40.0, 0.5}) {
        const std::vector<double> values(300, value);
        cuda::copy_to_device(place_, x.data(), values.data(), values.size() * 8);
        launch();
        EXPECT_EQ(halved->values(), std::vector<double>(300, after_halvings(value, 300)));
        EXPECT_EQ(quartered.values(), std::vector<double>(300, value / 4));
        ASSERT_EQ(call_on_device(*quarter, place_, {x.view()}).status, RunStatus::done);
    }
    halved.reset();
    const std::size_t least = std::size_t{3} * 300 * 8; // two temporaries, a result
    EXPECT_GE(cuda::device_pool_info(0).graph_bytes, least);
    const auto pooled = cuda::device_pool_info(0).pooled_bytes;
    drop_graph();
    EXPECT_EQ(cuda::device_pool_info(0).graph_bytes, 0u);
    EXPECT_GE(cuda::device_pool_info(0).pooled_bytes, pooled + least);
    EXPECT_EQ(quartered.values(), std::vector<double>(300, 0.125)) << "a result outlives the graph";
}

TEST_P(Captures, TakeMemoryAgainWithinThemselves) {
    auto quarter = load_for_device(tests::kQuarterPlan);
    DeviceVector x(place_, std::vector<double>(1000, 8));
    ASSERT_EQ(call_on_device(*quarter, place_, {x.view()}).status, RunStatus::done);
    begin(GetParam());
    ASSERT_EQ(call_on_device(*quarter, place_, {x.view()}, 0, false).status, RunStatus::done);
    const auto allocations = cuda::driver_calls().allocations;
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(call_on_device(*quarter, place_, {x.view()}, 0, false).status, RunStatus::done);
    EXPECT_EQ(cuda::driver_calls().allocations, allocations);
    ASSERT_EQ(end(), 0);
    drop_graph();
}

TEST_P(Captures, GoOnBesideOtherStreamsAndThreads) {
    auto quarter = load_for_device(tests::kQuarterPlan);
    const cuda::Place other{0, cuda::new_stream(0)};
    begin(GetParam());
    std::thread beside([&] {
        // Memory from the driver, code, pinned memory, events, copies and waits.
        auto e = load_for_device(kLoopPlan);
        std::vector<double> values(1 << 17, 4);
        DeviceVector y(other, values);
        ASSERT_EQ(call_on_device(*e, other, {y.view()}, 500).status, RunStatus::done);
        EXPECT_EQ(y.values(), values);
        cuda::synchronize(other);
        cuda::Mark* mark = cuda::mark(other);
        while (!cuda::reached(*mark)) {
        }
        cuda::forget(mark);
        void* large = cuda::allocate(other, std::size_t{1} << 26);
        cuda::release(other, large);
    });
    beside.join();
    DeviceVector late(other, {1, 2}); // on this thread
    cuda::synchronize(other);
    KeptCall call(*quarter, place_, late, 0);
    ASSERT_EQ(call.status(), RunStatus::done) << call.failed();
    cuda::wait_for(place_, other); // the host waits: the graph cannot
    cuda::Mark* mark = cuda::mark(place_);
    ASSERT_EQ(end(), 0);
    launch();
    EXPECT_EQ(call.values(), (std::vector<double>{0.25, 0.5}));
    EXPECT_FALSE(cuda::reached(*mark)) << "the graph may be launched again";
    drop_graph();
    EXPECT_TRUE(cuda::reached(*mark));
    cuda::forget(mark);
    cuda::destroy_stream(0, other.stream);
}

TEST_P(Captures, RefuseWhatGraphsCannotDoAndGoOn) {
    auto quarter = load_for_device(tests::kQuarterPlan);
    auto waits = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nreturn None\nversion "
                                 "\"cuda\"\nrequire isa cuda-sm_70\ntemp c bool []\nloop {\n"
                                 "call dev_large in \"dev\" (A, c)\nleave unless c\ncall dev_half in \"dev\" (A, A)\n"
                                 "}\nend\n");
    DeviceVector x(place_, {8, 4});
    cuda::synchronize(place_);
    const auto said = [](const auto& action) -> std::string {
        try {
            action();
        } catch (const DeviceError& e) {
            return e.what();
        }
        return "nothing";
    };
    double values[2] = {1, 2};
    begin(GetParam());
    const std::string is_captured = ": the stream is being captured into a graph, and a graph cannot do this. ";
    EXPECT_EQ(call_on_device(*waits, place_, {x.view()}).failed,
              "cuda: a function that decides by the values of its arrays" + is_captured +
                  "Keep its call out of the capture.");
    EXPECT_EQ(said([&] { cuda::copy_to_device(place_, x.data(), values, 16); }),
              "cuda: a copy to the device" + is_captured +
                  "Copy before the capture begins: the graph reads what is there when it runs.");
    EXPECT_EQ(said([&] { cuda::copy_to_host(place_, values, x.data(), 16); }),
              "cuda: a copy to the host" + is_captured +
                  "Copy behind the graph's launch. A function that decides by the values of its arrays, or gives a "
                  "Python number, cannot be captured.");
    EXPECT_EQ(said([&] { cuda::synchronize(place_); }),
              "cuda: waiting for a stream" + is_captured + "Wait behind the graph's launch.");
    KeptCall call(*quarter, place_, x, 0);
    ASSERT_EQ(end(), 0);
    launch();
    EXPECT_EQ(call.values(), (std::vector<double>{2, 1}));
    drop_graph();
}

TEST_P(Captures, LeaveNoEventInBlocksThatAreReleasedMeanwhile) {
    const cuda::Place other{0, cuda::new_stream(0)};
    cuda::release(other, cuda::allocate(other, 64)); // two streams are known: releases are marked
    void* before = cuda::allocate(place_, 1 << 20);
    void* legacy = cuda::allocate({}, 1 << 20);
    begin(GetParam());
    cuda::release(place_, before);
    cuda::release({}, legacy);
    void* within = cuda::allocate(place_, 1 << 20);
    EXPECT_NE(within, before) << "the graph may run beside what used it";
    ASSERT_EQ(end(), 0);
    void* again = cuda::allocate(place_, 1 << 20);
    EXPECT_EQ(again, before);
    cuda::release(place_, again);
    cuda::release(place_, within);
    drop_graph();
    cuda::destroy_stream(0, other.stream);
}

INSTANTIATE_TEST_SUITE_P(Modes, Captures, testing::Values(kGlobal, kThreadLocal, kRelaxed));

} // namespace
} // namespace tilewright::runtime
