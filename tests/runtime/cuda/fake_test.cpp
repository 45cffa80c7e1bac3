// tests/runtime/cuda/fake_test.cpp: what only a fake driver shows: drivers and devices that are not there, errors at
// will, contexts and streams of others, the pool between streams that are busy, memory that runs out.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "dsl/base/error.h"
#include "dsl/runtime/cuda/context.h"
#include "dsl/runtime/cuda/launch.h"
#include "tests/runtime/cuda/fake_kernels.h"
#include "tests/runtime/cuda/on_device.h"

namespace tilewright::runtime {
namespace {

using tests::call_on_device;
using tests::DeviceVector;
using tests::load_for_device;
using tests::use_fake_driver;

/// What a process of its own says that has this environment: the driver is opened once in a process.
std::string probe(const std::string& what, const std::string& environment) {
    const std::string command =
        "env TILEWRIGHT_LIBCUDA='" TW_FAKE_DRIVER "' " + environment + " '" TW_PROBE "' " + what + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe))
        out.append(buffer, n);
    const int status = pclose(pipe);
    return out + (status ? "exit " + std::to_string(status) + "\n" : "");
}

TEST(CudaDriver, NoDriverNoDeviceOrAnOldOneAreSaid) {
    const std::string none = probe("count", "TILEWRIGHT_LIBCUDA=/nowhere/libcuda.so.1");
    EXPECT_TRUE(none.starts_with("0 there is no CUDA driver here: /nowhere/libcuda.so.1: cannot open")) << none;
    EXPECT_NE(none.find("--gpus all, or use the target host."), std::string::npos) << none;
    const std::string no_device = probe("count", "FAKE_CUDA_INIT=100");
    EXPECT_TRUE(
        no_device.starts_with("0 the CUDA driver finds no device: cuInit gives CUDA_ERROR_NO_DEVICE (100, fake). "
                              "Is CUDA_VISIBLE_DEVICES empty"))
        << no_device;
    EXPECT_TRUE(
        probe("count", "FAKE_CUDA_INIT=803").starts_with("0 the CUDA driver and its kernel module are of different"));
    EXPECT_TRUE(probe("count", "FAKE_CUDA_INIT=34").starts_with("0 libcuda.so.1 is the toolkit's stub"));
    EXPECT_TRUE(probe("count", "FAKE_CUDA_INIT=999").starts_with("0 the CUDA driver does not start"));
    EXPECT_TRUE(probe("count", "FAKE_CUDA_DEVICES=0").starts_with("0 the CUDA driver has no device."));
    EXPECT_EQ(probe("count", "FAKE_CUDA_VERSION=11020"),
              "0 the CUDA driver is too old: it supports CUDA 11.2. Update NVIDIA's driver (CUDA 11.4 or later).\n");
    EXPECT_EQ(probe("count", "FAKE_CUDA_DEVICES=3"), "3 Fake GPU 8.0 GPU-10101010-1010-1010-1010-101010101010\n");
    EXPECT_TRUE(probe("run", "FAKE_CUDA_INIT=100").starts_with("device_error: cuda: the CUDA driver finds no device"));
}

TEST(CudaDriver, CodeForNewerDevicesIsSaidBeforeItIsLoaded) {
    const std::string old = probe("run", "FAKE_CUDA_CAPABILITY=61");
    EXPECT_EQ(old,
              "device_error: cuda: the code of a kernel on device 0 (Fake GPU): it is for compute capability 7.0 and "
              "later, and the device has 6.1. Devices from compute capability 7.0 on are served; use the target "
              "host.\n");
}

