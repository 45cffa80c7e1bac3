// tests/runtime/cuda/on_device.h: calls of plans whose arrays lie on a device, real or fake.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/executor.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::tests {

namespace rt = tilewright::runtime;
namespace cuda = tilewright::runtime::cuda;

/// A float64 vector on a device, contiguous unless said otherwise.
class DeviceVector {
  public:
    DeviceVector(const cuda::Place& place, const std::vector<double>& values)
        : place_(place), shape_{static_cast<std::int64_t>(values.size())}, strides_{8} {
        data_ = cuda::allocate(place, values.size() * 8);
        cuda::copy_to_device(place, data_, values.data(), values.size() * 8);
    }
    ~DeviceVector() { cuda::release(place_, data_); }
    DeviceVector(const DeviceVector&) = delete;
    DeviceVector& operator=(const DeviceVector&) = delete;

    rt::ArrayView view() const { return {data_, shape_, strides_}; }
    void* data() const { return data_; }
    std::vector<double> values() const {
        std::vector<double> out(static_cast<std::size_t>(shape_[0]));
        cuda::copy_to_host(place_, out.data(), data_, out.size() * 8);
        return out;
    }

  private:
    cuda::Place place_;
    void* data_;
    std::int64_t shape_[1], strides_[1];
};

struct DeviceCall {
    int version = -1;
    rt::RunStatus status = rt::RunStatus::failed;
    std::string failed;
    std::vector<std::vector<double>> results; ///< where the call was done and they are asked for
};

/// Arrays in the order of the plan's; integers for the int64 scalars.
inline DeviceCall call_on_device(const rt::Executable& e, const cuda::Place& place,
                                 const std::vector<rt::ArrayView>& arrays, std::int64_t integer = 0,
                                 bool fetch = true) {
    DeviceCall c;
    std::vector<char> memory(e.frame_bytes());
    auto frame = e.lay_out(memory.data());
    frame.place = &place;
    std::size_t next = 0;
    for (std::size_t i = 0; i < e.plan().arguments.size(); ++i) {
        if (e.plan().arguments[i].is_array)
            frame.arguments[i].array = arrays[next++];
        else
            std::memcpy(frame.arguments[i].scalar, &integer, 8);
    }
    int argument = -1;
    if (!e.read_sizes(frame, argument) || e.failed_guard(frame) >= 0) return c;
    c.version = e.select(frame);
    if (c.version < 0 || !e.size_results(frame)) return c;
    const std::size_t results = e.plan().results.size();
    for (std::size_t i = 0; i < results; ++i)
        frame.results[i].data = cuda::allocate(place, static_cast<std::size_t>(frame.results[i].elements) * 8);
    c.status = e.run(frame, c.version, nullptr, &c.failed);
    for (std::size_t i = 0; i < results; ++i) {
        if (fetch && c.status == rt::RunStatus::done) {
            c.results.emplace_back(static_cast<std::size_t>(frame.results[i].elements));
            cuda::copy_to_host(place, c.results[i].data(), frame.results[i].data, c.results[i].size() * 8);
        }
        cuda::release(place, frame.results[i].data);
    }
    return c;
}

inline std::shared_ptr<const rt::Executable> load_for_device(const std::string& text) {
    return rt::Executable::load(text, {{"dev", read_file(TW_DEVICE_KERNELS)}, {"step", kernel("step")}});
}

inline const std::string kQuarterPlan = R"(tilewright-plan 1
function quarter
arg x float64 1
result y float64 [x.0]
return y
version "cuda"
require isa cuda-sm_70
temp t float64 [x.0]
call dev_half in "dev" (x, t)
call dev_half in "dev" (t, y)
end
)";

} // namespace tilewright::tests
