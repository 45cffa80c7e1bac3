// python/native/face/device_array.cpp: class DeviceArray.
#include "python/native/face/device_array.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "dsl/base/error.h"
#include "dsl/runtime/memory_range.h"
#include "python/native/face/arrays.h"
#include "python/native/face/device_context.h"
#include "python/native/face/device_results.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using runtime::kMaxRank;

struct DeviceArrayObject {
    PyObject_HEAD DeviceMemory* memory;
    void* data;
    std::int64_t shape[kMaxRank], strides[kMaxRank];
    std::int64_t steps[kMaxRank]; ///< strides in elements, as DLPack has them
    int rank;
    DType dtype;
};

PyTypeObject* g_type = nullptr;

DeviceArrayObject* of(PyObject* self) {
    return reinterpret_cast<DeviceArrayObject*>(self);
}

std::int64_t elements_of(const DeviceArrayObject& a) {
    std::int64_t n = 1;
    for (int k = 0; k < a.rank; ++k)
        n *= a.shape[k];
    return n;
}

std::int64_t bytes_of(const DeviceArrayObject& a) {
    return info(a.dtype).bytes;
}

bool is_contiguous(const DeviceArrayObject& a, bool c_order) {
    return runtime::is_contiguous({a.data, a.shape, a.strides}, a.rank, bytes_of(a), c_order);
}

void dealloc(PyObject* self) {
    if (of(self)->memory) of(self)->memory->release();
    free_object(self);
}

PyObject* descr(DType dtype) {
    return reinterpret_cast<PyObject*>(PyArray_DescrFromType(numpy_type(dtype)));
}

// ---- what it says of itself -----------------------------------------------------------------------------------------

PyObject* get_interface(PyObject* self, void*) {
    const DeviceArrayObject& a = *of(self);
    const Ref type(descr(a.dtype)), shape = tuple_of(a.shape, a.rank);
    Ref typestr(type ? PyObject_GetAttrString(type.get(), "str") : nullptr);
    Ref strides = is_contiguous(a, true) ? Ref::borrowed(Py_None) : tuple_of(a.strides, a.rank);
    Ref pointer(PyLong_FromVoidPtr(a.data));
    // 0 stands for no stream at all; the legacy default stream is 1.
    void* stream = a.memory->place().stream;
    Ref handle(PyLong_FromVoidPtr(stream ? stream : reinterpret_cast<void*>(1)));
    if (!shape || !typestr || !strides || !pointer || !handle) return nullptr;
    return Py_BuildValue("{sOsOsOs(OO)sOsi}", "shape", shape.get(), "typestr", typestr.get(), "strides", strides.get(),
                         "data", pointer.get(), Py_False, "stream", handle.get(), "version", 3);
}

PyObject* repr(PyObject* self) {
    const DeviceArrayObject& a = *of(self);
    const Ref shape = tuple_of(a.shape, a.rank);
    return shape ? PyUnicode_FromFormat("DeviceArray(%s, shape=%R, device='cuda:%d')",
                                        std::string(info(a.dtype).name).c_str(), shape.get(), a.memory->place().device)
                 : nullptr;
}

// ---- parts ----------------------------------------------------------------------------------------------------------

Py_ssize_t length(PyObject* self) {
    if (of(self)->rank > 0) return static_cast<Py_ssize_t>(of(self)->shape[0]);
    PyErr_SetString(PyExc_TypeError, "len() of a DeviceArray of no dimensions.");
    return -1;
}

bool is_index(PyObject* key) {
    return PyIndex_Check(key) && !PyBool_Check(key) && !PyArray_Check(key);
}

