// python/native/face/stayed_calls.cpp: comparing a call with those that stayed with NumPy.
#include "python/native/face/stayed_calls.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace tilewright::face {
namespace {

constexpr std::size_t kMostCalls = 8;

/// Whether it is a function with that code.
bool has_code(PyObject* value, PyObject* code) {
    static PyObject* functions = nullptr;
    kept_or_nothing(functions, "types", "FunctionType");
    static PyObject* const name = PyUnicode_InternFromString("__code__");
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != functions) return false;
    const Ref own(PyObject_GetAttr(value, name));
    return own.get() == code;
}

/// Nothing with a Python error for no shape.
std::optional<StayedCalls::Part> read_part(PyObject* item) {
    using Kind = StayedCalls::Part::Kind;
    if (!PyTuple_Check(item)) return StayedCalls::Part{PyType_Check(item) ? Kind::type : Kind::itself, item, {}, {}};
    const Py_ssize_t count = PyTuple_Size(item);
    if (count != 2 && count != 3) return std::nullopt;
    PyObject *first = PyTuple_GetItem(item, 0), *second = PyTuple_GetItem(item, 1);
    if (!PyTuple_Check(first)) {
        if (count == 2) return StayedCalls::Part{Kind::value, first, second, {}};
        const long long size = PyLong_AsLongLong(PyTuple_GetItem(item, 2));
        if (PyErr_Occurred()) return std::nullopt;
        return StayedCalls::Part{Kind::number_within, first, second, {}, size};
    }
    StayedCalls::Part part{count == 2 ? Kind::array : Kind::array_within, first, second, {}};
    for (Py_ssize_t k = 0; k < PyTuple_Size(first); ++k)
        part.shape.push_back(static_cast<npy_intp>(PyLong_AsLongLong(PyTuple_GetItem(first, k))));
    if (PyErr_Occurred()) return std::nullopt;
    return part;
}

bool fits_array(PyObject* value, const StayedCalls::Part& part) {
    if (!PyArray_CheckExact(value)) return false;
    auto* const array = numpy_array(value);
    if (PyArray_NDIM(array) != static_cast<int>(part.shape.size()) ||
        reinterpret_cast<PyObject*>(PyArray_DESCR(array)) != part.second)
        return false;
    if (part.kind == StayedCalls::Part::Kind::array)
        return std::equal(part.shape.begin(), part.shape.end(), PyArray_DIMS(array));
    return std::equal(part.shape.begin(), part.shape.end(), PyArray_DIMS(array), std::greater_equal<>());
}

bool fits_number(PyObject* value, const StayedCalls::Part& part) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != part.first) return false;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && -part.size <= number && number <= part.size;
}

/// False, so that Python looks, where it cannot be said.
bool fits_otherwise(PyObject* value, const StayedCalls::Part& part) {
    using Kind = StayedCalls::Part::Kind;
    switch (part.kind) {
    case Kind::array:
    case Kind::array_within:
        return fits_array(value, part);
    case Kind::number_within:
        return fits_number(value, part);
    case Kind::value: // of one class, str, bool or int
        return reinterpret_cast<PyObject*>(Py_TYPE(value)) == part.first &&
               PyObject_RichCompareBool(value, part.second, Py_EQ) == 1;
    default:
        return value == part.first || has_code(value, part.first);
    }
}

/// Most parts are classes, or values that code has in one object; the shortest calls take no others. Those are told
/// without a call.
inline bool fits(PyObject* value, const StayedCalls::Part& part) {
    using Kind = StayedCalls::Part::Kind;
    if (part.kind == Kind::type)
        return reinterpret_cast<PyObject*>(Py_TYPE(value)) == part.first || value == part.first;
    return (part.kind == Kind::value && value == part.second) || fits_otherwise(value, part);
}

/// The value of a keyword, which most likely stands at `place`; null where it was not given.
PyObject* keyword(const RawCall& call, PyObject* name, Py_ssize_t place) {
    const Py_ssize_t count = PyTuple_Size(call.keyword_names);
    for (Py_ssize_t k = 0; k < count; ++k) {
        const Py_ssize_t at = (place + k) % count;
        PyObject* const other = PyTuple_GetItem(call.keyword_names, at);
        if (other == name || PyUnicode_Compare(other, name) == 0) return call.items[call.positional + at];
    }
    return nullptr;
}

/// Whether two tuples of one length have the very same items.
bool has_same_items(PyObject* one, PyObject* other) {
    for (Py_ssize_t k = 0, count = PyTuple_Size(one); k < count; ++k)
        if (PyTuple_GetItem(one, k) != PyTuple_GetItem(other, k)) return false;
    return true;
}

} // namespace

bool StayedCalls::add(PyObject* key, PyObject* names, PyObject* run) {
    bool is_key = PyTuple_Check(key) && PyTuple_Check(names) && PyTuple_Size(names) <= PyTuple_Size(key);
    Call call{Ref::borrowed(key), Ref::borrowed(names), Ref::borrowed(run), Ref(), 0, {}};
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

bool StayedCalls::Call::is_like(const RawCall& given) const {
    const auto positional = static_cast<std::size_t>(given.positional);
    for (std::size_t k = 0; k < positional; ++k)
        if (!fits(given.items[k], parts[k])) return false;
    if (named == 0) return true;
    const bool in_order = given.keyword_names == names_seen.get();
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject* const value =
            in_order ? given.items[given.positional + k] : keyword(given, PyTuple_GetItem(names.get(), k), k);
        if (!value || !fits(value, parts[positional + static_cast<std::size_t>(k)])) return false;
    }
    if (!in_order && has_same_items(given.keyword_names, names.get())) names_seen = Ref::borrowed(given.keyword_names);
    return true;
}

Ref StayedCalls::find(const RawCall& given) const {
    const Py_ssize_t keywords = given.keyword_names ? PyTuple_Size(given.keyword_names) : 0;
    const auto values = static_cast<std::size_t>(given.positional + keywords);
    // The one that the last call was like comes first: most calls are like the one before.
    for (std::size_t n = calls_.size(), k = found_ < n ? found_ : 0; n > 0;
         --n, k = k + 1 < calls_.size() ? k + 1 : 0) {
        const Call& call = calls_[k];
        if (call.named != keywords || call.parts.size() != values || !call.is_like(given)) continue;
        found_ = k;
        return Ref::borrowed(call.run.get());
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