TEST(CudaDriver, KernelsStartEarlyWhereDeviceAndDriverKnowHow) {
    EXPECT_EQ(probe("early", "FAKE_CUDA_CAPABILITY=80"), "done: in turn in turn\n");
    EXPECT_EQ(probe("early", "FAKE_CUDA_CAPABILITY=90"), "done: early early\n");
    EXPECT_EQ(probe("early", "FAKE_CUDA_CAPABILITY=120"), "done: early early\n");
    EXPECT_EQ(probe("early", "FAKE_CUDA_CAPABILITY=90 FAKE_CUDA_VERSION=12020"), "done: in turn in turn\n");
}

TEST(EarlyLaunch, EachEntryWaitsBehindItsDeclarations) {
    const std::string function = ".func f()\n{\n\tret;\n}\n";
    const std::string first = ".visible .entry a(\n\t.param .u64 a_0\n)\n.maxntid 64\n{\n\t.reg .pred \t%p<2>;\n"
                              "\t.local .align 4 .b8 \t__local_depot0[4];\n\n";
    const std::string second = "\tld.param.b32 \t%r1, [a_0];\n\tret;\n}\n.visible .entry b()\n{\n";
    const std::string ptx =
        ".version 7.0\n.target sm_80\n.address_size 64\n" + function + first + second + "\tret;\n}\n";
    EXPECT_EQ(cuda::ptx_for(80, ptx), ptx);
    const std::string early = cuda::ptx_for(90, ptx);
    const std::string head = ".version 7.8\n.target sm_90\n.address_size 64\n" + function + first;
    ASSERT_TRUE(early.starts_with(head)) << early;
    const std::size_t next = early.find(second);
    ASSERT_NE(next, std::string::npos) << early;
    const std::string wait = early.substr(head.size(), next - head.size());
    EXPECT_TRUE(wait.starts_with("\tgriddepcontrol.wait;\n")) << wait;
    EXPECT_NE(wait.find("griddepcontrol.launch_dependents;"), std::string::npos) << wait;
    EXPECT_EQ(early.substr(next), second + wait + "\tret;\n}\n");
    const std::string newer = ".version 8.3\n.target sm_100\n.entry a()\n{\n\tret;\n}\n";
    EXPECT_TRUE(cuda::ptx_for(100, newer).starts_with(".version 8.3\n.target sm_100\n.entry a()\n{\n\tgriddepcontrol"));
    EXPECT_EQ(cuda::ptx_for(90, "no PTX"), "no PTX");
}

/// A float32 array of a launch.
struct LaunchedArray {
    halide_dimension_t dims[2];
    halide_buffer_t buffer{};
    LaunchedArray(std::uint64_t at, halide_dimension_t inner, halide_dimension_t outer) : dims{inner, outer} {
        buffer.device = at;
        buffer.type = {halide_type_float, 32, 1};
        buffer.dimensions = 2;
        buffer.dim = dims;
    }
};

cuda::LaunchedArrays arrays_of(std::vector<LaunchedArray*> arrays) {
    std::vector<void*> arguments;
    for (LaunchedArray* array : arrays)
        arguments.push_back(&array->buffer);
    const std::vector<std::int8_t> is_buffer(arrays.size(), 1);
    return cuda::arrays_of(arguments.data(), is_buffer.data(), arguments.size());
}

