// python/native/face/order_calls.cpp: which sorts have one answer, whatever the way to it, and are long enough.
#include "python/native/face/order_calls.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/twins/ordered.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

constexpr npy_intp kLeast = 1024;             ///< elements of a row, from which on counting digits is faster
constexpr npy_intp kMost = NPY_MAX_UINT32;    ///< that places are told apart for
constexpr npy_intp kElementsOfTask = 1 << 14; ///< of rows

/// Calls compute<T>() with the type of elements; nothing for types that no twin puts in order.
template <class F> Ref with_type(int type, const F& compute) {
    switch (type) {
    case NPY_FLOAT:
        return compute.template operator()<float>();
    case NPY_DOUBLE:
        return compute.template operator()<double>();
    case NPY_INT16:
        return compute.template operator()<std::int16_t>();
    case NPY_UINT16:
        return compute.template operator()<std::uint16_t>();
    case NPY_INT32:
        return compute.template operator()<std::int32_t>();
    case NPY_UINT32:
        return compute.template operator()<std::uint32_t>();
    case NPY_INT64:
        return compute.template operator()<std::int64_t>();
    case NPY_UINT64:
        return compute.template operator()<std::uint64_t>();
    default:
        return {};
    }
}

/// A contiguous array of an object that is one or a view; nothing for what is no plain array.
Ref packed(PyObject* object) {
    if (!object || !PyArray_CheckExact(object) || !PyArray_ISBEHAVED_RO(numpy_array(object))) return {};
    if (PyArray_IS_C_CONTIGUOUS(numpy_array(object))) return Ref::borrowed(object);
    return Ref(PyArray_NewCopy(numpy_array(object), NPY_CORDER));
}

/// Whether NumPy's own sort is the faster one: it counts the digits of 16 bits where the order of equal elements is
/// asked for, and otherwise compares whole vectors where the processor has AVX-512.
bool numpy_is_faster(int bytes, bool is_stable) {
    if (is_stable) return bytes == 2;
    static const bool has_long_vectors = sorts_in_vectors();
    static const bool has_vectors_of_16_bits = has_long_vectors && __builtin_cpu_supports("avx512vbmi2");
    return bytes == 2 ? has_vectors_of_16_bits : has_long_vectors;
}

/// Rows that a call asks to put in order, each by itself.
struct Rows {
    Ref array;
    npy_intp count = 0, length = 0;
    bool is_stable = false;
    std::vector<npy_intp> shape = {}; ///< of the result

    PyArrayObject* elements() const { return numpy_array(array.get()); }
};

std::optional<Rows> rows_of(TwinCall& given) {
    PyObject* const a = given.take("a");
    PyObject* const axis = given.take("axis");
    PyObject* const kind = given.take("kind");
    const bool has_fields = !is_none(given.take("order"));
    PyObject* const stable = given.take("stable");
    if (!given.is_all() || has_fields || !(is_none(stable) || stable == Py_True)) return std::nullopt;
    const std::string name = is_none(kind) ? "quicksort" : text_or(kind, "");
    const bool is_named_stable = name == "stable" || name == "mergesort";
    if (!is_named_stable && name != "quicksort" && name != "heapsort") return std::nullopt;
    if (!is_none(stable) && !is_none(kind)) return std::nullopt; // an error of NumPy's
    Rows rows{packed(a)};
    if (!rows.array) return PyErr_Clear(), std::nullopt;
    const int rank = PyArray_NDIM(rows.elements());
    const npy_intp size = PyArray_SIZE(rows.elements());
    if (rank == 0 || size < kLeast) return std::nullopt;
    rows.shape.assign(PyArray_DIMS(rows.elements()), PyArray_DIMS(rows.elements()) + rank);
    if (axis == Py_None) {
        rows.shape = {size};
    } else if (axis) {
        const long k = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : rank;
        if (PyErr_Occurred()) PyErr_Clear();
        if (k != -1 && k != rank - 1) return std::nullopt;
    }
    rows.length = rows.shape.back();
    rows.count = size / rows.length;
    rows.is_stable = is_named_stable || stable == Py_True;
    if (rows.length < kLeast || rows.length >= kMost) return std::nullopt;
    if (numpy_is_faster(static_cast<int>(PyArray_ITEMSIZE(rows.elements())), rows.is_stable)) return std::nullopt;
    return rows;
}

