// python/native/face/device_types.h: which objects are arrays on a device, and what they say of themselves.
#pragma once

#include <memory>
#include <string>

#include "dsl/base/dtypes.h"
#include "dsl/runtime/cuda/device.h"
#include "dsl/runtime/executor.h"
#include "python/native/face/dlpack.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// What a class of arrays offers; found once for each class.
struct ArrayClass {
    enum class Access { none, ours, exchange, interface, dlpack };
    enum class Library { other, ours, torch, cupy, numba, jax };
    PyTypeObject* type;
    Access access;
    Library library;
    const dlpack::ExchangeApi* api; ///< where there is one
    /// Of PyTorch: the class's descriptors of these, so that no name is looked up at each call.
    PyObject *requires_grad = nullptr, *is_conj = nullptr, *is_neg = nullptr;
    descrgetfunc get_requires_grad = nullptr;
    /// Of a class that offers nothing: the class of those of its objects that have a __cuda_array_interface__ as an
    /// attribute. Null where objects cannot have such attributes.
    const ArrayClass* of_objects = nullptr;
};

/// The class of the array that was seen last; it is never destroyed. The GIL guards it.
inline const ArrayClass* g_latest_class = nullptr;
const ArrayClass* find_array_class(PyObject* object);
/// Null for objects that cannot be arrays on a device, ndarray and its subclasses among them.
inline const ArrayClass* array_class_of(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyArray_Type) return nullptr;
    return g_latest_class && g_latest_class->type == type ? g_latest_class : find_array_class(object);
}

/// An array as its object describes it. Shape and strides may be borrowed from the object.
struct DeviceView {
    static constexpr int kHost = -1;
    const ArrayClass* of = nullptr;
    int device = kHost;
    DType dtype = DType::float64;
    bool has_dtype = false; ///< one that plans know
    bool read_only = false;
    bool has_stream = false; ///< the stream that its data are ready on
    void* stream = nullptr;
    int rank = 0;
    runtime::ArrayView array;
    std::int64_t extents[runtime::kMaxRank], steps[runtime::kMaxRank]; ///< where they are not borrowed
    Ref keep; ///< what has to live until the device is through with the data
};

/// Views in stack memory, which has bytes().
class DeviceViews {
  public:
    static std::size_t bytes(std::size_t count) { return (count + 1) * sizeof(DeviceView); }
    DeviceViews(void* memory, std::size_t count) : views_(static_cast<DeviceView*>(memory)), count_(count) {
        std::uninitialized_default_construct_n(views_, count_);
    }
    ~DeviceViews() { std::destroy_n(views_, count_); }
    DeviceViews(const DeviceViews&) = delete;
    DeviceViews& operator=(const DeviceViews&) = delete;
    DeviceView& operator[](std::size_t i) { return views_[i]; }
    const DeviceView& operator[](std::size_t i) const { return views_[i]; }

  private:
    DeviceView* views_;
    std::size_t count_;
};

/// False with a Python error. `stream`: where an object that asks for one makes its data ready.
bool read_device_array(PyObject* object, const ArrayClass& its_class, void* stream, DeviceView& view);

/// The stream on which the library of the array computes now, in this thread; false where it has no such notion.
/// With a Python error: `failed`.
bool library_stream(const DeviceView& view, void*& stream, bool& failed);

/// 1 names the legacy default stream as null does.
inline void* normal_stream(void* stream) {
    return stream == reinterpret_cast<void*>(1) ? nullptr : stream;
}

/// "torch.Tensor float32[100, 2] on cuda:0", "a NumPy array on the host".
std::string describe_placed(PyObject* object);
std::string device_name(int device);

/// dtype <-> DLPack's.
bool dtype_of(dlpack::DataType type, DType& dtype);
dlpack::DataType dlpack_type(DType dtype);

} // namespace tilewright::face