TEST(L2Window, IsOfOneDenseArrayLargerThanTheCache) {
    cuda::Device device;
    device.l2_bytes = 60 << 20;
    device.l2_window_bytes = 128 << 20;
    const int rows = 20 << 10; // of 4 KiB: 80 MiB
    LaunchedArray x(1 << 30, {0, 1024, 1, 0}, {0, rows, 1024, 0}), sums(64, {0, 1, 1, 0}, {0, rows, 1, 0});
    cuda::L2Window window = cuda::window_for(device, arrays_of({&sums, &x}));
    EXPECT_EQ(window.begin, std::uint64_t{1} << 30);
    EXPECT_EQ(window.bytes, std::size_t{80} << 20);
    EXPECT_FLOAT_EQ(window.kept, 0.25F);
    EXPECT_EQ(window.kept_as, 0);
    EXPECT_EQ(window.rest_as, 1);
    // From its last row to its first, and column by column.
    LaunchedArray backwards(1 << 30, {0, 1024, 1, 0}, {0, rows, -1024, 0});
    window = cuda::window_for(device, arrays_of({&backwards}));
    EXPECT_EQ(window.begin, (std::uint64_t{1} << 30) - (rows - 1) * 4096);
    EXPECT_EQ(window.bytes, std::size_t{80} << 20);
    LaunchedArray turned(1 << 30, {0, rows, 1024, 0}, {0, 1024, 1, 0});
    EXPECT_EQ(cuda::window_for(device, arrays_of({&turned})).bytes, std::size_t{80} << 20);

    auto has_none = [&](std::vector<LaunchedArray*> arrays) {
        return cuda::window_for(device, arrays_of(std::move(arrays))).bytes == 0;
    };
    LaunchedArray y = x;
    y.buffer.dim = y.dims;
    EXPECT_TRUE(has_none({&x, &y}));
    LaunchedArray every_other(1 << 30, {0, 1024, 2, 0}, {0, rows, 2048, 0});
    EXPECT_TRUE(has_none({&every_other}));
    LaunchedArray fits(1 << 30, {0, 1024, 1, 0}, {0, 11 << 10, 1024, 0}),
        beyond(1 << 30, {0, 1024, 1, 0}, {0, 33 << 10, 1024, 0});
    EXPECT_TRUE(has_none({&fits}));
    EXPECT_TRUE(has_none({&beyond}));
    LaunchedArray empty(1 << 30, {0, 0, 1, 0}, {0, rows, 0, 0});
    EXPECT_TRUE(has_none({&empty}));
    EXPECT_TRUE(has_none({}));
    device.l2_window_bytes = 0; // before compute capability 8.0
    EXPECT_TRUE(has_none({&x}));
    device.l2_bytes = 0;
    EXPECT_TRUE(has_none({&empty}));
}

TEST(L2Window, GoesWithTheLaunch) {
    const auto& driver = use_fake_driver();
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar t int64\nreturn None\n"
                             "version \"loops\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (t, A)\nend\n");
    DeviceVector small({}, std::vector<double>(1000)), large({}, std::vector<double>(5'500'000)); // of 50 MiB
    ASSERT_EQ(call_on_device(*e, {}, {small.view()}).status, RunStatus::done);
    EXPECT_EQ(driver.launches().back().window.bytes, 0U);
    ASSERT_EQ(call_on_device(*e, {}, {large.view()}).status, RunStatus::done);
    const tests::FakeWindow& window = driver.launches().back().window;
    EXPECT_EQ(window.begin, reinterpret_cast<std::uintptr_t>(large.data()));
    EXPECT_EQ(window.bytes, 44'000'000U);
    EXPECT_NEAR(window.kept, (50 << 20) / 3 / 44e6, 1e-6);
}

TEST(L2Window, ADeviceThatKnowsNoneIsAskedOnce) {
    const auto& driver = use_fake_driver();
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar t int64\nreturn None\n"
                             "version \"loops\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (t, A)\nend\n");
    const cuda::Place place{1, nullptr};
    DeviceVector large(place, std::vector<double>(5'500'000));
    driver.fail("cuLaunchKernel", 801, 1);
    ASSERT_EQ(call_on_device(*e, place, {large.view()}).status, RunStatus::done);
    EXPECT_EQ(driver.launches().back().window.bytes, 0U);
    const std::size_t before = driver.launches().size();
    ASSERT_EQ(call_on_device(*e, place, {large.view()}).status, RunStatus::done);
    EXPECT_EQ(driver.launches().size(), before + 1);
    EXPECT_EQ(driver.launches().back().window.bytes, 0U);
}

