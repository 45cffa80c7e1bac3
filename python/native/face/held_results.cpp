// python/native/face/held_results.cpp: what stages hold until the call ends, and the parts of it that other stages
// give.
#include "python/native/face/held_results.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "dsl/runtime/strided_copy.h"
#include "python/native/face/arrays.h"
#include "python/native/face/texts.h"

namespace tilewright::face {

using runtime::StageArray;

namespace {

Ref own(PyObject* value);

/// Its items as their own: the tuple itself where they are; of a list another one, for its owner may change it.
Ref own_items(PyObject* items) {
    const bool is_tuple = PyTuple_Check(items);
    const Py_ssize_t count = PySequence_Size(items);
    if (count < 0) return {};
    Ref made(is_tuple ? PyTuple_New(count) : PyList_New(count));
    bool are_same = is_tuple;
    for (Py_ssize_t k = 0; made && k < count; ++k) {
        PyObject* const item = is_tuple ? PyTuple_GetItem(items, k) : PyList_GetItem(items, k);
        Ref kept = item ? own(item) : Ref();
        if (!kept) return {};
        are_same = are_same && kept.get() == item;
        if (is_tuple)
            PyTuple_SetItem(made.get(), k, kept.release());
        else
            PyList_SetItem(made.get(), k, kept.release());
    }
    if (!made || are_same) return are_same ? Ref::borrowed(items) : Ref();
    if (PyTuple_CheckExact(items) || PyList_CheckExact(items)) return made;
    auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(items));
    if (!is_tuple || !PyObject_HasAttrString(items, "_fields"))
        return Ref(PyObject_CallFunctionObjArgs(type, made.get(), nullptr));
    return Ref(PyObject_CallObject(type, made.get()));
}

Ref own_entries(PyObject* entries) {
    Ref made(PyDict_New());
    PyObject *key = nullptr, *item = nullptr;
    for (Py_ssize_t at = 0; made && PyDict_Next(entries, &at, &key, &item);) {
        const Ref kept = own(item);
        if (!kept || PyDict_SetItem(made.get(), key, kept.get()) != 0) return {};
    }
    return made;
}

/// Containers in their order; what is in objects of other types stays as it is.
Ref own(PyObject* value) {
    if (PyArray_Check(value))
        return PyArray_CHKFLAGS(numpy_array(value), NPY_ARRAY_OWNDATA)
                   ? Ref::borrowed(value)
                   : Ref(PyObject_CallMethod(value, "copy", nullptr));
    const bool is_dict = PyDict_CheckExact(value);
    if (!is_dict && !PyTuple_Check(value) && !PyList_Check(value)) return Ref::borrowed(value);
    if (Py_EnterRecursiveCall(" while what a stage gave is held")) return {};
    Ref kept = is_dict ? own_entries(value) : own_items(value);
    Py_LeaveRecursiveCall();
    return kept;
}

bool has_count(const char* function, Py_ssize_t count, Py_ssize_t wanted) {
    return count == wanted || fail(PyExc_TypeError, "%s takes %zd arguments, not %zd.", function, wanted, count);
}

std::uint8_t* bytes_of(PyArrayObject* array) {
    return static_cast<std::uint8_t*>(PyArray_DATA(array));
}

/// `bytes` bytes of each element from `from` on, to memory that is not shared.
void copy_elements(PyArrayObject* array, const std::uint8_t* from, std::int64_t bytes, std::uint8_t* to,
                   const npy_intp* strides) {
    if (PyArray_SIZE(array) == 0) return;
    runtime::CopyAxes axes;
    for (int k = PyArray_NDIM(array) - 1; k >= 0; --k)
        axes.add({PyArray_DIM(array, k), PyArray_STRIDE(array, k), strides[k]});
    runtime::copy_strided(from, to, bytes, axes);
}
void copy_array(PyArrayObject* array, std::uint8_t* to, const npy_intp* strides) {
    copy_elements(array, bytes_of(array), PyArray_ITEMSIZE(array), to, strides);
}

template <class T> void join(const void* real, const void* imag, void* to, npy_intp count) {
    const auto *const a = static_cast<const T*>(real), *const b = static_cast<const T*>(imag);
    auto* const z = static_cast<T*>(to);
    for (npy_intp i = 0; i < count; ++i) {
        z[2 * i] = a[i];
        z[2 * i + 1] = b[i];
    }
}

bool is_complex(PyObject* object) {
    if (!PyArray_CheckExact(object)) return false;
    const int type = PyArray_TYPE(numpy_array(object));
    return (type == NPY_CFLOAT || type == NPY_CDOUBLE) && PyArray_ISNOTSWAPPED(numpy_array(object));
}

/// Python's number and NumPy's of the very dtype, without an array of it; false for all else.
bool store_number(PyObject* number, const StageArray& wanted) {
    if (wanted.rank != 0 || PyArray_Check(number)) return false;
    if (PyLong_CheckExact(number) && wanted.dtype == DType::int64) {
        int overflow = 0;
        *static_cast<std::int64_t*>(wanted.data) = PyLong_AsLongLongAndOverflow(number, &overflow);
        return overflow == 0;
    }
    if (PyFloat_CheckExact(number) && wanted.dtype == DType::float64) {
        *static_cast<double*>(wanted.data) = PyFloat_AsDouble(number);
        return true;
    }
    if (!PyArray_IsScalar(number, Generic)) return false;
    const Ref descr(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(number)));
    if (!descr) return PyErr_Clear(), false;
    if (reinterpret_cast<PyArray_Descr*>(descr.get())->type_num != numpy_type(wanted.dtype)) return false;
    PyArray_ScalarAsCtype(number, wanted.data);
    return true;
}

