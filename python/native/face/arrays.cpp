// python/native/face/arrays.cpp: NumPy arrays in and out.
#include "python/native/face/arrays.h"

#include <cstring>

#include "dsl/base/half.h"
#include "dsl/runtime/memory.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

constexpr int kNumpyTypes[kDTypeCount] = {NPY_BOOL,    NPY_INT8,      NPY_INT16,      NPY_INT32,  NPY_INT64,
                                          NPY_UINT8,   NPY_UINT16,    NPY_UINT32,     NPY_UINT64, NPY_FLOAT32,
                                          NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128, NPY_FLOAT16};

/// NumPy's type number -> ours, -1 for none. long and long long are the same to us.
struct TypeTable {
    signed char of[NPY_NTYPES_LEGACY];
    TypeTable() {
        std::memset(of, -1, sizeof of);
        for (int i = 0; i < kDTypeCount; ++i)
            of[kNumpyTypes[i]] = static_cast<signed char>(i);
        of[NPY_LONGLONG] = static_cast<signed char>(DType::int64);
        of[NPY_ULONGLONG] = static_cast<signed char>(DType::uint64);
    }
};
const TypeTable kTypes;

PyObject* g_allocator = nullptr;

PyDataMem_Handler g_handler = {
    "tilewright_pool",
    1,
    {nullptr, [](void*, size_t bytes) -> void* { return runtime::result_allocate(bytes); },
     [](void*, size_t count, size_t bytes) -> void* {
         size_t all = 0;
         return __builtin_mul_overflow(count, bytes, &all) ? nullptr : runtime::result_allocate_zeroed(all);
     },
     [](void*, void* pointer, size_t bytes) -> void* { return runtime::result_resize(pointer, bytes); },
     [](void*, void* pointer, size_t) { runtime::result_release(pointer); }}};

std::string string_attribute(PyObject* object, const char* name) {
    return text_or(attribute_or_nothing(object, name).get(), "");
}

std::string type_name(PyObject* object) {
    return string_attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__");
}

/// The parts of a number, one behind the other, as its dtype has them.
void put_reals(DType dtype, std::initializer_list<double> parts, unsigned char* to) {
    for (const double part : parts) {
        const auto put = [&to](auto value) {
            std::memcpy(to, &value, sizeof value);
            to += sizeof value;
        };
        if (dtype == DType::float16)
            put(half_bits(part));
        else if (info(dtype).part == DType::float32)
            put(static_cast<float>(part));
        else
            put(part);
    }
}

/// The number of our dtype, -1 for none.
int number_of(const PyArray_Descr* descr) {
    const int number = descr->type_num;
    return number < 0 || number >= NPY_NTYPES_LEGACY ? -1 : kTypes.of[number];
}

bool strides_are_whole(PyArrayObject* array, int bytes) {
    npy_intp bits = 0;
    for (int k = 0, n = PyArray_NDIM(array); k < n; ++k)
        if (PyArray_DIMS(array)[k] > 1) bits |= PyArray_STRIDES(array)[k];
    return (bits & (bytes - 1)) == 0;
}

} // namespace

