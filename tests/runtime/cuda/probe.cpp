// tests/runtime/cuda/probe.cpp: a process of its own whose driver is as the environment says.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "dsl/base/error.h"
#include "tests/runtime/cuda/fake_kernels.h"
#include "tests/runtime/cuda/on_device.h"

namespace {

using namespace tilewright;
using tests::call_on_device;
using tests::DeviceVector;

const char* const kStatus[] = {"done",        "out_of_memory", "failed",      "out_of_range",
                               "interrupted", "check_failed",  "device_error"};

int count_devices() {
    std::string why;
    const int n = runtime::cuda::device_count(&why);
    if (n == 0) return std::printf("0 %s\n", why.c_str()), 0;
    const auto& d = runtime::cuda::device(0);
    std::printf("%d %s %d.%d %s\n", n, d.name.c_str(), d.major, d.minor, d.uuid.c_str());
    return 0;
}

/// Without looking whether a version fits the device.
void run_blindly() {
    auto e = tests::load_for_device(tests::kQuarterPlan);
    std::vector<char> memory(e->frame_bytes());
    auto frame = e->lay_out(memory.data());
    runtime::cuda::Place place;
    frame.place = &place;
    double values[4] = {};
    std::int64_t shape[] = {4}, strides[] = {8};
    frame.arguments[0].array = {values, shape, strides};
    int argument = 0;
    e->read_sizes(frame, argument);
    e->size_results(frame);
    frame.results[0].data = values;
    std::string failed;
    const auto status = e->run(frame, 0, nullptr, &failed);
    std::printf("%s: %s\n", kStatus[static_cast<int>(status)], failed.c_str());
}

void choose_without_blas() {
    tests::use_fake_driver();
    const std::string head = "tilewright-plan 1\nfunction f\narg A float64 1 written\nscalar t int64\nreturn None\n";
    const std::string product =
        "version \"cuBLAS\"\nrequire isa cuda-sm_70\ntemp a float64 [2, 2]\n"
        "temp b float64 [2, 2]\nlibrary matmul (a, a, b)\ncall dev_step in \"dev\" (t, A)\nend\n";
    const std::string loops = "version \"loops\"\nrequire isa cuda-sm_70\ncall dev_step in \"dev\" (t, A)\nend\n";
    DeviceVector a({}, {1});
    auto both = tests::load_for_device(head + product + loops);
    const auto chosen = call_on_device(*both, {}, {a.view()});
    std::printf("%s %s\n", both->version_label(chosen.version).c_str(), kStatus[static_cast<int>(chosen.status)]);
    auto one = tests::load_for_device(head + product);
    std::printf("%d %s\n", call_on_device(*one, {}, {a.view()}).version, one->requirements_text().c_str());
}

void lose_the_context() {
    const auto& driver = tests::use_fake_driver();
    auto e = tests::load_for_device(tests::kQuarterPlan);
    const runtime::cuda::Place place{0, runtime::cuda::new_stream(0)};
    DeviceVector x(place, {1, 2, 3, 4});
    driver.fail("cuLaunchKernel", 700, 1);
    auto c = call_on_device(*e, place, {x.view()});
    std::printf("%s: %s\n", kStatus[static_cast<int>(c.status)], c.failed.c_str());
    try {
        runtime::cuda::synchronize(place);
    } catch (const DeviceError& error) {
        std::printf("later: %s\n", error.what());
    }
}

void say_which_launches_are_early() {
    const auto& driver = tests::use_fake_driver();
    auto e = tests::load_for_device(tests::kQuarterPlan);
    const runtime::cuda::Place place;
    DeviceVector x(place, {1, 2, 3, 4});
    const auto c = call_on_device(*e, place, {x.view()});
    std::printf("%s:", kStatus[static_cast<int>(c.status)]);
    for (const auto& launch : driver.launches())
        std::printf(" %s", launch.early ? "early" : "in turn");
    std::printf("\n");
}

void fork_behind_a_call() {
    tests::use_fake_driver();
    const runtime::cuda::Place place;
    DeviceVector x(place, {1});
    std::fflush(stdout);
    if (const pid_t child = fork(); child == 0) {
        try {
            runtime::cuda::synchronize(place);
        } catch (const DeviceError& error) {
            std::printf("child: %s\n", error.what());
        }
        std::fflush(stdout);
        _exit(0);
    } else {
        int status = 0;
        waitpid(child, &status, 0);
    }
    runtime::cuda::synchronize(place);
    std::printf("parent: done\n");
}

} // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "count";
    if (what == "run") run_blindly();
    if (what == "lost") lose_the_context();
    if (what == "blas") choose_without_blas();
    if (what == "early") say_which_launches_are_early();
    if (what == "fork") fork_behind_a_call();
    return what == "count" ? count_devices() : 0;
}
