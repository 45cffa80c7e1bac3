// python/native/face/stayed_calls.cpp: comparing a call with those that stayed with NumPy.
#include "python/native/face/stayed_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tilewright::face {
namespace {

constexpr std::size_t kMostCalls = 8;

/// Whether it is a function with that code.
bool has_code(PyObject* value, PyObject* code) {
    static PyObject* const functions = imported_or_nothing("types", "FunctionType").release();
    static PyObject* const name = PyUnicode_InternFromString("__code__");
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != functions) return false;
    const Ref own(PyObject_GetAttr(value, name));
    return own.get() == code;
}

/// Nothing with a Python error for no shape.
std::optional<StayedCalls::Part> read_part(PyObject* item) {
    using Kind = StayedCalls::Part::Kind;
    if (!PyTuple_Check(item)) return StayedCalls::Part{PyType_Check(item) ? Kind::type : Kind::itself, item, {}, {}};
    if (PyTuple_Size(item) != 2) return std::nullopt;
    PyObject *first = PyTuple_GetItem(item, 0), *second = PyTuple_GetItem(item, 1);
    if (!PyTuple_Check(first)) return StayedCalls::Part{Kind::value, first, second, {}};
    StayedCalls::Part part{Kind::array, first, second, {}};
    for (Py_ssize_t k = 0; k < PyTuple_Size(first); ++k)
        part.shape.push_back(static_cast<npy_intp>(PyLong_AsLongLong(PyTuple_GetItem(first, k))));
    if (PyErr_Occurred()) return std::nullopt;
    return part;
}

/// False, so that Python looks, where it cannot be said.
bool fits(PyObject* value, const StayedCalls::Part& part) {
    using Kind = StayedCalls::Part::Kind;
    if (part.kind == Kind::array) {
        if (!PyArray_CheckExact(value)) return false;
        auto* const array = numpy_array(value);
        return PyArray_NDIM(array) == static_cast<int>(part.shape.size()) &&
               reinterpret_cast<PyObject*>(PyArray_DESCR(array)) == part.second &&
               std::equal(part.shape.begin(), part.shape.end(), PyArray_DIMS(array));
    }
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
    if (part.kind == Kind::value) // of one class, str, bool or int
        return type == part.first && (value == part.second || PyObject_RichCompareBool(value, part.second, Py_EQ) == 1);
    return value == part.first || (part.kind == Kind::type ? type == part.first : has_code(value, part.first));
}

} // namespace

bool StayedCalls::add(PyObject* key, PyObject* names, PyObject* run) {
    bool is_key = PyTuple_Check(key) && PyTuple_Check(names) && PyTuple_Size(names) <= PyTuple_Size(key);
    Call call{Ref::borrowed(key), Ref::borrowed(names), Ref::borrowed(run), 0, {}};
    for (Py_ssize_t k = 0; is_key && k < PyTuple_Size(key); ++k) {
        const std::optional<Part> part = read_part(PyTuple_GetItem(key, k));
        is_key = part.has_value();
        if (is_key) call.parts.push_back(*part);
    }
    if (!is_key) {
        PyErr_SetString(PyExc_TypeError,
                        "stay: the key is a tuple, with a part for each argument; names are some of them.");
        return false;
    }
    call.named = PyTuple_Size(names);
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
    for (const Call& call : calls_) {
        bool same = static_cast<Py_ssize_t>(call.parts.size()) == positional + keywords && call.named == keywords;
        for (Py_ssize_t k = 0; same && k < positional; ++k)
            same = fits(PyTuple_GetItem(args, k), call.parts[static_cast<std::size_t>(k)]);
        for (Py_ssize_t k = 0; same && k < keywords; ++k) {
            PyObject* const value = PyDict_GetItemWithError(kwargs, PyTuple_GetItem(call.names.get(), k));
            same = value && fits(value, call.parts[static_cast<std::size_t>(positional + k)]);
        }
        if (same) return Ref::borrowed(call.run.get());
    }
    return Ref();
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
