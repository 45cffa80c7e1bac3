// python/native/face/device_context.h: `with device("cuda:1", stream=s):`, the place of this thread's calls.
#pragma once

#include <atomic>

#include "dsl/runtime/cuda/device.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

struct DeviceContext {
    runtime::cuda::Place place;
    bool has_stream = false;
};
/// Whether any thread was in a `with device(...)` so far. Most processes never are, and what is a thread's own takes
/// longer to look up.
extern std::atomic<bool> g_had_device_context;
const DeviceContext* device_context_of_thread();
/// Null outside of a `with device(...)`.
inline const DeviceContext* device_context() {
    return g_had_device_context.load(std::memory_order_relaxed) ? device_context_of_thread() : nullptr;
}
/// While it lives, calls of this thread run at `place`, whatever streams their arrays have.
class CallsRunAt {
  public:
    explicit CallsRunAt(const runtime::cuda::Place& place);
    ~CallsRunAt();
    CallsRunAt(const CallsRunAt&) = delete;
    CallsRunAt& operator=(const CallsRunAt&) = delete;

  private:
    DeviceContext own_;
    const DeviceContext* outer_;
};
/// Where a call runs whose arrays have no stream: the context's place, if it is of that device.
runtime::cuda::Place place_on(int device);
/// Of the context, else the first device.
runtime::cuda::Place default_place();

PyObject* make_device_type();
/// The place that "cuda", "cuda:1", None or a `device` object names; a Python error where there is no such device.
bool place_named(PyObject* name, runtime::cuda::Place& place);
/// Python error DeviceError where the device is not there.
bool check_device(int ordinal);

} // namespace tilewright::face