/// Fills the result row by row: compute(row, elements of the result) says false where the order is NumPy's to find.
template <class T, class To, class F> Ref of_rows(const Rows& rows, DType dtype, const F& compute) {
    Ref result = new_twin_result(dtype, static_cast<int>(rows.shape.size()), rows.shape.data());
    if (!result) return {};
    const auto* const from = data_of<const T>(rows.elements());
    auto* const to = data_of<To>(numpy_array(result.get()));
    std::atomic<bool> is_known = true;
    without_gil([&] {
        const npy_intp at_once = std::max<npy_intp>(1, kElementsOfTask / rows.length);
        runtime::parallel_pieces(rows.count, at_once, [&](npy_intp begin, npy_intp some) {
            for (npy_intp k = begin; k < begin + some && is_known; ++k)
                if (!compute(from + k * rows.length, to + k * rows.length)) is_known = false;
        });
    });
    return is_known ? std::move(result) : Ref();
}

} // namespace

bool sorts_in_vectors() {
    return __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

Ref sort(TwinCall given) {
    const auto rows = rows_of(given);
    DType dtype;
    if (!rows || !dtype_of(rows->elements(), dtype)) return {};
    return with_type(PyArray_TYPE(rows->elements()), [&]<class T>() {
        return of_rows<T, T>(*rows, dtype, [&](const T* from, T* to) {
            if (!rows->is_stable && !runtime::are_equals_alike(from, rows->length)) return false;
            const auto keys = runtime::order_keys(from, rows->length);
            auto places = runtime::places_as_given(keys.size());
            runtime::order_places(keys, places);
            std::ranges::transform(places, to, [from](std::uint32_t place) { return from[place]; });
            return true;
        });
    });
}

Ref argsort(TwinCall given) {
    const auto rows = rows_of(given);
    if (!rows) return {};
    return with_type(PyArray_TYPE(rows->elements()), [&]<class T>() {
        return of_rows<T, std::int64_t>(*rows, DType::int64, [&](const T* from, std::int64_t* to) {
            const auto keys = runtime::order_keys(from, rows->length);
            // Which of equal elements comes first is NumPy's secret, where nobody asks for their order.
            if (!rows->is_stable && runtime::seems_to_have_equals(keys)) return false;
            auto places = runtime::places_as_given(keys.size());
            runtime::order_places(keys, places);
            if (!rows->is_stable && runtime::has_equal_neighbours(keys, places)) return false;
            std::ranges::copy(places, to);
            return true;
        });
    });
}

Ref lexsort(TwinCall given) {
    PyObject* const keys = given.take("keys");
    PyObject* const axis = given.take("axis");
    if (axis || !given.is_all() || !keys || !PyTuple_CheckExact(keys) || PyTuple_Size(keys) == 0) return {};
    std::vector<Ref> series;
    npy_intp length = 0;
    for (Py_ssize_t k = 0; k < PyTuple_Size(keys); ++k) {
        Ref one = packed(PyTuple_GetItem(keys, k));
        if (!one || PyArray_NDIM(numpy_array(one.get())) != 1) return PyErr_Clear(), Ref();
        if (k == 0) length = PyArray_SIZE(numpy_array(one.get()));
        if (PyArray_SIZE(numpy_array(one.get())) != length) return {};
        series.push_back(std::move(one));
    }
    if (length < kLeast || length >= kMost) return {};
    auto places = runtime::places_as_given(static_cast<std::size_t>(length));
    for (const Ref& one : series) { // the last one decides first
        const Ref is_taken = with_type(PyArray_TYPE(numpy_array(one.get())), [&]<class T>() {
            const auto* const from = data_of<const T>(numpy_array(one.get()));
            without_gil([&] { runtime::order_places(runtime::order_keys(from, length), places); });
            return Ref::borrowed(Py_None);
        });
        if (!is_taken) return {};
    }
    Ref result = new_twin_result(DType::int64, 1, &length);
    if (result) std::ranges::copy(places, data_of<std::int64_t>(numpy_array(result.get())));
    return result;
}

} // namespace tilewright::face