TEST(CudaDriver, WithoutCublasAVersionWithLoopsServesTheCall) {
    EXPECT_EQ(probe("blas", "TILEWRIGHT_LIBCUBLAS=/nowhere/libcublas.so"),
              "loops done\n-1 arrays on a device of compute capability 7.0 or later, and cuBLAS\n");
    EXPECT_EQ(probe("blas", "").substr(0, 12), "cuBLAS done\n");
}

TEST(CudaDriver, AForkedChildIsToldSo) {
    EXPECT_EQ(
        probe("fork", ""),
        "child: cuda: this process was forked from one that had used the device, and CUDA does not survive a fork. "
        "Start it with multiprocessing's spawn or forkserver, or fork before the first call on a device.\nparent: "
        "done\n");
}

TEST(CudaDriver, ALostContextIsSaidWithItsFirstError) {
    const std::string text = probe("lost", "");
    EXPECT_TRUE(
        text.starts_with("device_error: cuda: launching dev_half, 1x1x1 blocks of 4x1x1 threads with 0 bytes of "
                         "shared memory: CUDA_ERROR_ILLEGAL_ADDRESS (700, fake): a kernel touched memory that is "
                         "not there; nothing works on the device in this process any more. Restart the process."))
        << text;
    EXPECT_NE(
        text.find(
            "\nlater: cuda: waiting for a stream: CUDA_ERROR_ILLEGAL_ADDRESS (700, fake): a kernel touched memory "
            "that is not there; nothing works on the device in this process any more; the first such error "
            "was cuda: launching dev_half"),
        std::string::npos)
        << text;
}

class Fake : public testing::Test {
  protected:
    const tests::FakeDriver& driver = use_fake_driver();
    cuda::Place a{0, cuda::new_stream(0)}, b{0, cuda::new_stream(0)};
    void SetUp() override { cuda::trim_device_pool(0); }
    void TearDown() override {
        cuda::destroy_stream(0, a.stream);
        cuda::destroy_stream(0, b.stream);
    }
};

TEST_F(Fake, ABlockIsReusedOnItsStreamAtOnceWithoutTheDriver) {
    void* first = cuda::allocate(a, 1000);
    cuda::release(a, first);
    driver.set_busy(a.stream, true);
    const auto before = cuda::driver_calls();
    for (int i = 0; i < 100; ++i) {
        void* again = cuda::allocate(a, 900);
        EXPECT_EQ(again, first);
        cuda::release(a, again);
    }
    const auto after = cuda::driver_calls();
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.events, before.events);
}

TEST_F(Fake, AnotherStreamTakesItOnlyWhenItsWorkIsDone) {
    void* other = cuda::allocate(b, 64); // two streams are known from here on
    driver.set_busy(a.stream, true);
    void* first = cuda::allocate(a, 1 << 20);
    cuda::release(a, first);
    void* second = cuda::allocate(b, 1 << 20);
    EXPECT_NE(second, first);
    driver.set_busy(a.stream, false);
    void* third = cuda::allocate(b, 1 << 20);
    EXPECT_EQ(third, first);
    for (void* p : {other, second, third})
        cuda::release(b, p);
}

TEST_F(Fake, AStreamThatWasWaitedForGivesItsBlocksToAll) {
    void* first = cuda::allocate(a, 5000); // alone: no event is recorded
    cuda::release(a, first);
    void* other = cuda::allocate(b, 64);
    EXPECT_NE(other, first);
    cuda::synchronize(a);
    void* second = cuda::allocate(b, 5000);
    EXPECT_EQ(second, first);
    cuda::release(b, second);
    cuda::release(b, other);
}

TEST_F(Fake, ADestroyedStreamLeavesItsBlocksBehindAnEvent) {
    const cuda::Place c{0, cuda::new_stream(0)};
    void* first = cuda::allocate(c, 3 << 20);
    driver.set_busy(c.stream, true);
    cuda::release(c, first);
    cuda::destroy_stream(0, c.stream);
    void* second = cuda::allocate(a, 3 << 20);
    EXPECT_NE(second, first);
    driver.set_busy(c.stream, false);
    void* third = cuda::allocate(a, 3 << 20);
    EXPECT_EQ(third, first);
    cuda::release(a, second);
    cuda::release(a, third);
}

