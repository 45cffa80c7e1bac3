// python/native/face/stayed_calls.cpp: comparing a call with those that stayed with NumPy.
#include "python/native/face/stayed_calls.h"

#include <algorithm>
#include <utility>

namespace tilewright::face {
namespace {

constexpr std::size_t kMostCalls = 8;

/// Whether an array has such a shape and that very dtype.
bool is_such_an_array(PyObject* value, PyObject* shape, PyObject* dtype) {
    if (!PyArray_CheckExact(value)) return false;
    auto* array = numpy_array(value);
    if (PyArray_NDIM(array) != PyTuple_Size(shape) || reinterpret_cast<PyObject*>(PyArray_DESCR(array)) != dtype)
        return false;
    for (int k = 0; k < PyArray_NDIM(array); ++k)
        if (PyLong_AsLongLong(PyTuple_GetItem(shape, k)) != PyArray_DIM(array, k)) return false;
    return true;
}

/// Whether it is a function with that code.
bool has_code(PyObject* value, PyObject* code) {
    static PyObject* const functions = imported_or_nothing("types", "FunctionType").release();
    static PyObject* const name = PyUnicode_InternFromString("__code__");
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != functions) return false;
    const Ref own(PyObject_GetAttr(value, name));
    return own.get() == code;
}

/// Whether an argument is as a part of the key says; false, so that Python looks, where that cannot be said.
bool fits(PyObject* value, PyObject* part) {
    if (value == part) return true;
    if (PyTuple_Check(part)) {
        PyObject *first = PyTuple_GetItem(part, 0), *second = PyTuple_GetItem(part, 1);
        if (PyTuple_Check(first)) return is_such_an_array(value, first, second);
        if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != first) return false;
        return PyObject_RichCompareBool(value, second, Py_EQ) == 1; // of one class, str, bool or int
    }
    return PyType_Check(part) ? reinterpret_cast<PyObject*>(Py_TYPE(value)) == part : has_code(value, part);
}

} // namespace

bool StayedCalls::add(PyObject* key, PyObject* names, PyObject* run) {
    bool is_key = PyTuple_Check(key) && PyTuple_Check(names) && PyTuple_Size(names) <= PyTuple_Size(key);
    for (Py_ssize_t k = 0; is_key && k < PyTuple_Size(key); ++k) {
        PyObject* const part = PyTuple_GetItem(key, k);
        is_key = !PyTuple_Check(part) || PyTuple_Size(part) == 2;
    }
    if (!is_key) {
        PyErr_SetString(PyExc_TypeError,
                        "stay: the key is a tuple, with a part for each argument; names are some of them.");
        return false;
    }
    Call call{Ref::borrowed(key), Ref::borrowed(names), Ref::borrowed(run)};
    if (calls_.size() < kMostCalls)
        calls_.push_back(std::move(call));
    else
        std::swap(calls_[next_++ % kMostCalls], call);
    return true;
}

void StayedCalls::clear() {
    std::vector<Call> gone; // what is dropped may run Python
    gone.swap(calls_);
}

Ref StayedCalls::find(PyObject* args, PyObject* kwargs) const {
    const Py_ssize_t positional = PyTuple_Size(args), keywords = kwargs ? PyDict_Size(kwargs) : 0;
    const auto found = std::ranges::find_if(calls_, [&](const Call& call) {
        PyObject *key = call.key.get(), *names = call.names.get();
        bool same = PyTuple_Size(key) == positional + keywords && PyTuple_Size(names) == keywords;
        for (Py_ssize_t k = 0; same && k < positional; ++k)
            same = fits(PyTuple_GetItem(args, k), PyTuple_GetItem(key, k));
        for (Py_ssize_t k = 0; same && k < keywords; ++k) {
            PyObject* const value = PyDict_GetItemWithError(kwargs, PyTuple_GetItem(names, k));
            same = value && fits(value, PyTuple_GetItem(key, positional + k));
        }
        return same;
    });
    return found == calls_.end() ? Ref() : Ref::borrowed(found->run.get());
}

int StayedCalls::traverse(visitproc visit, void* arg) const {
    for (const Call& call : calls_) {
        Py_VISIT(call.key.get());
        Py_VISIT(call.names.get());
        Py_VISIT(call.run.get());
    }
    return 0;
}

} // namespace tilewright::face
