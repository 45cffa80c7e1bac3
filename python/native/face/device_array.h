// python/native/face/device_array.h: DeviceArray, our own array on a device.
#pragma once

#include <functional>

#include "python/native/face/device_types.h"

namespace tilewright::face {

/// Memory of one device with references of arrays and of DLPack consumers, which may live on other threads.
class DeviceMemory {
  public:
    /// Null with a Python error: MemoryError, DeviceError.
    static DeviceMemory* make(const runtime::cuda::Place& place, std::int64_t bytes);
    /// Memory of somebody who keeps it for as long as this is used.
    static DeviceMemory* borrow(const runtime::cuda::Place& place, void* pointer);
    void retain() { __atomic_add_fetch(&references_, 1, __ATOMIC_RELAXED); }
    void release() noexcept;

    void* pointer() const { return pointer_; }
    const runtime::cuda::Place& place() const { return place_; }
    /// From here on the memory is used on `stream`, behind what is on the stream that used it before.
    void use_on(void* stream);
    /// A library asked for it on its own stream.
    void note_consumer(void* stream) { consumer_ = stream; }
    /// That library says when it is done queueing, not when it is done: the memory waits for its stream before it is
    /// used again.
    void lend() { is_lent_ = true; }

  private:
    DeviceMemory() = default;
    long references_ = 1;
    runtime::cuda::Place place_;
    void* pointer_ = nullptr;
    void* consumer_ = nullptr;
    bool is_lent_ = false;
    bool is_borrowed_ = false;
};

PyTypeObject* device_array_type();
/// Null with a Python error.
PyObject* make_device_array_type();

/// Takes over a reference to the memory; strides in bytes, null for C order. Null with a Python error.
PyObject* new_device_array(DeviceMemory* memory, void* data, DType dtype, int rank, const std::int64_t* shape,
                           const std::int64_t* strides);
/// A new C-contiguous one of uninitialised memory.
PyObject* new_device_array(const runtime::cuda::Place& place, DType dtype, int rank, const std::int64_t* shape,
                           std::int64_t elements);
void view_device_array(PyObject* object, DeviceView& view);
/// Null for other objects.
DeviceMemory* memory_of_device_array(PyObject* object);
/// A copy of a NumPy array whose elements lie C- or Fortran-contiguous.
PyObject* device_copy_of(PyArrayObject* array, DType dtype, const runtime::cuda::Place& place);

/// A NumPy array with the elements of an array on a device, of whatever library. Null with a Python error.
PyObject* host_copy(PyObject* object);

/// to_device(array, device="cuda").
PyObject* to_device(PyObject* module, PyObject* args, PyObject* kwargs);

/// Sets the Python error for a C++ exception that is being handled: DeviceError for ours.
void raise_current_exception();

/// What `body` gives; where it throws, false or null with a Python error.
template <class Body> auto or_python_error(Body&& body) -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        raise_current_exception();
        return {};
    }
}

/// Runs it with the GIL released. False with a DeviceError or MemoryError where it throws.
bool without_gil(const std::function<void()>& body);

} // namespace tilewright::face
