// tests/runtime/cuda/fake_kernels.cpp: the fake driver as this process's, and what device_kernels.c's functions and the
// runtime's own do on it.
#include "tests/runtime/cuda/fake_kernels.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/runtime/cuda/which_driver.h"

namespace tilewright::tests {
namespace {

template <class T> T value_of(void* argument) {
    T value;
    std::memcpy(&value, argument, sizeof value);
    return value;
}
double* doubles(void* argument) {
    return reinterpret_cast<double*>(value_of<std::uintptr_t>(argument));
}

std::function<void()> strided_copy(void** a, const FakeLaunch& launch) {
    const std::size_t bytes = std::strtoul(launch.function.c_str() + std::strlen("tilewright_copy_"), nullptr, 10);
    auto from = value_of<std::uintptr_t>(a[0]), to = value_of<std::uintptr_t>(a[1]);
    const auto count = value_of<unsigned>(a[2]), rank = value_of<unsigned>(a[3]);
    std::vector<std::int64_t> axes;
    for (unsigned d = 0; d < 3 * rank; ++d)
        axes.push_back(d % 3 == 0 ? value_of<unsigned>(a[4 + d]) : value_of<std::int64_t>(a[4 + d]));
    return [=] {
        for (unsigned n = 0; n < count; ++n) {
            std::int64_t rest = n, source = 0, target = 0;
            for (unsigned d = 0; d < rank; ++d) {
                const std::int64_t at = d + 1 < rank ? rest % axes[3 * d] : rest;
                rest /= axes[3 * d];
                source += at * axes[3 * d + 1];
                target += at * axes[3 * d + 2];
            }
            std::memcpy(reinterpret_cast<void*>(to + static_cast<std::uintptr_t>(target)),
                        reinterpret_cast<const void*>(from + static_cast<std::uintptr_t>(source)), bytes);
        }
    };
}

} // namespace

const FakeDriver& use_fake_driver() {
    static const FakeDriver* face = [] {
        if (!std::getenv("TILEWRIGHT_LIBCUDA")) setenv("TILEWRIGHT_LIBCUDA", TW_FAKE_DRIVER, 1);
        if (!std::getenv("TILEWRIGHT_LIBCUBLAS")) setenv("TILEWRIGHT_LIBCUBLAS", TW_FAKE_DRIVER, 1);
        void* library = dlopen(TW_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
        if (!library) throw std::runtime_error(dlerror());
        auto get = reinterpret_cast<const FakeDriver* (*)()>(dlsym(library, "fake_driver"));
        const FakeDriver* f = get();
        f->on_launch("dev_step", [](void** a, const FakeLaunch&) -> std::function<void()> {
            return [A = doubles(a[0]), n = value_of<int>(a[1]), t = value_of<int>(a[2])] {
                for (int i = 0; i < n; ++i)
                    A[i] = 2 * A[i] + t;
            };
        });
        f->on_launch("dev_half", [](void** a, const FakeLaunch&) -> std::function<void()> {
            return [x = doubles(a[0]), B = doubles(a[1]), n = value_of<int>(a[2])] {
                for (int i = 0; i < n; ++i)
                    B[i] = x[i] / 2;
            };
        });
        f->on_launch("dev_large", [](void** a, const FakeLaunch&) -> std::function<void()> {
            return [x = doubles(a[0]), c = doubles(a[1])] { *reinterpret_cast<bool*>(c) = x[0] > 1; };
        });
        f->on_launch("dev_whole", [](void** a, const FakeLaunch&) -> std::function<void()> {
            return [x = doubles(a[0]), n = doubles(a[1])] {
                *reinterpret_cast<std::int64_t*>(n) = static_cast<std::int64_t>(x[0]);
            };
        });
        for (const char* name :
             {"tilewright_copy_1", "tilewright_copy_2", "tilewright_copy_4", "tilewright_copy_8", "tilewright_copy_16"})
            f->on_launch(name, strided_copy);
        return f;
    }();
    return *face;
}

void prepare_driver() {
    use_fake_driver();
}

} // namespace tilewright::tests