PyObject* item(PyObject* self, PyObject* key) {
    const DeviceArrayObject& a = *of(self);
    Ref keys(PyTuple_Check(key) ? Py_NewRef(key) : PyTuple_Pack(1, key));
    if (!keys) return nullptr;
    const Py_ssize_t count = PyTuple_Size(keys.get());
    int used = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* one = PyTuple_GetItem(keys.get(), i);
        if (one == Py_Ellipsis)
            ++ellipses;
        else if (is_index(one) || PySlice_Check(one))
            ++used;
        else if (one != Py_None)
            return PyErr_Format(
                PyExc_TypeError,
                "DeviceArray: an index of type %s. It takes integers, slices, ... and None, which give views; "
                "copy_to_host() gives an array that takes the others.",
                describe(one).c_str());
    }
    if (used > a.rank || ellipses > 1)
        return PyErr_Format(PyExc_IndexError, "DeviceArray: %d indices%s for %d dimensions.", used,
                            ellipses > 1 ? " and more than one ..." : "", a.rank);
    std::int64_t shape[kMaxRank + 1], strides[kMaxRank + 1];
    int rank = 0, axis = 0;
    char* data = static_cast<char*>(a.data);
    auto put = [&](std::int64_t extent, std::int64_t stride) {
        if (rank == kMaxRank) return false;
        shape[rank] = extent;
        strides[rank++] = stride;
        return true;
    };
    bool fits = true, seen = false;
    for (Py_ssize_t i = 0; i <= count && fits; ++i) {
        PyObject* one = i < count ? PyTuple_GetItem(keys.get(), i) : Py_Ellipsis;
        if (one == Py_Ellipsis) {
            if (seen) continue; // the one that stands behind every key, where there was one before
            seen = true;
            for (int rest = a.rank - used; rest > 0 && fits; --rest, ++axis)
                fits = put(a.shape[axis], a.strides[axis]);
        } else if (one == Py_None) {
            fits = put(1, 0);
        } else if (PySlice_Check(one)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(one, &start, &stop, &step) < 0) return nullptr;
            Py_ssize_t extent = PySlice_AdjustIndices(static_cast<Py_ssize_t>(a.shape[axis]), &start, &stop, step);
            if (extent > 0) data += start * a.strides[axis];
            fits = put(extent, a.strides[axis] * step);
            ++axis;
        } else {
            Py_ssize_t index = PyNumber_AsSsize_t(one, PyExc_IndexError);
            if (index == -1 && PyErr_Occurred()) return nullptr;
            Py_ssize_t at = index < 0 ? index + static_cast<Py_ssize_t>(a.shape[axis]) : index;
            if (at < 0 || at >= a.shape[axis])
                return PyErr_Format(PyExc_IndexError, "index %zd is out of bounds for axis %d with size %lld", index,
                                    axis, static_cast<long long>(a.shape[axis]));
            data += at * a.strides[axis++];
        }
    }
    if (!fits) return PyErr_Format(PyExc_IndexError, "DeviceArray: more than %d dimensions.", kMaxRank);
    a.memory->retain();
    return new_device_array(a.memory, data, a.dtype, rank, shape, strides);
}

int truth(PyObject*) {
    PyErr_SetString(PyExc_TypeError, "the truth of a DeviceArray would have to be copied from the device. Ask its "
                                     "copy_to_host().");
    return -1;
}

/// Identity would be an answer that nobody asked for. Lists and dictionaries see the same object before they ask.
PyObject* compare(PyObject*, PyObject*, int) {
    return PyErr_Format(
        PyExc_TypeError,
        "DeviceArrays are not compared here. Compare in a compiled function, their copy_to_host(), or the "
        "objects: `is`.");
}

Py_hash_t hash(PyObject* self) {
    return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(self) >> 4);
}

// ---- to the host ----------------------------------------------------------------------------------------------------

/// Copies with the GIL released. False with a Python error.
bool copy_bytes_to_host(const cuda::Place& place, void* to, const void* from, std::size_t bytes) {
    return bytes == 0 || without_gil([&] { cuda::copy_to_host(place, to, from, bytes); });
}

