// python/native/face/device_context.cpp: class device.
#include "python/native/face/device_context.h"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "python/native/face/arrays.h"
#include "python/native/face/device_array.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"

namespace tilewright::face {

std::atomic<bool> g_had_device_context = false;

namespace {

thread_local std::vector<DeviceContext> t_contexts;
thread_local const DeviceContext* t_innermost = nullptr; ///< of them: calls look at it alone

void note_innermost() {
    g_had_device_context = true;
    t_innermost = t_contexts.empty() ? nullptr : &t_contexts.back();
}

struct DeviceObject {
    PyObject_HEAD DeviceContext context;
    PyObject* stream; ///< as it was given: it must live as long as it is used
};

PyTypeObject* g_device_type = nullptr;

DeviceObject* of(PyObject* self) {
    return reinterpret_cast<DeviceObject*>(self);
}

bool parse_name(PyObject* name, int& ordinal) {
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
    const std::string_view given = text ? text : "";
    ordinal = 0;
    if (given == "cuda") return true;
    const bool is_number = given.find_first_not_of("0123456789", 5) == std::string_view::npos;
    if (given.starts_with("cuda:") && is_number && given.size() > 5 && given.size() < 12) {
        ordinal = std::atoi(text + 5);
        return true;
    }
    PyErr_Clear();
    return fail(PyExc_ValueError, "device: %R is not known. Use \"cuda\" or \"cuda:1\".", name);
}

/// A pointer as an int, or an object that has one: torch (cuda_stream), CuPy (ptr), cuda.core (__cuda_stream__), Numba
/// (handle, a ctypes pointer or an int).
bool read_stream(PyObject* object, void*& stream) {
    if (PyLong_Check(object) && !PyBool_Check(object)) {
        stream = PyLong_AsVoidPtr(object);
        if (!stream && PyErr_Occurred())
            return fail(PyExc_TypeError, "device: stream is %R, which is not an address: it has more than 64 bits.",
                        object);
        stream = normal_stream(stream);
        return true;
    }
    if (Ref protocol = attribute_or_nothing(object, "__cuda_stream__")) {
        Ref pair(PyCallable_Check(protocol.get()) ? PyObject_CallNoArgs(protocol.get()) : protocol.release());
        if (!pair) return false;
        if (PyTuple_Check(pair.get()) && PyTuple_Size(pair.get()) == 2)
            return read_stream(PyTuple_GetItem(pair.get(), 1), stream);
    }
    for (const char* name : {"cuda_stream", "ptr", "handle", "value"}) {
        const Ref value = attribute_or_nothing(object, name);
        if (!value) continue;
        if (value.get() == Py_None) return stream = nullptr, true; // ctypes' null pointer
        if (value.get() != object) return read_stream(value.get(), stream);
    }
    return fail(PyExc_TypeError,
                "device: stream is %R, which is no CUDA stream. Pass a stream of PyTorch, CuPy or Numba, or its "
                "address as an int.",
                object);
}

int initialize(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"name", "stream", nullptr};
    PyObject *name = nullptr, *stream = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:device", const_cast<char**>(kNames), &name, &stream))
        return -1;
    DeviceContext context;
    if (name && !parse_name(name, context.place.device)) return -1;
    if (stream != Py_None) {
        if (!read_stream(stream, context.place.stream)) return -1;
        context.has_stream = true;
    }
    of(self)->context = context;
    PyObject* before = of(self)->stream;
    of(self)->stream = Py_NewRef(stream);
    Py_XDECREF(before);
    return 0;
}

PyObject* enter(PyObject* self, PyObject*) {
    if (!check_device(of(self)->context.place.device)) return nullptr;
    t_contexts.push_back(of(self)->context);
    note_innermost();
    return Py_NewRef(self);
}

PyObject* leave(PyObject*, PyObject*) {
    if (!t_contexts.empty()) t_contexts.pop_back();
    note_innermost();
    Py_RETURN_NONE;
}

PyObject* synchronize(PyObject* self, PyObject*) {
    if (!check_device(of(self)->context.place.device)) return nullptr;
    runtime::cuda::Place place = of(self)->context.place;
    if (!without_gil([&] { runtime::cuda::synchronize(place); })) return nullptr;
    Py_RETURN_NONE;
}

PyObject* repr(PyObject* self) {
    const DeviceContext& context = of(self)->context;
    if (!context.has_stream) return PyUnicode_FromFormat("device('cuda:%d')", context.place.device);
    return PyUnicode_FromFormat("device('cuda:%d', stream=%p)", context.place.device, context.place.stream);
}

void dealloc(PyObject* self) {
    Py_XDECREF(of(self)->stream);
    free_object(self);
}

} // namespace

