// autotune/measure/device_roofline.cpp: what the memory of a CUDA device gives to its driver's own copies.
#include <algorithm>
#include <cstddef>

#include "autotune/measure/roofline.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/cuda/out_of_memory.h"

namespace tilewright::autotune {

namespace cuda = runtime::cuda;

namespace {

constexpr int kRepeats = 5;

class Buffer {
  public:
    Buffer(const cuda::Place& place, std::size_t bytes) : place_(place), data_(cuda::allocate(place, bytes)) {
        if (data_ == nullptr) throw cuda::OutOfDeviceMemory(place, bytes);
    }
    ~Buffer() { cuda::release(place_, data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* data() const { return data_; }

  private:
    cuda::Place place_;
    void* data_;
};

class Stream {
  public:
    explicit Stream(int device) : place_{device, cuda::new_stream(device)} {}
    ~Stream() { cuda::destroy_stream(place_.device, place_.stream); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    const cuda::Place& place() const { return place_; }

  private:
    cuda::Place place_;
};

/// The best of some, after one that warms up.
template <class Body> double best_ns(const cuda::Place& place, int rounds, Body&& body) {
    cuda::Timer timer(place);
    double best = 1e18;
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
        timer.start();
        for (int round = 0; round < rounds; ++round)
            body();
        timer.stop();
        const double ns = timer.elapsed_ns() / rounds;
        if (repeat > 0) best = std::min(best, ns);
    }
    return std::max(best, 1.0);
}

} // namespace

Roofline measure_device_roofline(int device) {
    const Stream stream(device);
    const cuda::Place& place = stream.place();
    Roofline roofline;
    for (const std::size_t bytes : {std::size_t{16} << 20, std::size_t{2} << 30}) {
        const Buffer from(place, bytes / 2), to(place, bytes / 2);
        const int rounds = bytes > (std::size_t{64} << 20) ? 4 : 32;
        cuda::fill(place, from.data(), 1, bytes / 2);
        const double copy_ns =
            best_ns(place, rounds, [&] { cuda::copy_on_device(place, to.data(), from.data(), bytes / 2); });
        const double write_ns = best_ns(place, rounds, [&] { cuda::fill(place, to.data(), 2, bytes / 2); });
        const double copied = static_cast<double>(bytes) / copy_ns;
        // The driver has nothing that only reads; a copy is what reading amounts to.
        roofline.levels.push_back({static_cast<std::int64_t>(bytes), copied,
                                   std::max(copied, static_cast<double>(bytes) / 2 / write_ns), copied});
    }
    return roofline;
}

} // namespace tilewright::autotune