PyObject* copy_to_host(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"out", nullptr};
    DeviceArrayObject& a = *of(self);
    PyObject* out = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:copy_to_host", const_cast<char**>(kNames), &out)) return nullptr;
    auto* given = numpy_array(out);
    if (out != Py_None) {
        DType dtype;
        const bool fits = PyArray_Check(out) && dtype_of(given, dtype) && dtype == a.dtype &&
                          PyArray_NDIM(given) == a.rank && std::equal(a.shape, a.shape + a.rank, PyArray_DIMS(given));
        if (!fits)
            return PyErr_Format(PyExc_ValueError, "copy_to_host: out is %s, but the array is %R.",
                                describe(out).c_str(), self);
        if (PyArray_FailUnlessWriteable(given, "out") != 0) return nullptr;
    }
    const bool c_order = is_contiguous(a, true), f_order = is_contiguous(a, false);
    const runtime::MemoryRange range = runtime::memory_of({a.data, a.shape, a.strides}, a.rank, bytes_of(a));
    npy_intp span = range.high - range.low;
    const auto new_array = [&](const npy_intp* strides, char* data, int flags) {
        return Ref(PyArray_New(&PyArray_Type, a.rank, a.shape, numpy_type(a.dtype), strides, data, 0, flags, nullptr));
    };
    Ref copied, memory;
    char* to = nullptr;
    if (c_order || f_order) {
        const bool direct =
            out != Py_None && (c_order ? PyArray_IS_C_CONTIGUOUS(given) : PyArray_IS_F_CONTIGUOUS(given));
        copied = direct ? Ref::borrowed(out) : new_array(nullptr, nullptr, c_order ? 0 : NPY_ARRAY_F_CONTIGUOUS);
        if (copied) to = PyArray_BYTES(numpy_array(copied.get()));
    } else {
        // A view with gaps: all between its ends is copied, and looked at with its strides.
        memory = Ref(PyArray_SimpleNew(1, &span, NPY_UINT8));
        if (!memory) return nullptr;
        to = PyArray_BYTES(numpy_array(memory.get()));
        char* first = to + (static_cast<char*>(a.data) - reinterpret_cast<char*>(range.low));
        copied = new_array(a.strides, first, NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE);
    }
    const bool is_copied = copied && copy_bytes_to_host(a.memory->place(), to, reinterpret_cast<void*>(range.low),
                                                        static_cast<std::size_t>(span));
    if (!is_copied) return nullptr;
    if (out == Py_None) return memory ? PyArray_NewCopy(numpy_array(copied.get()), NPY_CORDER) : copied.release();
    if (copied.get() != out && PyArray_CopyInto(given, numpy_array(copied.get())) != 0) return nullptr;
    return Py_NewRef(out);
}

PyObject* refuse_array(PyObject*, PyObject*, PyObject*) {
    return PyErr_Format(PyExc_TypeError,
                        "a DeviceArray becomes a NumPy array where that is asked for: use copy_to_host().");
}

PyObject* refuse_pickling(PyObject*, PyObject*) {
    return PyErr_Format(PyExc_TypeError,
                        "a DeviceArray cannot be pickled: its memory is on a device. Pickle its copy_to_host().");
}

// ---- DLPack ---------------------------------------------------------------------------------------------------------

template <typename Managed> struct Exported {
    Managed managed;
    DeviceMemory* memory;
    std::int64_t shape[kMaxRank], strides[kMaxRank];
};

template <typename Managed> Managed* export_array(DeviceArrayObject& a) {
    auto* e = new Exported<Managed>{};
    e->memory = a.memory;
    a.memory->retain();
    for (int k = 0; k < a.rank; ++k) {
        e->shape[k] = a.shape[k];
        e->strides[k] = a.steps[k];
    }
    dlpack::Tensor& t = e->managed.tensor;
    t.data = a.data;
    t.device = {dlpack::kCuda, a.memory->place().device};
    t.rank = a.rank;
    t.dtype = dlpack_type(a.dtype);
    t.shape = e->shape;
    t.strides = e->strides;
    e->managed.context = e;
    e->managed.deleter = [](Managed* self) { // of any thread, with the GIL or without
        auto* exported = static_cast<Exported<Managed>*>(self->context);
        exported->memory->release();
        delete exported;
    };
    return &e->managed;
}

dlpack::ManagedTensorVersioned* export_versioned(DeviceArrayObject& a) {
    auto* managed = export_array<dlpack::ManagedTensorVersioned>(a);
    managed->version = {1, 1};
    return managed;
}

