// python/native/face/device_types.cpp: arrays of PyTorch, CuPy, Numba, JAX and others, as they describe themselves.
#include "python/native/face/device_types.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "dsl/base/error.h"
#include "python/native/face/arrays.h"
#include "python/native/face/device_array.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

using Access = ArrayClass::Access;
using Library = ArrayClass::Library;

constexpr std::size_t kMaxClasses = 64;

PyObject* interned(const char* text) {
    return PyUnicode_InternFromString(text);
}

bool has(PyTypeObject* type, const char* name) {
    return static_cast<bool>(attribute_or_nothing(reinterpret_cast<PyObject*>(type), name));
}

/// A user's subclass of a library's class counts as that library's.
Library library_of(PyTypeObject* type) {
    static constexpr std::pair<const char*, Library> kModules[] = {
        {"torch", Library::torch},      {"cupy", Library::cupy}, {"numba", Library::numba},
        {"numba_cuda", Library::numba}, {"jax", Library::jax},   {"jaxlib", Library::jax}};
    for (const auto& [module, library] : kModules)
        if (has_class(type, module, nullptr)) return library;
    return Library::other;
}

const dlpack::ExchangeApi* exchange_api_of(PyTypeObject* type) {
    const Ref capsule = attribute_or_nothing(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
    if (!capsule || !PyCapsule_IsValid(capsule.get(), dlpack::kExchangeCapsule)) return nullptr;
    // The table is static in its library: it outlives the capsule.
    const auto* api =
        static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), dlpack::kExchangeCapsule));
    while (api && api->version.major > 1)
        api = api->previous;
    return api && api->tensor_from_object && api->allocate && api->object_from_managed && api->current_stream ? api
                                                                                                              : nullptr;
}

/// A class that has them as something else, a property of Python say, is asked by name.
void find_descriptors(ArrayClass& its_class) {
    auto find = [&](const char* name, const char* kind) -> PyObject* {
        Ref found = attribute_or_nothing(reinterpret_cast<PyObject*>(its_class.type), name);
        if (!found) return nullptr;
        const Ref kind_name = attribute_or_nothing(reinterpret_cast<PyObject*>(Py_TYPE(found.get())), "__name__");
        if (!kind_name || PyUnicode_CompareWithASCIIString(kind_name.get(), kind) != 0) return nullptr;
        return found.release(); // as the class, never given back
    };
    its_class.requires_grad = find("requires_grad", "getset_descriptor");
    its_class.is_conj = find("is_conj", "method_descriptor");
    its_class.is_neg = find("is_neg", "method_descriptor");
    if (its_class.requires_grad)
        its_class.get_requires_grad =
            reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(its_class.requires_grad), Py_tp_descr_get));
}

ArrayClass look_at(PyTypeObject* type) {
    ArrayClass found{type, Access::none, Library::other, nullptr};
    if (type == device_array_type()) {
        found.access = Access::ours;
        found.library = Library::ours;
        return found;
    }
    if (PyType_IsSubtype(type, &PyArray_Type) || PyType_IsSubtype(type, &PyGenericArrType_Type)) return found;
    found.library = library_of(type);
    // Arrays of JAX are read-only, and are held until the call is done: a table would say neither.
    found.api = found.library == Library::jax ? nullptr : exchange_api_of(type);
    if (found.api)
        found.access = Access::exchange;
    else if (found.library != Library::jax && has(type, "__cuda_array_interface__"))
        // JAX's says nothing of streams, and nothing of its data being ready.
        found.access = Access::interface;
    else if (has(type, "__dlpack__") && has(type, "__dlpack_device__"))
        found.access = Access::dlpack;
    return found;
}

bool fail_with(PyObject* type, const std::string& text) {
    set_error(type, text);
    return false;
}

bool refuse(PyObject* object, const std::string& why) {
    return fail_with(PyExc_TypeError, describe(object) + why);
}

bool is_without_elements(const DeviceView& view) {
    for (int k = 0; k < view.rank; ++k)
        if (view.array.shape[k] == 0) return true;
    return false;
}