TEST_F(Fake, MemoryThatRunsOutIsTrimmedForAndThenNull) {
    const auto whole = static_cast<std::size_t>(cuda::device(0).memory_bytes);
    void* half = cuda::allocate(a, whole / 5 * 3);
    ASSERT_NE(half, nullptr);
    EXPECT_EQ(cuda::allocate(a, whole / 2), nullptr);
    cuda::release(a, half);
    // What is kept goes back when it is missing.
    void* other = cuda::allocate(b, whole / 2);
    EXPECT_NE(other, nullptr);
    cuda::release(b, other);
    EXPECT_EQ(cuda::allocate(a, std::size_t{1} << 50), nullptr);
    EXPECT_EQ(cuda::device_pool_info(0).live_bytes, 0u);
    EXPECT_GT(cuda::trim_device_pool(0), 0u);
    EXPECT_EQ(cuda::device_pool_info(0).pooled_bytes, 0u);
}

TEST_F(Fake, TheOldestBlocksGoBackBeyondTheLimit) {
    const auto limit = cuda::device_pool_info(0).limit_bytes;
    std::vector<void*> blocks;
    for (int i = 0; i < 6; ++i)
        blocks.push_back(cuda::allocate(a, limit / 4));
    for (void* p : blocks)
        cuda::release(a, p);
    EXPECT_LE(cuda::device_pool_info(0).pooled_bytes, limit);
    EXPECT_EQ(cuda::allocate(a, limit / 4), blocks.back());
    cuda::release(a, blocks.back());
}

TEST_F(Fake, OutOfMemoryInACallIsADeviceErrorWithBytes) {
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(a, {1, 2, 3, 4});
    cuda::trim_device_pool(0);
    // The result is there; the temporary is not.
    void* kept = cuda::allocate(a, 32);
    cuda::release(a, kept);
    driver.fail("cuMemAlloc", 2, 2);
    auto c = call_on_device(*e, a, {x.view()});
    driver.fail("cuMemAlloc", 0, 0);
    EXPECT_EQ(c.status, RunStatus::device_error);
    EXPECT_TRUE(c.failed.starts_with("cuda: 32 bytes for a temporary on device 0: CUDA_ERROR_OUT_OF_MEMORY (2, fake): "
                                     "there is not enough memory on the device. Free arrays, "))
        << c.failed;
    EXPECT_EQ(call_on_device(*e, a, {x.view()}).status, RunStatus::done);
}

TEST_F(Fake, ErrorsOfALaunchNameTheKernelAndLeaveNothingBehind) {
    auto e = load_for_device("tilewright-plan 1\nfunction f\narg x float64 1\nresult y float64 [x.0]\nreturn y\n"
                             "version \"cuda\"\nrequire isa cuda-sm_70\ncall dev_quarter in \"dev\" (x, y)\nend\n");
    DeviceVector x(a, {1, 2, 3, 4});
    ASSERT_EQ(call_on_device(*e, a, {x.view()}).status, RunStatus::done);
    const auto live = cuda::device_pool_info(0).live_bytes;
    driver.fail("cuLaunchKernel", 701, 1);
    auto c = call_on_device(*e, a, {x.view()});
    EXPECT_EQ(c.status, RunStatus::device_error);
    EXPECT_NE(c.failed.find("launching dev_half, 1x1x1 blocks of 4x1x1 threads"), std::string::npos) << c.failed;
    EXPECT_NE(c.failed.find("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701, fake): a block needs more registers"),
              std::string::npos)
        << c.failed;
    EXPECT_EQ(cuda::device_pool_info(0).live_bytes, live);
}

