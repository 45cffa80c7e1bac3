// python/native/face/device_results.cpp: results as arrays of PyTorch, CuPy, Numba, JAX, or our own.
#include "python/native/face/device_results.h"

#include <algorithm>
#include <cstring>

#include "dsl/runtime/cuda/captures.h"
#include "python/native/face/arrays.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/recycled_memory.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;
using Library = ArrayClass::Library;

bool from_table(const ArrayClass& like, const cuda::Place& place, DType dtype, int rank, const std::int64_t* shape,
                DeviceResult& result) {
    std::int64_t extents[runtime::kMaxRank];
    std::copy_n(shape, rank, extents);
    dlpack::ManagedTensorVersioned* made = allocate(*like.api, place.device, rank, dlpack_type(dtype), extents);
    if (!made) return false;
    result.data = static_cast<char*>(made->tensor.data) + made->tensor.byte_offset;
    void* object = nullptr;
    if (like.api->object_from_managed(made, &object) != 0) {
        if (made->deleter) made->deleter(made);
        return false;
    }
    result.object = Ref(static_cast<PyObject*>(object));
    return true;
}

Ref cupy_empty(PyObject* shape, PyObject* dtype) {
    static PyObject* empty = nullptr;
    if (!kept_attribute(empty, "cupy", "empty")) return Ref();
    const cuda::OutsideOfCaptures outside; // CuPy asks the driver for memory whatever is captured
    return Ref(PyObject_CallFunctionObjArgs(empty, shape, dtype, nullptr));
}

bool from_cupy(const cuda::Place& place, DType dtype, int rank, const std::int64_t* shape, DeviceResult& result) {
    static PyObject* const data = PyUnicode_InternFromString("data");
    static PyObject* const ptr = PyUnicode_InternFromString("ptr");
    static PyObject* const device_id = PyUnicode_InternFromString("device_id");
    const Ref extents = tuple_of(shape, rank);
    Ref type(reinterpret_cast<PyObject*>(PyArray_DescrFromType(numpy_type(dtype))));
    if (!extents || !type) return false;
    auto take = [&](Ref made) {
        Ref memory(made ? PyObject_GetAttr(made.get(), data) : nullptr);
        Ref pointer(memory ? PyObject_GetAttr(memory.get(), ptr) : nullptr);
        Ref device(memory ? PyObject_GetAttr(memory.get(), device_id) : nullptr);
        if (!pointer || !device) return -1L;
        result.data = PyLong_AsVoidPtr(pointer.get());
        result.object = std::move(made);
        return PyLong_AsLong(device.get());
    };
    long device = take(cupy_empty(extents.get(), type.get()));
    if (device == place.device || PyErr_Occurred()) return !PyErr_Occurred();
    // CuPy allocates on its current device: that of the arguments is entered for once.
    static PyObject* device_class = nullptr;
    if (!kept_attribute(device_class, "cupy.cuda", "Device")) return false;
    Ref wanted(PyObject_CallFunction(device_class, "i", place.device));
    Ref entered(wanted ? PyObject_CallMethod(wanted.get(), "__enter__", nullptr) : nullptr);
    if (!entered) return false;
    Ref made = cupy_empty(extents.get(), type.get());
    PyObject *error = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&error, &value, &traceback);
    Ref left(PyObject_CallMethod(wanted.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    if (error) PyErr_Restore(error, value, traceback);
    return made && left && take(std::move(made)) >= 0 && !PyErr_Occurred();
}

} // namespace

dlpack::ManagedTensorVersioned* allocate(const dlpack::ExchangeApi& api, int device, int rank, dlpack::DataType dtype,
                                         std::int64_t* shape) {
    dlpack::Tensor prototype{};
    prototype.device = {dlpack::kCuda, device};
    prototype.rank = rank;
    prototype.dtype = dtype;
    prototype.shape = shape;
    dlpack::ManagedTensorVersioned* made = nullptr;
    const auto tell = [](void*, const char* kind, const char* message) {
        const bool is_memory =
            std::strcmp(kind, "MemoryError") == 0 || std::strstr(message, "out of memory") != nullptr;
        const bool is_device = std::strcmp(kind, "DeviceError") == 0; // our own table's
        set_error(is_memory ? PyExc_MemoryError : is_device ? g_device_error : PyExc_RuntimeError, message);
    };
    if (api.allocate(&prototype, &made, nullptr, tell) == 0) return made;
    if (!PyErr_Occurred()) PyErr_NoMemory();
    return nullptr;
}