/// "0x10000"
std::string address_text(const void* pointer) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
    return text;
}

bool set_rank(DeviceView& view, std::int64_t rank, PyObject* object) {
    if (rank < 0 || rank > runtime::kMaxRank)
        return fail_with(PyExc_TypeError, "an array of " + std::to_string(rank) + " dimensions (" + describe(object) +
                                              "); plans know up to " + std::to_string(runtime::kMaxRank) + ".");
    view.rank = static_cast<int>(rank);
    return true;
}

/// "(2,)", cut where it is long.
std::string text_of(PyObject* object) {
    const KeptError kept;
    Ref shown(PyObject_Repr(object));
    PyErr_Clear();
    const std::string result = text_or(shown.get(), "something that cannot be shown");
    return result.size() <= 80 ? result : describe(object);
}

/// Whatever number it is; false without a Python error for anything else, and for what no address or stream is.
bool read_address(PyObject* object, void*& to) {
    to = PyLong_Check(object) ? PyLong_AsVoidPtr(object) : nullptr;
    if (!PyErr_Occurred()) return PyLong_Check(object);
    PyErr_Clear();
    return false;
}

/// Extents that some memory may have; what is computed of them stays a number.
bool check_extents(PyObject* object, const DeviceView& view, std::int64_t bytes) {
    bool is_negative = false, is_empty = false, is_large = false;
    for (int k = 0; k < view.rank; ++k) {
        const std::int64_t extent = view.array.shape[k];
        is_negative = is_negative || extent < 0;
        is_empty = is_empty || extent == 0;
        is_large = is_large || __builtin_mul_overflow(bytes, extent > 0 ? extent : 1, &bytes);
    }
    if (is_negative)
        return refuse(object, ", whose shape is " + extents_text(view.array.shape, view.rank) +
                                  ", but no extent is negative. Pass an array whose library describes it.");
    if (is_large && !is_empty)
        return refuse(object, ", whose shape is " + extents_text(view.array.shape, view.rank) +
                                  ", more bytes than there are addresses. Pass an array of elements that exist.");
    return true;
}

void c_strides(DeviceView& view, std::int64_t bytes) {
    for (int k = view.rank - 1; k >= 0; --k) {
        view.steps[k] = bytes;
        bytes *= view.array.shape[k] > 0 ? view.array.shape[k] : 1;
    }
    view.array.strides = view.steps;
}

bool read_tensor(const dlpack::Tensor& tensor, PyObject* object, DeviceView& view) {
    if (!set_rank(view, tensor.rank, object)) return false;
    const bool on_device = tensor.device.kind == dlpack::kCuda || tensor.device.kind == dlpack::kCudaManaged;
    if (!on_device && tensor.device.kind != dlpack::kHost && tensor.device.kind != dlpack::kCudaHost)
        return refuse(object, " is neither on the host nor on a CUDA device.");
    view.device = on_device ? tensor.device.id : DeviceView::kHost;
    view.has_dtype = dtype_of(tensor.dtype, view.dtype);
    view.array.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
    view.array.shape = tensor.shape;
    const std::int64_t bytes = tensor.dtype.bits / 8;
    if (!check_extents(object, view, bytes > 0 ? bytes : 1)) return false;
    if (!tensor.strides) {
        c_strides(view, bytes);
        return true;
    }
    for (int k = 0; k < view.rank; ++k)
        view.steps[k] = tensor.strides[k] * bytes;
    view.array.strides = view.steps;
    return true;
}

/// Whether PyTorch records what is computed here: not inside of torch.no_grad().
bool torch_follows_gradients() {
    static PyObject* ask = nullptr;
    if (!ask) ask = imported_or_nothing("torch", "is_grad_enabled").release();
    Ref answer(ask ? PyObject_CallNoArgs(ask) : nullptr);
    if (!answer) PyErr_Clear();
    return !answer || answer.get() == Py_True;
}