bool has_shape(PyArrayObject* array, const StageArray& wanted) {
    return PyArray_NDIM(array) == wanted.rank &&
           std::equal(wanted.shape, wanted.shape + wanted.rank, PyArray_DIMS(array));
}
bool is_like(PyArrayObject* array, const StageArray& wanted) {
    DType dtype;
    return has_shape(array, wanted) && dtype_of(array, dtype) && dtype == wanted.dtype;
}

Ref seen_as_array(PyObject* object) {
    return PyArray_Check(object) ? Ref::borrowed(object) : Ref(PyArray_FromAny(object, nullptr, 0, 0, 0, nullptr));
}

bool store_half(PyArrayObject* whole, int half, const StageArray& wanted) {
    const std::int64_t bytes = PyArray_ITEMSIZE(whole) / 2;
    if (!has_shape(whole, wanted) || wanted.dtype != (bytes == 4 ? DType::float32 : DType::float64)) return false;
    copy_elements(whole, bytes_of(whole) + half * bytes, bytes, static_cast<std::uint8_t*>(wanted.data),
                  wanted.strides);
    return true;
}

struct PartObject {
    PyObject_HEAD HeldPart* part;
};

PyObject* g_part_type = nullptr;

PartObject* part_of(PyObject* self) {
    return reinterpret_cast<PartObject*>(self);
}

/// (held, opened)
PyObject* call_part(PyObject* self, PyObject* args, PyObject*) {
    PyObject *held = nullptr, *opened = nullptr;
    if (!PyArg_ParseTuple(args, "OO:part", &held, &opened)) return nullptr;
    return part_of(self)->part->value(held).release();
}

void free_part(PyObject* self) {
    delete part_of(self)->part;
    free_object(self);
}

} // namespace

PyObject* hold(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!has_count("hold", count, 3)) return nullptr;
    Ref kept = own(args[2]);
    if (!kept || PyDict_SetItem(args[0], args[1], kept.get()) != 0) return nullptr;
    return kept.release();
}

PyObject* joined(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (!has_count("joined", count, 2)) return nullptr;
    const Ref real = seen_as_array(args[0]), imag = seen_as_array(args[1]);
    if (!real || !imag) return nullptr;
    auto *const a = numpy_array(real.get()), *const b = numpy_array(imag.get());
    const int type = PyArray_TYPE(a);
    if ((type != NPY_FLOAT && type != NPY_DOUBLE) || PyArray_TYPE(b) != type || !PyArray_SAMESHAPE(a, b) ||
        PyArray_NDIM(a) > runtime::CopyAxes::kMost || !PyArray_ISNOTSWAPPED(a) || !PyArray_ISNOTSWAPPED(b)) {
        fail(PyExc_TypeError, "joined takes two float arrays of one dtype and shape.");
        return nullptr;
    }
    Ref made(PyArray_New(&PyArray_Type, PyArray_NDIM(a), PyArray_DIMS(a), type == NPY_FLOAT ? NPY_CFLOAT : NPY_CDOUBLE,
                         nullptr, nullptr, 0, 0, nullptr));
    if (!made) return nullptr;
    auto* const z = numpy_array(made.get());
    if (PyArray_IS_C_CONTIGUOUS(a) && PyArray_IS_C_CONTIGUOUS(b)) {
        (type == NPY_FLOAT ? join<float> : join<double>)(PyArray_DATA(a), PyArray_DATA(b), PyArray_DATA(z),
                                                         PyArray_SIZE(z));
    } else {
        copy_array(a, bytes_of(z), PyArray_STRIDES(z));
        copy_array(b, bytes_of(z) + PyArray_ITEMSIZE(z) / 2, PyArray_STRIDES(z));
    }
    return PyArray_Return(numpy_array(made.release()));
}