namespace {

bool make_result_like(const ResultPlace& at, DType dtype, int rank, const std::int64_t* shape, std::int64_t elements,
                      DeviceResult& result) {
    const ArrayClass& like = at.like;
    const cuda::Place& place = at.place;
    if (at.is_library_stream) {
        result.object = recycled_array(like, place, dtype, rank, shape, elements, result.data);
        if (result.object) return true;
        if (PyErr_Occurred()) return false;
    }
    if (like.api) return from_table(like, place, dtype, rank, shape, result);
    if (like.library == Library::cupy) return from_cupy(place, dtype, rank, shape, result);
    result.object = Ref(new_device_array(place, dtype, rank, shape, elements));
    if (result.object) result.data = memory_of_device_array(result.object.get())->pointer();
    return static_cast<bool>(result.object);
}

/// What our pool keeps, and the recycled blocks, goes back to the device, whose memory another library misses. False
/// where there is nothing, or a capture does not allow it. The Python error stays as it is.
bool give_back_for(const cuda::Place& place) {
    const KeptError kept;
    bool gave = false;
    try {
        if (!cuda::is_captured(place)) {
            drop_recycled();
            gave = cuda::trim_device_pool(place.device) > 0;
        }
    } catch (const std::exception&) { // the library's own error says enough
    }
    return gave;
}

/// A number that `owner.name(argument)` gives; 0 where it gives none. No Python error is left.
long long asked(PyObject* owner, const char* name, PyObject* argument) {
    Ref method(owner ? PyObject_GetAttrString(owner, name) : nullptr);
    Ref answer(method ? PyObject_CallFunctionObjArgs(method.get(), argument, nullptr) : nullptr);
    const long long number = answer ? PyLong_AsLongLong(answer.get()) : 0;
    if (PyErr_Occurred()) return PyErr_Clear(), 0;
    return number;
}

Ref imported(const char* name) {
    Ref key(PyUnicode_FromString(name));
    Ref module(key ? PyImport_GetModule(key.get()) : nullptr);
    PyErr_Clear();
    return module;
}

std::string is_kept_text(const char* library, long long bytes, const char* how) {
    if (bytes <= 0) return {};
    return std::string(" ") + library + " keeps " + std::to_string(bytes) + " bytes that no array of its uses: " + how +
           " gives them back.";
}

} // namespace

std::string unused_memory_of_libraries(int device) {
    Ref ordinal(PyLong_FromLong(device)), torch = imported("torch"), cupy = imported("cupy");
    const Ref torch_cuda = attribute_or_nothing(torch.get(), "cuda");
    std::string text;
    if (asked(torch_cuda.get(), "is_initialized", nullptr))
        text += is_kept_text("PyTorch",
                             asked(torch_cuda.get(), "memory_reserved", ordinal.get()) -
                                 asked(torch_cuda.get(), "memory_allocated", ordinal.get()),
                             "torch.cuda.empty_cache()");
    Ref pool(cupy ? PyObject_CallMethod(cupy.get(), "get_default_memory_pool", nullptr) : nullptr);
    PyErr_Clear();
    return text + is_kept_text("CuPy", asked(pool.get(), "free_bytes", nullptr),
                               "cupy.get_default_memory_pool().free_all_blocks()");
}

bool new_result_like(const ResultPlace& at, DType dtype, int rank, const std::int64_t* shape, std::int64_t elements,
                     DeviceResult& result) {
    if (make_result_like(at, dtype, rank, shape, elements, result)) return true;
    if (!PyErr_ExceptionMatches(PyExc_MemoryError) || !give_back_for(at.place)) return false;
    PyErr_Clear();
    return make_result_like(at, dtype, rank, shape, elements, result);
}

Ref hand_over(const ArrayClass& like, Ref made) {
    if (!memory_of_device_array(made.get())) return made;
    if (like.library == Library::numba) {
        static PyObject* wrap = nullptr;
        if (!kept_attribute(wrap, "numba.cuda", "as_cuda_array")) return Ref();
        // Without `sync` it would wait for the stream.
        Ref arguments(PyTuple_Pack(1, made.get())), keywords(Py_BuildValue("{sO}", "sync", Py_False));
        return Ref(arguments && keywords ? PyObject_Call(wrap, arguments.get(), keywords.get()) : nullptr);
    }
    if (like.library == Library::jax) {
        static PyObject* take = nullptr;
        if (!kept_attribute(take, "jax.dlpack", "from_dlpack")) return Ref();
        Ref taken(PyObject_CallFunctionObjArgs(take, made.get(), nullptr));
        if (taken) memory_of_device_array(made.get())->lend();
        return taken;
    }
    return made;
}

} // namespace tilewright::face