/// What a method without arguments gives. PyObject_Vectorcall is in CPython since 3.9, in its stable ABI since 3.12.
Ref call_method(PyObject* object, PyObject* descriptor, PyObject* name) {
    using Vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);
    static const auto vectorcall = reinterpret_cast<Vectorcall>(dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"));
    if (!descriptor) return Ref(PyObject_CallMethodObjArgs(object, name, nullptr));
    return Ref(vectorcall ? vectorcall(descriptor, &object, 1, nullptr)
                          : PyObject_CallFunctionObjArgs(descriptor, object, nullptr));
}

/// PyTorch's table gives memory whatever autograd or a lazy conjugation think of it.
bool check_torch(PyObject* object, const ArrayClass& its_class, const dlpack::Tensor& tensor) {
    static PyObject* const requires_grad = interned("requires_grad");
    static PyObject* const is_conj = interned("is_conj");
    static PyObject* const is_neg = interned("is_neg");
    if (tensor.dtype.code != dlpack::kFloat && tensor.dtype.code != dlpack::kComplex) return true;
    Ref grad(its_class.get_requires_grad ? its_class.get_requires_grad(its_class.requires_grad, object,
                                                                       reinterpret_cast<PyObject*>(its_class.type))
                                         : PyObject_GetAttr(object, requires_grad));
    if (!grad) return false;
    if (grad.get() == Py_True && torch_follows_gradients())
        return fail_with(PyExc_TypeError,
                         "a torch.Tensor that requires a gradient, which compiled code does not follow. "
                         "Pass its detach(), or call inside of torch.no_grad().");
    auto is_lazy = [&](PyObject* descriptor, PyObject* name, bool& failed) {
        Ref lazy = call_method(object, descriptor, name);
        failed = failed || !lazy;
        return lazy.get() == Py_True;
    };
    bool failed = false;
    if ((tensor.dtype.code == dlpack::kComplex && is_lazy(its_class.is_conj, is_conj, failed)) ||
        (!failed && is_lazy(its_class.is_neg, is_neg, failed)))
        return fail_with(PyExc_TypeError, "a torch.Tensor that is conjugated or negated lazily. Pass its "
                                          "resolve_conj().resolve_neg().");
    return !failed;
}

bool typestr_dtype(const char* text, DType& dtype) {
    if (std::strlen(text) < 3 || (text[0] != '<' && text[0] != '|' && text[0] != '=')) return false;
    const int bytes = std::atoi(text + 2);
    for (int i = 0; i < kDTypeCount; ++i) {
        auto candidate = static_cast<DType>(i);
        std::string_view name = info(candidate).name;
        if (name[0] == text[1] && info(candidate).bytes == bytes) return dtype = candidate, true;
    }
    return false;
}

/// Whether objects of a class may have attributes that the class has not: those of classes of C do not.
bool may_have_own_interface(PyTypeObject* type) {
    return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) && !PyType_IsSubtype(type, &PyArray_Type) &&
           !PyType_IsSubtype(type, &PyGenericArrType_Type) && library_of(type) == Library::other &&
           !PyType_IsSubtype(type, &PyType_Type);
}

/// As PyTorch and Numba ask: the object, not its class. What answers to every name gives no dict.
bool has_own_interface(PyObject* object) {
    static PyObject* const attribute = interned("__cuda_array_interface__");
    Ref table(PyObject_GetAttr(object, attribute));
    if (!table) PyErr_Clear();
    return table && PyDict_Check(table.get());
}