template <typename Managed> void drop_capsule(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return; // consumed: renamed
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
}

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(kNames), &stream, &version,
                                     &device, &copy))
        return nullptr;
    DeviceArrayObject& a = *of(self);
    if (copy == Py_True)
        return PyErr_Format(PyExc_BufferError, "DeviceArray: DLPack shares its memory, and makes no copy.");
    if (device != Py_None) {
        int kind = 0, id = 0;
        if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &kind, &id))
            return PyErr_Format(
                PyExc_TypeError,
                "DeviceArray.__dlpack__: dl_device is %R, but it is None or a tuple of two integers: (2, 0) is "
                "cuda:0.",
                device);
        if (kind != dlpack::kCuda || id != a.memory->place().device)
            return PyErr_Format(PyExc_BufferError,
                                "DeviceArray: it is on cuda:%d, and DLPack does not move it. Use "
                                "copy_to_host(), then to_device().",
                                a.memory->place().device);
    }
    long long handle = stream == Py_None ? 1 : PyLong_AsLongLong(stream);
    if (handle == -1 && PyErr_Occurred())
        return PyErr_Format(
            PyExc_TypeError,
            "DeviceArray.__dlpack__: stream is %R, but it is None, -1, 1, 2 or the address of a CUDA stream, an "
            "int.",
            stream);
    if (handle != -1) { // -1: the caller takes care of the order
        void* consumer = normal_stream(reinterpret_cast<void*>(handle));
        const bool is_ready = or_python_error([&] {
            const cuda::Place& place = a.memory->place();
            if (consumer != place.stream) cuda::wait_for({place.device, consumer}, place);
            a.memory->note_consumer(consumer);
            return true;
        });
        if (!is_ready) return nullptr;
    }
    long major = 0;
    if (version != Py_None) {
        major = PyTuple_Check(version) && PyTuple_Size(version) > 0 ? PyLong_AsLong(PyTuple_GetItem(version, 0)) : 0;
        if (PyErr_Occurred()) return nullptr;
    }
    if (major >= 1)
        return PyCapsule_New(export_versioned(a), dlpack::kVersionedCapsule, [](PyObject* capsule) {
            drop_capsule<dlpack::ManagedTensorVersioned>(capsule, dlpack::kVersionedCapsule);
        });
    return PyCapsule_New(export_array<dlpack::ManagedTensor>(a), dlpack::kCapsule,
                         [](PyObject* capsule) { drop_capsule<dlpack::ManagedTensor>(capsule, dlpack::kCapsule); });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
    return Py_BuildValue("(ii)", static_cast<int>(dlpack::kCuda), of(self)->memory->place().device);
}

/// The Python error as the table's caller takes it: by its name and its text.
void tell_error(void* context, void (*set_error)(void*, const char*, const char*)) {
    const bool is_memory = PyErr_ExceptionMatches(PyExc_MemoryError),
               is_device = PyErr_ExceptionMatches(g_device_error);
    const Ref value = taken_error();
    Ref text(value ? PyObject_Str(value.get()) : nullptr);
    const char* message = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
    PyErr_Clear();
    set_error(context,
              is_memory   ? "MemoryError"
              : is_device ? "DeviceError"
                          : "RuntimeError",
              message && *message ? message : "DeviceArray: out of memory.");
}

/// What other libraries (and exported modules, which have their own face) call without Python.
dlpack::ExchangeApi g_exchange = {
    {1, 3},
    nullptr,
    [](dlpack::Tensor* prototype, dlpack::ManagedTensorVersioned** out, void* context,
       void (*set_error)(void*, const char*, const char*)) {
        DType dtype;
        std::int64_t elements = 1;
        for (int k = 0; k < prototype->rank; ++k)
            elements *= prototype->shape[k];
        if (prototype->rank > kMaxRank || !dtype_of(prototype->dtype, dtype)) {
            set_error(context, "TypeError", "DeviceArray: no such dtype or rank.");
            return -1;
        }
        Ref made(new_device_array(place_on(prototype->device.id), dtype, prototype->rank, prototype->shape, elements));
        if (!made) {
            tell_error(context, set_error);
            return -1;
        }
        *out = export_versioned(*of(made.get()));
        return 0;
    },
    [](void* object, dlpack::ManagedTensorVersioned** out) {
        *out = export_versioned(*of(static_cast<PyObject*>(object)));
        return 0;
    },
    [](dlpack::ManagedTensorVersioned* managed, void** out) {
        const dlpack::Tensor& t = managed->tensor;
        auto* exported = static_cast<Exported<dlpack::ManagedTensorVersioned>*>(managed->context);
        DType dtype;
        if (!dtype_of(t.dtype, dtype) || managed->context != static_cast<void*>(managed)) {
            PyErr_SetString(PyExc_TypeError, "a DeviceArray is made of tensors of its own library alone.");
            return -1;
        }
        std::int64_t strides[kMaxRank];
        for (int k = 0; k < t.rank; ++k)
            strides[k] = t.strides[k] * info(dtype).bytes;
        exported->memory->retain();
        *out = new_device_array(exported->memory, t.data, dtype, t.rank, t.shape, strides);
        if (*out) managed->deleter(managed);
        return *out ? 0 : -1;
    },
    [](void* object, dlpack::Tensor* out) {
        DeviceArrayObject& a = *of(static_cast<PyObject*>(object));
        *out = {a.data, {dlpack::kCuda, a.memory->place().device}, a.rank, dlpack_type(a.dtype), a.shape, a.steps, 0};
        return 0;
    },
    [](std::int32_t, std::int32_t device, void** out) {
        *out = place_on(device).stream;
        return 0;
    }};

} // namespace