bool has_class(PyTypeObject* type, const char* module, const char* name) {
    Ref mro(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__mro__"));
    if (!mro) {
        PyErr_Clear();
        return false;
    }
    std::size_t length = std::strlen(module);
    for (Py_ssize_t i = 0, n = PyTuple_Size(mro.get()); i < n; ++i) {
        PyObject* one = PyTuple_GetItem(mro.get(), i);
        std::string its_module = string_attribute(one, "__module__");
        bool inside =
            its_module.compare(0, length, module) == 0 && (its_module.size() == length || its_module[length] == '.');
        if (inside && (!name || string_attribute(one, "__name__") == name)) return true;
    }
    return false;
}

int numpy_type(DType dtype) {
    return kNumpyTypes[static_cast<int>(dtype)];
}

bool dtype_of(PyArrayObject* array, DType& dtype) {
    const int number = number_of(PyArray_DESCR(array));
    if (number >= 0) dtype = static_cast<DType>(number);
    return number >= 0;
}

Mismatch check_array(PyObject* object, DType dtype, int rank) {
    if (Py_TYPE(object) != &PyArray_Type) return Mismatch::kind;
    auto* array = numpy_array(object);
    PyArray_Descr* descr = PyArray_DESCR(array);
    if (number_of(descr) != static_cast<int>(dtype)) return Mismatch::dtype;
    if (!PyArray_ISNBO(descr->byteorder)) return Mismatch::byte_order;
    if (PyArray_NDIM(array) != rank) return Mismatch::rank;
    if (!PyArray_ISALIGNED(array) || !strides_are_whole(array, info(dtype).bytes)) return Mismatch::needs_copy;
    return Mismatch::none;
}

Ref as_array(PyObject* object, const std::string& function, const std::string& name) {
    auto refuse = [&](const char* what, const char* instead) {
        PyErr_Format(PyExc_TypeError, "%s: %s is %s. Pass %s%s.", function.c_str(), name.c_str(), what, instead,
                     name.c_str());
        return Ref();
    };
    if (PyArray_Check(object)) {
        if (has_class(Py_TYPE(object), "numpy", "matrix"))
            return refuse("a numpy.matrix, whose operators mean something else", "an array, such as numpy.asarray of ");
        if (has_class(Py_TYPE(object), "numpy.ma", nullptr))
            return refuse("a masked array, and masks are not known here", "an array, such as the filled() of ");
    }
    if (has_class(Py_TYPE(object), "pandas", nullptr))
        return refuse("a pandas object", "an array, such as the to_numpy() of ");
    return Ref(PyArray_FromAny(object, nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr));
}

bool is_memmap(PyObject* object) {
    return PyArray_Check(object) && has_class(Py_TYPE(object), "numpy", "memmap");
}

bool read_scalar(PyObject* object, DType dtype, PyTypeObject* exact_type, bool strict, unsigned char* to) {
    if (exact_type && Py_TYPE(object) != exact_type) return false;
    if (PyArray_IsScalar(object, Generic)) {
        // np.float64 is a float as well; the dtype decides, so that nothing is cast.
        if (strict && !exact_type) return false;
        Ref descr(reinterpret_cast<PyObject*>(PyArray_DescrFromScalar(object)));
        if (!descr) return PyErr_Clear(), false;
        if (number_of(reinterpret_cast<PyArray_Descr*>(descr.get())) != static_cast<int>(dtype)) return false;
        PyArray_ScalarAsCtype(object, to);
        return true;
    }
    switch (dtype) {
    case DType::boolean:
        if (!PyBool_Check(object)) return false;
        *to = object == Py_True;
        return true;
    case DType::float16:
    case DType::float32:
    case DType::float64: {
        if (!PyFloat_CheckExact(object) && (strict || !PyLong_Check(object) || PyBool_Check(object))) return false;
        const double value = PyFloat_AsDouble(object);
        if (value == -1.0 && PyErr_Occurred()) return PyErr_Clear(), false;
        put_reals(dtype, {value}, to);
        return true;
    }
    case DType::complex64:
    case DType::complex128: {
        bool is_number =
            PyComplex_Check(object) || (!strict && (PyFloat_CheckExact(object) || PyLong_CheckExact(object)));
        if (!is_number) return false;
        const double real = PyComplex_RealAsDouble(object), imaginary = PyComplex_ImagAsDouble(object);
        if (PyErr_Occurred()) return PyErr_Clear(), false;
        put_reals(dtype, {real, imaginary}, to);
        return true;
    }
    default:
        break;
    }
    if (!PyLong_Check(object) || PyBool_Check(object)) return false;
    int bytes = info(dtype).bytes;
    bool is_signed = dtype >= DType::int8 && dtype <= DType::int64;
    if (is_signed) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        long long limit = bytes == 8 ? INT64_MAX : (1LL << (8 * bytes - 1)) - 1;
        if (overflow || value > limit || value < -limit - 1) return false;
        std::memcpy(to, &value, static_cast<std::size_t>(bytes)); // little-endian: the low bytes come first
    } else {
        unsigned long long value = PyLong_AsUnsignedLongLong(object);
        if (PyErr_Occurred()) return PyErr_Clear(), false;
        if (bytes < 8 && value >> (8 * bytes)) return false;
        std::memcpy(to, &value, static_cast<std::size_t>(bytes));
    }
    return true;
}