/// False without a Python error where an item is no integer of 64 bits.
bool read_extents(PyObject* tuple, std::int64_t* to, int count) {
    for (int k = 0; k < count; ++k) {
        to[k] = PyLong_AsLongLong(PyTuple_GetItem(tuple, k));
        if (to[k] == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    }
    return true;
}

bool read_interface(PyObject* object, DeviceView& view) {
    static PyObject* const attribute = interned("__cuda_array_interface__");
    Ref table(PyObject_GetAttr(object, attribute));
    if (!table) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
        PyErr_Clear(); // such an array says by it that it lies elsewhere
        view.device = DeviceView::kHost;
        return true;
    }
    if (!PyDict_Check(table.get())) return refuse(object, ", whose __cuda_array_interface__ is not a dict.");
    auto item = [&](const char* name) { return PyDict_GetItemString(table.get(), name); };
    PyObject *shape = item("shape"), *typestr = item("typestr"), *data = item("data"), *strides = item("strides"),
             *stream = item("stream"), *mask = item("mask");
    const char* type = typestr && PyUnicode_Check(typestr) ? PyUnicode_AsUTF8AndSize(typestr, nullptr) : nullptr;
    if (!shape || !PyTuple_Check(shape) || !type || !data || !PyTuple_Check(data) || PyTuple_Size(data) != 2)
        return refuse(object, ", whose __cuda_array_interface__ lacks a shape, a typestr or "
                              "data (a pointer and whether it is read-only).");
    if (mask && mask != Py_None) return fail_with(PyExc_TypeError, "a masked array, and masks are not known here.");
    if (!set_rank(view, PyTuple_Size(shape), object)) return false;
    if (!read_extents(shape, view.extents, view.rank))
        return refuse(object, ", whose __cuda_array_interface__ has the shape " + text_of(shape) +
                                  ", but extents are integers of 64 bits.");
    view.array.shape = view.extents;
    view.has_dtype = typestr_dtype(type, view.dtype);
    if (!check_extents(object, view, view.has_dtype ? info(view.dtype).bytes : 1)) return false;
    if (!read_address(PyTuple_GetItem(data, 0), view.array.data))
        return refuse(object, ", whose __cuda_array_interface__ has the pointer " + text_of(PyTuple_GetItem(data, 0)) +
                                  ", but a pointer is an int of 64 bits.");
    view.read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) == 1;
    if (strides && strides != Py_None) {
        if (!PyTuple_Check(strides) || PyTuple_Size(strides) != view.rank ||
            !read_extents(strides, view.steps, view.rank))
            return refuse(object, ", whose __cuda_array_interface__ has strides that "
                                  "are not a tuple with an integer for each dimension.");
        view.array.strides = view.steps;
    } else {
        c_strides(view, view.has_dtype ? info(view.dtype).bytes : 1);
    }
    if (stream && stream != Py_None) {
        if (!read_address(stream, view.stream))
            return refuse(object, ", whose __cuda_array_interface__ has the stream " + text_of(stream) +
                                      ", but a stream is None, 1, 2 or its address, an int.");
        view.stream = normal_stream(view.stream);
        view.has_stream = true;
    }
    view.keep = std::move(table);
    return true;
}

/// The interface does not say which device it is on; CuPy does, and of others the driver knows.
bool find_device(PyObject* object, DeviceView& view) {
    static PyObject* const data = interned("data");
    static PyObject* const device_id = interned("device_id");
    if (view.of->library == Library::cupy) {
        Ref memory(PyObject_GetAttr(object, data));
        Ref id(memory ? PyObject_GetAttr(memory.get(), device_id) : nullptr);
        long ordinal = id ? PyLong_AsLong(id.get()) : -1;
        if (!PyErr_Occurred() && ordinal >= 0) {
            view.device = static_cast<int>(ordinal);
            return true;
        }
        PyErr_Clear();
    }
    std::string why;
    view.device = view.array.data ? DeviceView::kHost : 0;
    try {
        if (view.array.data) view.device = runtime::cuda::device_of(view.array.data);
    } catch (const DeviceError& error) {
        why = error.what();
        if (why.rfind("cuda: ", 0) == 0) why.erase(0, 6);
    }
    if (view.device < 0 && is_without_elements(view)) view.device = 0; // anywhere
    if (view.device >= 0) return true;
    if (!why.empty())
        return fail_with(g_device_error,
                         describe(object) +
                             ", which says by __cuda_array_interface__ that it lies on a CUDA device, but " + why);
    return refuse(object, ", whose __cuda_array_interface__ gives the pointer " + address_text(view.array.data) +
                              ", which is not memory of a CUDA device. Is the memory freed, of another process, "
                              "or of the host?");
}