TEST_F(Fake, ObjectsThatHalideMakesAreServed) {
    auto e = Executable::load(R"(tilewright-plan 1
function axpy
scalar a float64
arg X float64 2
arg Y float64 2
result Z float64 [X.0, X.1]
return Z
version "cuda"
require isa cuda-sm_80
call gpu_axpy in "gpu_axpy" (a, X, Y, Z)
end
)",
                              {{"gpu_axpy", tests::kernel("gpu_axpy")}});
    DeviceVector x(a, std::vector<double>(5 * 200)), y(a, std::vector<double>(5 * 200));
    const std::int64_t shape[] = {5, 200}, strides[] = {1600, 8};
    const std::size_t before = driver.launches().size();
    const auto calls = cuda::driver_calls();
    for (int i = 0; i < 3; ++i) {
        auto c = call_on_device(*e, a, {{x.data(), shape, strides}, {y.data(), shape, strides}});
        ASSERT_EQ(c.status, RunStatus::done) << c.failed;
    }
    EXPECT_EQ(cuda::driver_calls().module_loads, calls.module_loads + 1);
    ASSERT_EQ(driver.launches().size(), before + 6);
    const auto& first = driver.launches()[before];
    const auto& second = driver.launches()[before + 1];
    EXPECT_TRUE(first.function.starts_with("_kernel_scaled")) << first.function;
    EXPECT_TRUE(second.function.starts_with("_kernel_gpu_axpy")) << second.function;
    EXPECT_EQ(first.threads[0], 64u);
    EXPECT_EQ(first.blocks[0] * first.blocks[1], 4u * 5u);
    EXPECT_EQ(second.threads[0], 128u);
    EXPECT_EQ(second.blocks[0] * second.blocks[1], 2u * 5u);
    EXPECT_EQ(second.shared_bytes, 1024u);
    EXPECT_EQ(first.stream, a.stream);
}

TEST_F(Fake, AnotherContextThatIsCurrentIsCurrentAgain) {
    auto set =
        reinterpret_cast<int (*)(void*)>(dlsym(dlopen(TW_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), "cuCtxSetCurrent"));
    auto get =
        reinterpret_cast<int (*)(void**)>(dlsym(dlopen(TW_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), "cuCtxGetCurrent"));
    auto create = reinterpret_cast<int (*)(void**, unsigned)>(
        dlsym(dlopen(TW_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD), "cuStreamCreate"));
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(a, {1, 2, 3, 4});
    set(driver.other_context());
    EXPECT_EQ(call_on_device(*e, a, {x.view()}).status, RunStatus::done);
    void* now = nullptr;
    get(&now);
    EXPECT_EQ(now, driver.other_context());
    // A stream of that context is not one of the arrays' context.
    void* foreign = nullptr;
    create(&foreign, 0);
    const cuda::Place wrong{0, foreign};
    std::vector<double> out(4);
    auto plain = load_for_device("tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar t int64\nreturn None\n"
                                 "version \"cuda\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (t, A)\nend\n");
    auto c = call_on_device(*plain, wrong, {x.view()}, 1);
    EXPECT_EQ(c.status, RunStatus::device_error);
    EXPECT_NE(c.failed.find("on a stream of another context or of another device: CUDA_ERROR_INVALID_HANDLE"),
              std::string::npos)
        << c.failed;
    EXPECT_NE(c.failed.find("Pass a stream of the device's primary context"), std::string::npos);
    get(&now);
    EXPECT_EQ(now, driver.other_context());
    set(nullptr);
}

TEST_F(Fake, EachDeviceLoadsItsOwnModuleOnce) {
    auto e = load_for_device(tests::kQuarterPlan);
    const auto before = cuda::driver_calls().module_loads;
    for (int round = 0; round < 2; ++round)
        for (int device : {0, 1}) {
            const cuda::Place place{device, nullptr};
            DeviceVector x(place, {4, 8});
            EXPECT_EQ(cuda::device_of(x.data()), device);
            EXPECT_EQ(call_on_device(*e, place, {x.view()}).results[0], (std::vector<double>{1, 2}));
        }
    EXPECT_EQ(cuda::driver_calls().module_loads, before + 2);
}