std::string describe(PyObject* object) {
    if (!PyArray_Check(object)) return type_name(object);
    auto* array = numpy_array(object);
    Ref descr = Ref::borrowed(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
    std::string out = PyArray_ISNBO(PyArray_DESCR(array)->byteorder) ? "" : "byte-swapped ";
    return out + string_attribute(descr.get(), "name") + extents_text(PyArray_DIMS(array), PyArray_NDIM(array));
}

Ref tuple_of(const std::int64_t* extents, int rank) {
    Ref tuple(PyTuple_New(rank));
    for (int k = 0; tuple && k < rank; ++k)
        PyTuple_SetItem(tuple.get(), k, PyLong_FromLongLong(extents[k]));
    return tuple;
}

std::string extents_text(const std::int64_t* extents, int rank) {
    std::string text;
    for (int k = 0; k < rank; ++k)
        text += (k ? ", " : "") + std::to_string(extents[k]);
    return "[" + text + "]";
}

std::string describe(DType dtype, int rank) {
    std::string out = std::string(info(dtype).name) + "[";
    for (int k = 0; k < rank; ++k)
        out += k ? ", :" : ":";
    return out + "]";
}

bool is_pooling() {
    static const bool pooling = runtime::pool_info().limit_bytes > 0;
    return pooling;
}

PyArrayObject* new_result(DType dtype, int rank, const std::int64_t* shape, std::int64_t elements, bool* is_pooled) {
    std::size_t bytes = static_cast<std::size_t>(elements) * static_cast<std::size_t>(info(dtype).bytes);
    *is_pooled = bytes >= kPoolFrom && is_pooling();
    if (!*is_pooled) return numpy_array(PyArray_SimpleNew(rank, shape, numpy_type(dtype)));
    Ref before(PyDataMem_SetHandler(g_allocator));
    if (!before) return nullptr;
    PyObject* array = PyArray_SimpleNew(rank, shape, numpy_type(dtype));
    // Taken back in every case; an error of the allocation is kept across it.
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    if (!array) PyErr_Fetch(&type, &value, &traceback);
    Ref ours(PyDataMem_SetHandler(before.get()));
    if (type) PyErr_Restore(type, value, traceback);
    if (!ours) {
        Py_XDECREF(array);
        return nullptr;
    }
    return numpy_array(array);
}

bool prepare_allocator() {
    if (!g_allocator) g_allocator = PyCapsule_New(&g_handler, "mem_handler", nullptr);
    return g_allocator != nullptr;
}

runtime::MemoryRange memory_of(PyArrayObject* array) {
    runtime::ArrayView view;
    view_of(array, view);
    return runtime::memory_of(view, PyArray_NDIM(array), PyArray_ITEMSIZE(array));
}

bool overlap(PyArrayObject* a, PyArrayObject* b) {
    return memory_of(a).meets(memory_of(b));
}

bool refuse_overlapping_out(const std::string& function, PyObject* out) {
    if (!PyArray_Check(out)) return false;
    auto* array = numpy_array(out);
    if (PyArray_NDIM(array) > runtime::kMaxRank) return false; // of another rank than any result
    runtime::ArrayView view;
    view_of(array, view);
    if (!runtime::overlaps_itself(view, PyArray_NDIM(array), PyArray_ITEMSIZE(array))) return false;
    PyErr_Format(PyExc_ValueError,
                 "%s: out is %s, whose elements share memory with each other. Pass numpy.empty of that.",
                 function.c_str(), describe(out).c_str());
    return true;
}

bool refuse_shared_out(const std::string& function, PyObject* out, PyObject* other) {
    if (!PyArray_Check(out) || !PyArray_Check(other)) return false;
    if (!overlap(numpy_array(out), numpy_array(other))) return false;
    Ref numpy(PyImport_ImportModule("numpy"));
    // Exact within so much work, and true beyond it.
    Ref answer(numpy ? PyObject_CallMethod(numpy.get(), "may_share_memory", "OOi", out, other, 100000) : nullptr);
    if (answer && answer.get() == Py_False) return false;
    if (answer)
        PyErr_Format(PyExc_ValueError,
                     "%s: out is %s, in the memory of another out, but each result has memory of its own. Pass "
                     "numpy.empty of that.",
                     function.c_str(), describe(out).c_str());
    return true;
}

} // namespace tilewright::face