DeviceMemory* DeviceMemory::make(const cuda::Place& place, std::int64_t bytes) {
    DeviceMemory* memory = borrow(place, nullptr);
    if (!memory) return nullptr;
    memory->is_borrowed_ = false;
    const bool is_asked = or_python_error([&] {
        memory->pointer_ = cuda::allocate(place, static_cast<std::size_t>(bytes > 0 ? bytes : 1));
        return true;
    });
    if (memory->pointer_) return memory;
    delete memory;
    if (is_asked)
        PyErr_Format(PyExc_MemoryError,
                     "cuda:%d: no %lld bytes of device memory are left. Free arrays, or work with fewer elements.%s",
                     place.device, static_cast<long long>(bytes), unused_memory_of_libraries(place.device).c_str());
    return nullptr;
}

DeviceMemory* DeviceMemory::borrow(const cuda::Place& place, void* pointer) {
    auto* memory = new (std::nothrow) DeviceMemory;
    if (!memory) return PyErr_NoMemory(), nullptr;
    memory->place_ = place;
    memory->pointer_ = pointer;
    memory->is_borrowed_ = true;
    return memory;
}

void DeviceMemory::release() noexcept {
    if (__atomic_sub_fetch(&references_, 1, __ATOMIC_ACQ_REL) > 0) return;
    try {
        if (is_lent_) cuda::wait_for(place_, {place_.device, consumer_});
    } catch (...) { // a lost device: nothing uses the memory any more
    }
    if (!is_borrowed_) cuda::release(place_, pointer_);
    delete this;
}

void DeviceMemory::use_on(void* stream) {
    if (stream == place_.stream) return;
    cuda::wait_for({place_.device, stream}, place_);
    place_.stream = stream;
}

PyTypeObject* device_array_type() {
    return g_type;
}

PyObject* new_device_array(DeviceMemory* memory, void* data, DType dtype, int rank, const std::int64_t* shape,
                           const std::int64_t* strides) {
    static const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(g_type, Py_tp_alloc));
    PyObject* self = allocate(g_type, 0);
    if (!self) {
        memory->release();
        return nullptr;
    }
    DeviceArrayObject& a = *of(self);
    a.memory = memory;
    a.data = data;
    a.dtype = dtype;
    a.rank = rank;
    std::int64_t step = info(dtype).bytes;
    for (int k = rank - 1; k >= 0; --k) {
        a.shape[k] = shape[k];
        a.strides[k] = strides ? strides[k] : step;
        a.steps[k] = a.strides[k] / info(dtype).bytes;
        step *= shape[k] > 0 ? shape[k] : 1;
    }
    return self;
}

PyObject* new_device_array(const cuda::Place& place, DType dtype, int rank, const std::int64_t* shape,
                           std::int64_t elements) {
    DeviceMemory* memory = DeviceMemory::make(place, elements * info(dtype).bytes);
    return memory ? new_device_array(memory, memory->pointer(), dtype, rank, shape, nullptr) : nullptr;
}

void view_device_array(PyObject* object, DeviceView& view) {
    const DeviceArrayObject& a = *of(object);
    view.device = a.memory->place().device;
    view.dtype = a.dtype;
    view.has_dtype = true;
    view.rank = a.rank;
    view.array = {a.data, a.shape, a.strides};
}

DeviceMemory* memory_of_device_array(PyObject* object) {
    return Py_TYPE(object) == g_type ? of(object)->memory : nullptr;
}