std::optional<HeldPart> HeldPart::of(std::string_view expression) {
    std::string_view rest = expression;
    const auto take_word = [&rest] {
        const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
        const auto end = std::ranges::find_if_not(rest, is_of_word);
        const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
        rest.remove_prefix(word.size());
        return word;
    };
    const auto takes = [&rest](std::string_view text) {
        const bool is_there = rest.starts_with(text);
        if (is_there) rest.remove_prefix(text.size());
        return is_there;
    };
    const auto is_number = [](std::string_view word) {
        return !word.empty() && std::ranges::all_of(word, [](char c) { return '0' <= c && c <= '9'; });
    };
    HeldPart part;
    const std::string_view name = take_word();
    if (!name.starts_with('r') || !is_number(name.substr(1))) return std::nullopt;
    const auto word_of = [](std::string_view word) {
        PyObject* made = unicode(word).release();
        if (made) PyUnicode_InternInPlace(&made);
        return Ref(made);
    };
    part.name_ = word_of(name);
    while (!rest.empty()) {
        const bool is_item = takes("[");
        if (!is_item && !takes(".")) return std::nullopt;
        const bool is_text = is_item && takes("'");
        const std::string_view word = take_word();
        if (word.empty() || (is_text && !takes("'")) || (is_item && !takes("]"))) return std::nullopt;
        if (is_item && !is_text && !is_number(word)) return std::nullopt;
        Ref key;
        if (!is_item || is_text) {
            key = word_of(word);
        } else {
            long number = 0;
            if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc()) return std::nullopt;
            key = Ref(PyLong_FromLong(number));
        }
        if (!key) return std::nullopt;
        const int half = is_item || !rest.empty() ? -1 : word == "real" ? 0 : word == "imag" ? 1 : -1;
        part.steps_.push_back({std::move(key), is_item, half});
    }
    return part.name_ ? std::optional(std::move(part)) : std::nullopt;
}

Ref HeldPart::behind(PyObject* held, std::size_t steps) const {
    Ref value = Ref::borrowed(PyDict_GetItemWithError(held, name_.get()));
    if (!value && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name_.get());
    for (std::size_t k = 0; value && k < steps; ++k)
        value = Ref(steps_[k].is_item ? PyObject_GetItem(value.get(), steps_[k].key.get())
                                      : PyObject_GetAttr(value.get(), steps_[k].key.get()));
    return value;
}

bool HeldPart::store(PyObject* held, const StageArray& wanted) const {
    const int half = steps_.empty() ? -1 : steps_.back().half;
    if (half >= 0) {
        const Ref whole = behind(held, steps_.size() - 1);
        if (!whole) return false;
        if (is_complex(whole.get())) return store_half(numpy_array(whole.get()), half, wanted);
    }
    const Ref found = value(held);
    return found && store_result(found.get(), wanted);
}

const HeldPart* HeldPart::in(PyObject* object) {
    const bool is_part = Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(g_part_type);
    return is_part ? part_of(object)->part : nullptr;
}

PyObject* part(PyObject*, PyObject* expression) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(expression, &size);
    if (!text) return nullptr;
    std::optional<HeldPart> found = HeldPart::of({text, static_cast<std::size_t>(size)});
    if (PyErr_Occurred()) return nullptr;
    if (!found) Py_RETURN_NONE;
    PyObject* const made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(g_part_type), 0);
    if (made) part_of(made)->part = new HeldPart(std::move(*found));
    return made;
}

PyObject* make_part_type() {
    static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_part)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(free_part)},
                                  {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.Part", sizeof(PartObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    if (!g_part_type) g_part_type = PyType_FromSpec(&spec);
    return Py_XNewRef(g_part_type);
}

bool store_result(PyObject* result, const StageArray& wanted) {
    if (store_number(result, wanted)) return true;
    const Ref array = seen_as_array(result);
    if (!array) return false;
    auto* const given = numpy_array(array.get());
    if (!is_like(given, wanted)) return false;
    // A twin has written it there.
    if (PyArray_DATA(given) == wanted.data && PyArray_ISCARRAY(given)) return true;
    const runtime::ArrayView view{wanted.data, wanted.shape, wanted.strides};
    const auto memory = runtime::memory_of(view, wanted.rank, info(wanted.dtype).bytes);
    if (PyArray_ISNOTSWAPPED(given) && !memory.meets(memory_of(given))) {
        copy_array(given, static_cast<std::uint8_t*>(wanted.data), wanted.strides);
        return true;
    }
    npy_intp shape[runtime::kMaxRank], strides[runtime::kMaxRank];
    std::copy_n(wanted.shape, wanted.rank, shape);
    std::copy_n(wanted.strides, wanted.rank, strides);
    const Ref to(PyArray_New(&PyArray_Type, wanted.rank, shape, numpy_type(wanted.dtype), strides, wanted.data, 0,
                             NPY_ARRAY_WRITEABLE, nullptr));
    return to && PyArray_CopyInto(numpy_array(to.get()), given) == 0;
}

} // namespace tilewright::face
