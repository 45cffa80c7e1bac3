// tests/runtime/cuda/fake_driver.h: steers libcuda_fake.so from a test. Device memory is host memory; what is put on a
// stream is done at once.
//
// The environment, read at cuInit: FAKE_CUDA_DEVICES (2), FAKE_CUDA_VERSION (12040), FAKE_CUDA_CAPABILITY (80),
// FAKE_CUDA_INIT (the status that cuInit gives), FAKE_CUDA_MEMORY (bytes of each device).
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilewright::tests {

/// CUaccessPolicyWindow; no bytes where a launch has none.
struct FakeWindow {
    unsigned long long begin = 0, bytes = 0;
    float kept = 0;
    int kept_as = 0, rest_as = 0;
};

struct FakeLaunch {
    std::string function;
    unsigned blocks[3], threads[3], shared_bytes;
    void* stream;
    bool early = false; ///< it may start before the one before it has ended
    FakeWindow window = {};
};

/// What a kernel of this name does with its arguments, as cuLaunchKernel gets them. Called at the launch; what it gives
/// back is run then, or by each launch of the graph that is being captured.
using FakeKernel = std::function<void()> (*)(void** arguments, const FakeLaunch& launch);

struct FakeDriver {
    /// The next `times` calls of this function give this status; from 700 on, all calls behind it do.
    void (*fail)(const char* function, int status, int times);
    void (*on_launch)(const char* name, FakeKernel kernel);
    /// What is on this stream does not end, as events see it.
    void (*set_busy)(void* stream, bool busy);
    const std::vector<FakeLaunch>& (*launches)();
    /// Names of all functions that were called, in order.
    const std::vector<std::string>& (*calls)();
    /// A context that is not the primary one of device 0.
    void* (*other_context)();
};

} // namespace tilewright::tests

extern "C" const tilewright::tests::FakeDriver* fake_driver();