/// Null with elements would be read on the device, which no process recovers from.
bool check_pointer(PyObject* object, const DeviceView& view) {
    if (view.array.data || view.device == DeviceView::kHost || is_without_elements(view)) return true;
    return refuse(object, " of shape " + extents_text(view.array.shape, view.rank) +
                              ", whose pointer is null. Is its memory freed?");
}

bool read_dlpack(PyObject* object, void* stream, DeviceView& view) {
    static PyObject* const device_method = interned("__dlpack_device__");
    static PyObject* const method = interned("__dlpack__");
    Ref place(PyObject_CallMethodObjArgs(object, device_method, nullptr));
    if (!place) return false;
    std::int64_t pair[2] = {0, 0};
    // An enumeration's member is a number as well.
    if (!PyTuple_Check(place.get()) || PyTuple_Size(place.get()) != 2 || !read_extents(place.get(), pair, 2) ||
        pair[1] != static_cast<int>(pair[1]))
        return refuse(object, ", whose __dlpack_device__() gives " + text_of(place.get()) +
                                  ", but DLPack has a tuple of two integers, the kind of a device and which "
                                  "one: (2, 0) is cuda:0.");
    const auto kind = pair[0];
    const int id = static_cast<int>(pair[1]);
    if (kind != dlpack::kCuda && kind != dlpack::kCudaManaged) {
        view.device = DeviceView::kHost;
        return true;
    }
    view.device = id;
    Ref function(PyObject_GetAttr(object, method)), none(PyTuple_New(0));
    Ref number(PyLong_FromVoidPtr(stream ? stream : reinterpret_cast<void*>(1)));
    if (!function || !none || !number) return false;
    Ref keywords(Py_BuildValue("{sO}", "stream", number.get()));
    Ref capsule(keywords ? PyObject_Call(function.get(), none.get(), keywords.get()) : nullptr);
    if (!capsule) return false;
    const dlpack::Tensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule.get(), dlpack::kVersionedCapsule)) {
        const auto* managed = static_cast<const dlpack::ManagedTensorVersioned*>(
            PyCapsule_GetPointer(capsule.get(), dlpack::kVersionedCapsule));
        if (managed->version.major > 1)
            return refuse(object, ", whose DLPack capsule is of version " + std::to_string(managed->version.major) +
                                      ", but version 1 was asked for. Pass an array of a library that gives it.");
        tensor = &managed->tensor;
        view.read_only = managed->flags & dlpack::kReadOnly;
    } else if (PyCapsule_IsValid(capsule.get(), dlpack::kCapsule)) {
        tensor =
            &static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.get(), dlpack::kCapsule))->tensor;
    } else {
        return refuse(object, ", whose __dlpack__() gives " + text_of(capsule.get()) +
                                  ", but DLPack has a capsule named dltensor that nobody used before.");
    }
    if (!read_tensor(*tensor, object, view)) return false;
    if (view.of->library == Library::jax) view.read_only = true;
    view.keep = std::move(capsule); // not consumed: it gives the array back when it goes
    return true;
}

} // namespace

const ArrayClass* find_array_class(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    // Classes are few; they are kept alive, so that no other class takes the address of one.
    static std::vector<ArrayClass*>& known = *new std::vector<ArrayClass*>;
    auto answer = [object](const ArrayClass* c) -> const ArrayClass* {
        if (c->access == Access::none) return c->of_objects && has_own_interface(object) ? c->of_objects : nullptr;
        return g_latest_class = c;
    };
    for (const ArrayClass* c : known)
        if (c->type == type) return answer(c);
    if (known.size() == kMaxClasses) {
        static ArrayClass latest{};
        latest = look_at(type);
        return latest.access == Access::none ? nullptr : &latest;
    }
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    auto* made = new ArrayClass(look_at(type));
    if (made->api && made->library == Library::torch) find_descriptors(*made);
    if (made->access == Access::none && may_have_own_interface(type)) {
        auto* own = new ArrayClass(*made);
        own->access = Access::interface;
        made->of_objects = own;
    }
    known.push_back(made);
    return answer(made);
}