PyObject* device_copy_of(PyArrayObject* array, DType dtype, const cuda::Place& place) {
    const std::int64_t bytes = static_cast<std::int64_t>(PyArray_SIZE(array)) * info(dtype).bytes;
    DeviceMemory* memory = DeviceMemory::make(place, bytes);
    if (!memory) return nullptr;
    const auto copy = [&] {
        cuda::copy_to_device(place, memory->pointer(), PyArray_DATA(array), static_cast<std::size_t>(bytes));
    };
    if (bytes > 0 && !without_gil(copy)) {
        memory->release();
        return nullptr;
    }
    return new_device_array(memory, memory->pointer(), dtype, PyArray_NDIM(array), PyArray_DIMS(array),
                            PyArray_IS_C_CONTIGUOUS(array) ? nullptr : PyArray_STRIDES(array));
}

PyObject* host_copy(PyObject* object) {
    const ArrayClass* its_class = array_class_of(object);
    DeviceView view;
    cuda::Place place = default_place();
    if (its_class && !read_device_array(object, *its_class, place.stream, view)) return nullptr;
    if (view.device == DeviceView::kHost || !view.has_dtype)
        return PyErr_Format(PyExc_TypeError,
                            "host_copy: %s is not an array on a device with a dtype that kernels know.",
                            describe_placed(object).c_str());
    place = place_on(view.device);
    void* stream = nullptr;
    bool failed = false;
    if (library_stream(view, stream, failed)) place.stream = stream;
    if (failed) return nullptr;
    DeviceMemory* memory = memory_of_device_array(object);
    if (memory)
        memory->retain();
    else
        memory = DeviceMemory::borrow(place, view.array.data);
    if (!memory) return nullptr;
    Ref array(new_device_array(memory, view.array.data, view.dtype, view.rank, view.array.shape, view.array.strides));
    Ref none(PyTuple_New(0));
    return array && none ? copy_to_host(array.get(), none.get(), nullptr) : nullptr;
}

PyObject* to_device(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"array", "device", nullptr};
    PyObject *given = nullptr, *name = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:to_device", const_cast<char**>(kNames), &given, &name))
        return nullptr;
    cuda::Place place;
    if (!place_named(name, place)) return nullptr;
    if (array_class_of(given)) {
        DeviceView view;
        if (!read_device_array(given, *array_class_of(given), place.stream, view)) return nullptr;
        if (view.device != DeviceView::kHost)
            return PyErr_Format(PyExc_TypeError, "to_device: array is %s already. Calls take it as it is.",
                                describe_placed(given).c_str());
    }
    Ref array = as_array(given, "to_device", "array");
    if (!array) return nullptr;
    DType dtype;
    auto* numpy = numpy_array(array.get());
    if (!dtype_of(numpy, dtype) || PyArray_NDIM(numpy) > kMaxRank)
        return PyErr_Format(PyExc_TypeError, "to_device: array is %s, which kernels do not know.",
                            describe(given).c_str());
    if (!PyArray_ISNBO(PyArray_DESCR(numpy)->byteorder) || !PyArray_ISALIGNED(numpy) ||
        !(PyArray_IS_C_CONTIGUOUS(numpy) || PyArray_IS_F_CONTIGUOUS(numpy))) {
        PyArray_Descr* native = PyArray_DescrFromType(numpy_type(dtype));
        array = Ref(PyArray_FromAny(array.get(), native, 0, 0, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_ENSURECOPY, nullptr));
        if (!array) return nullptr;
        numpy = numpy_array(array.get());
    }
    PyObject* copy = device_copy_of(numpy, dtype, place);
    if (!copy) name_memory_error("to_device");
    return copy;
}

bool is_out_of_device_memory(const std::string& text) {
    return text.find("CUDA_ERROR_OUT_OF_MEMORY") != std::string::npos;
}

void set_error(PyObject* type, std::string_view text) {
    const Ref words(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    if (words) PyErr_SetObject(type, words.get());
}

void set_device_error(const std::string& text) {
    set_error(is_out_of_device_memory(text) ? PyExc_MemoryError : g_device_error, text);
}

bool is_of_a_handler() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback) PyException_SetTraceback(value, traceback);
    const Ref name(PyUnicode_FromString("tilewright.failed_traces"));
    const Ref module(name && value ? PyImport_GetModule(name.get()) : nullptr);
    const Ref found(module ? PyObject_CallMethod(module.get(), "is_of_a_handler", "O", value) : nullptr);
    const bool is_found = found && PyObject_IsTrue(found.get()) == 1;
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is_found;
}