TEST_F(Fake, CallsOfSeveralThreadsGoOnTheirStreams) {
    auto e = load_for_device(tests::kQuarterPlan);
    auto work = [&](cuda::Place place, double value) {
        for (int i = 0; i < 200; ++i) {
            DeviceVector x(place, {value, 2 * value});
            auto c = call_on_device(*e, place, {x.view()});
            ASSERT_EQ(c.status, RunStatus::done) << c.failed;
            ASSERT_EQ(c.results[0], (std::vector<double>{value / 4, value / 2}));
        }
    };
    std::thread first(work, a, 4), second(work, b, 64), third(work, cuda::Place{0, reinterpret_cast<void*>(2)}, 256);
    first.join();
    second.join();
    third.join();
    const auto& launches = driver.launches();
    EXPECT_GE(std::count_if(launches.begin(), launches.end(), [&](const auto& l) { return l.stream == b.stream; }),
              400);
}

TEST_F(Fake, ACaptureThatForbidsTheLegacyStreamIsSaidAndGoesOn) {
    const cuda::Driver& d = cuda::ready_driver();
    cuda::Entered entered(0);
    cuda::Stream blocking = nullptr;
    ASSERT_EQ(d.stream_create(&blocking, 0), 0);
    const cuda::Place captured{0, blocking};
    void* kept = cuda::allocate({}, 1000);
    ASSERT_EQ(d.capture_begin(blocking, 0), 0);
    try {
        cuda::wait_for(captured, {});
        FAIL();
    } catch (const DeviceError& e) {
        EXPECT_STREQ(e.what(),
                     "cuda: an array that was last used on the legacy default stream, in a call on a captured one: "
                     "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT (906, fake): a capture on another stream does not allow the "
                     "legacy default stream. Capture on a non-blocking stream, as PyTorch's are "
                     "(cupy.cuda.Stream(non_blocking=True)), or make and use the arrays on the stream that is "
                     "captured.");
    }
    cuda::release({}, kept); // marked with no event
    cuda::Graph graph = nullptr;
    EXPECT_EQ(d.capture_end(blocking, &graph), 0);
    d.graph_destroy(graph);
    d.stream_destroy(blocking);
}

TEST_F(Fake, TheLogOfTheDriversCompilerIsInTheMessage) {
    try {
        cuda::function_facts(0, ".version 6.0\n.target sm_70\nSYNTAX ERROR\n");
        FAIL();
    } catch (const DeviceError& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with(
            "cuda: loading the code of a kernel on device 0 (Fake GPU), compiler's log \"ptxas fatal: line 3: a fake "
            "complaint\": CUDA_ERROR_INVALID_PTX (218, fake): the driver does not accept the code. Update the driver"))
            << e.what();
    }
}

TEST_F(Fake, NoCallSynchronizesTheDevice) {
    auto e = load_for_device(tests::kQuarterPlan);
    DeviceVector x(a, {1, 2, 3, 4});
    call_on_device(*e, a, {x.view()});
    const std::size_t before = driver.calls().size();
    for (int i = 0; i < 10; ++i)
        call_on_device(*e, a, {x.view()}, 0, false);
    const std::vector<std::string> calls(driver.calls().begin() + static_cast<std::ptrdiff_t>(before),
                                         driver.calls().end());
    for (const std::string& name : calls)
        EXPECT_TRUE(name == "cuLaunchKernel" || name == "cuCtxGetCurrent" || name == "cuStreamIsCapturing" ||
                    name == "cuEventRecord" || name == "cuEventCreate")
            << name;
}

} // namespace
} // namespace tilewright::runtime