bool read_device_array(PyObject* object, const ArrayClass& its_class, void* stream, DeviceView& view) {
    view.of = &its_class;
    switch (its_class.access) {
    case Access::ours:
        view_device_array(object, view);
        return true;
    case Access::exchange: {
        dlpack::Tensor tensor{};
        if (its_class.api->tensor_from_object(object, &tensor) != 0) return false;
        if (its_class.library == Library::torch && !check_torch(object, its_class, tensor)) return false;
        return read_tensor(tensor, object, view) && check_pointer(object, view);
    }
    case Access::interface:
        if (!read_interface(object, view)) return false;
        return !view.keep || (find_device(object, view) && check_pointer(object, view));
    case Access::dlpack:
        return read_dlpack(object, stream, view) && check_pointer(object, view);
    case Access::none:
        break;
    }
    return refuse(object, " is not an array on a device.");
}

bool library_stream(const DeviceView& view, void*& stream, bool& failed) {
    failed = false;
    if (view.of->access == Access::exchange) {
        failed = view.of->api->current_stream(dlpack::kCuda, view.device, &stream) != 0;
        if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "the array's library has no stream.");
        stream = normal_stream(stream);
        return !failed;
    }
    if (view.has_stream) {
        stream = view.stream;
        return true;
    }
    if (view.of->library == Library::cupy) { // told to leave the stream out (CUPY_CUDA_ARRAY_INTERFACE_SYNC=0)
        static PyObject* get = nullptr;
        const bool has = kept_attribute(get, "cupy.cuda", "get_current_stream");
        const Ref current(has ? PyObject_CallNoArgs(get) : nullptr);
        Ref pointer(current ? PyObject_GetAttrString(current.get(), "ptr") : nullptr);
        failed = !pointer;
        if (!failed) stream = normal_stream(PyLong_AsVoidPtr(pointer.get()));
        return !failed;
    }
    return false;
}

std::string device_name(int device) {
    return device == DeviceView::kHost ? "the host" : "cuda:" + std::to_string(device);
}

std::string describe_placed(PyObject* object) {
    const ArrayClass* its_class = array_class_of(object);
    if (!its_class) return (PyArray_CheckExact(object) ? "a NumPy array on the host, " : "") + describe(object);
    DeviceView view;
    const KeptError kept;
    bool is_read = read_device_array(object, *its_class, nullptr, view);
    PyErr_Clear();
    std::string text = describe(object);
    if (!is_read) return text;
    if (view.has_dtype && view.array.shape) {
        text += " of " + std::string(info(view.dtype).name) + extents_text(view.array.shape, view.rank);
    }
    return text + " on " + device_name(view.device);
}

bool dtype_of(dlpack::DataType type, DType& dtype) {
    struct Table {
        signed char of[8][129]; // by code and bits
        Table() {
            std::memset(of, -1, sizeof of);
            for (int i = 0; i < kDTypeCount; ++i) {
                dlpack::DataType known = dlpack_type(static_cast<DType>(i));
                of[known.code][known.bits] = static_cast<signed char>(i);
            }
        }
    };
    static const Table table;
    if (type.lanes != 1 || type.code >= 8 || type.bits > 128) return false;
    const signed char found = table.of[type.code][type.bits];
    if (found < 0) return false;
    dtype = static_cast<DType>(found);
    return true;
}

dlpack::DataType dlpack_type(DType dtype) {
    static constexpr std::uint8_t kCodes[] = {dlpack::kBool, dlpack::kInt, dlpack::kUInt, dlpack::kFloat,
                                              dlpack::kComplex}; // as DTypeKind
    const DTypeInfo& type = info(dtype);
    return {kCodes[static_cast<int>(type.kind)], static_cast<std::uint8_t>(type.bits()), 1};
}

} // namespace tilewright::face