CallsRunAt::CallsRunAt(const runtime::cuda::Place& place) : own_{place, true}, outer_(t_innermost) {
    g_had_device_context = true;
    t_innermost = &own_;
}
CallsRunAt::~CallsRunAt() {
    t_innermost = outer_;
}

const DeviceContext* device_context_of_thread() {
    return t_innermost;
}

runtime::cuda::Place place_on(int device) {
    const DeviceContext* context = device_context();
    return context && context->place.device == device ? context->place : runtime::cuda::Place{device, nullptr};
}

runtime::cuda::Place default_place() {
    const DeviceContext* context = device_context();
    return context ? context->place : runtime::cuda::Place{};
}

bool check_device(int ordinal) {
    std::string why;
    int count = runtime::cuda::device_count(&why);
    if (ordinal < count) return true;
    if (count == 0) return fail(g_device_error, "cuda:%d: %s", ordinal, why.c_str());
    return fail(g_device_error, "cuda:%d: there %s %d CUDA device%s here. Use cuda:0%s.", ordinal,
                count == 1 ? "is" : "are", count, count == 1 ? "" : "s",
                count == 1 ? "" : (" to cuda:" + std::to_string(count - 1)).c_str());
}

bool place_named(PyObject* name, runtime::cuda::Place& place) {
    if (name && g_device_type && PyObject_TypeCheck(name, g_device_type)) {
        place = of(name)->context.place;
    } else if (name && name != Py_None) {
        int ordinal = 0;
        if (!parse_name(name, ordinal)) return false;
        // "cuda" is the context's device, as an index names one alone.
        const bool names_one = PyUnicode_GetLength(name) > 4;
        place = names_one ? place_on(ordinal) : default_place();
    } else {
        place = default_place();
    }
    return check_device(place.device);
}

PyObject* make_device_type() {
    static PyMethodDef methods[] = {
        {"__enter__", enter, METH_NOARGS, nullptr},
        {"__exit__", leave, METH_VARARGS, nullptr},
        {"synchronize", synchronize, METH_NOARGS,
         "synchronize($self)\n--\n\nWaits for the stream, and raises what went wrong on it."},
        {}};
    static PyGetSetDef getters[] = {
        {"name", [](PyObject* self, void*) { return PyUnicode_FromFormat("cuda:%d", of(self)->context.place.device); },
         nullptr, "cuda:0"},
        {"ordinal", [](PyObject* self, void*) { return PyLong_FromLong(of(self)->context.place.device); }, nullptr,
         "The number of the device."},
        {"stream", [](PyObject* self, void*) { return Py_NewRef(of(self)->stream ? of(self)->stream : Py_None); },
         nullptr, "The stream, as it was given."},
        {}};
    static PyType_Slot slots[] = {
        {Py_tp_init, reinterpret_cast<void*>(initialize)},
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
        {Py_tp_repr, reinterpret_cast<void*>(repr)},
        {Py_tp_methods, methods},
        {Py_tp_getset, getters},
        {Py_tp_doc,
         const_cast<char*>(
             "device(name='cuda', *, stream=None)\n--\n\n"
             "with device('cuda:1'): NumPy arrays of this thread's calls are computed with on that device, "
             "and come back as NumPy arrays.\n\n"
             "stream: where the calls of the block run: a stream of PyTorch, CuPy or Numba, or its address.")},
        {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, slots};
    if (!g_device_type) g_device_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return Py_XNewRef(reinterpret_cast<PyObject*>(g_device_type));
}

} // namespace tilewright::face