void name_memory_error(const std::string& function) {
    if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_MemoryError)) return;
    const Ref value = taken_error();
    Ref text(value ? PyObject_Str(value.get()) : nullptr);
    PyErr_Clear();
    const bool says_something = text && PyUnicode_GetLength(text.get()) > 0;
    PyErr_Format(PyExc_MemoryError, says_something ? "%s: %U" : "%s: out of memory.", function.c_str(), text.get());
}

bool without_gil(const std::function<void()>& body) {
    std::string failed;
    PyThreadState* state = PyEval_SaveThread();
    try {
        body();
    } catch (const std::exception& e) {
        failed = e.what();
    }
    PyEval_RestoreThread(state);
    if (!failed.empty()) set_device_error(failed);
    return failed.empty();
}

void raise_current_exception() {
    try {
        throw;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const DeviceError& e) {
        set_device_error(e.what());
    } catch (const std::exception& e) {
        set_error(PyExc_RuntimeError, e.what());
    }
}

PyObject* make_device_array_type() {
    static PyMethodDef methods[] = {
        {"copy_to_host", with_keywords(copy_to_host), METH_VARARGS | METH_KEYWORDS,
         "copy_to_host($self, out=None)\n--\n\nThe elements as a NumPy array; waits for what computes them."},
        {"__dlpack__", with_keywords(to_dlpack), METH_VARARGS | METH_KEYWORDS,
         "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
         "A DLPack capsule of the same memory, which `stream` may use when this array is computed."},
        {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
        {"__array__", with_keywords(refuse_array), METH_VARARGS | METH_KEYWORDS, nullptr},
        {"__reduce_ex__", refuse_pickling, METH_VARARGS, nullptr},
        {}};
    static PyGetSetDef getters[] = {
        {"shape", [](PyObject* self, void*) { return tuple_of(of(self)->shape, of(self)->rank).release(); }},
        {"strides", [](PyObject* self, void*) { return tuple_of(of(self)->strides, of(self)->rank).release(); },
         nullptr, "In bytes, as NumPy's."},
        {"dtype", [](PyObject* self, void*) { return descr(of(self)->dtype); }},
        {"ndim", [](PyObject* self, void*) { return PyLong_FromLong(of(self)->rank); }},
        {"size", [](PyObject* self, void*) { return PyLong_FromLongLong(elements_of(*of(self))); }},
        {"itemsize", [](PyObject* self, void*) { return PyLong_FromLongLong(bytes_of(*of(self))); }},
        {"nbytes",
         [](PyObject* self, void*) { return PyLong_FromLongLong(elements_of(*of(self)) * bytes_of(*of(self))); }},
        {"device",
         [](PyObject* self, void*) { return PyUnicode_FromFormat("cuda:%d", of(self)->memory->place().device); },
         nullptr, "'cuda:0'"},
        {"pointer", [](PyObject* self, void*) { return PyLong_FromVoidPtr(of(self)->data); }, nullptr,
         "The address of the first element on the device."},
        {"__cuda_array_interface__", get_interface},
        {}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
        {Py_tp_repr, reinterpret_cast<void*>(repr)},
        {Py_tp_methods, methods},
        {Py_tp_getset, getters},
        {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
        {Py_tp_hash, reinterpret_cast<void*>(hash)},
        {Py_mp_length, reinterpret_cast<void*>(length)},
        {Py_mp_subscript, reinterpret_cast<void*>(item)},
        {Py_nb_bool, reinterpret_cast<void*>(truth)},
        {Py_tp_doc,
         const_cast<char*>("An array on a CUDA device: to_device() makes it of a NumPy array, and calls give "
                           "it back for it. copy_to_host() reads it.")},
        {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.DeviceArray", sizeof(DeviceArrayObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    if (!g_type) {
        g_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
        Ref capsule(g_type ? PyCapsule_New(&g_exchange, dlpack::kExchangeCapsule, nullptr) : nullptr);
        auto* type = reinterpret_cast<PyObject*>(g_type);
        // Ufuncs of NumPy refuse it with a TypeError, where they would make an object array of it.
        if (!capsule || PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule.get()) != 0 ||
            PyObject_SetAttrString(type, "__array_ufunc__", Py_None) != 0)
            return nullptr;
    }
    return Py_XNewRef(reinterpret_cast<PyObject*>(g_type));
}

} // namespace tilewright::face
