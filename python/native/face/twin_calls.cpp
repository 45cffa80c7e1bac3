// python/native/face/twin_calls.cpp: which calls of NumPy's functions dsl/runtime/twins computes, and with what arrays.
#include "python/native/face/twin_calls.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "dsl/runtime/twins/bin_counts.h"
#include "dsl/runtime/twins/ordered.h"
#include "dsl/runtime/twins/padded.h"
#include "dsl/runtime/twins/row_quantiles.h"
#include "dsl/runtime/twins/running_sums.h"
#include "dsl/runtime/twins/scattered_sums.h"
#include "dsl/runtime/twins/selected.h"
#include "dsl/runtime/twins/unique_integers.h"
#include "dsl/runtime/twins/wrapping.h"
#include "python/native/face/arrays.h"
#include "python/native/face/call_parts.h"
#include "python/native/face/draw_calls.h"
#include "python/native/face/fit_calls.h"
#include "python/native/face/fourier_calls.h"
#include "python/native/face/order_calls.h"
#include "python/native/face/system_calls.h"
#include "python/native/face/texts.h"
#include "python/native/face/twins.h"

namespace tilewright::face {
namespace {

constexpr npy_intp kLeastMask = 1 << 11; ///< elements, from which on a mask is looked through faster than by NumPy
constexpr npy_intp kLargeCall = 1 << 15; ///< elements, from which on threads are worth their start
constexpr npy_intp kManyRows = 256;      ///< from which on sums of rows are worth the look at a call

bool is_vector(PyArrayObject* array, int type) {
    return array && PyArray_NDIM(array) == 1 && PyArray_TYPE(array) == type;
}

/// The last axis, of `axis` or of None where there is one alone.
bool is_last_axis(PyObject* axis, int rank) {
    if (is_none(axis)) return rank == 1;
    if (!PyLong_CheckExact(axis)) return false;
    const long k = PyLong_AsLong(axis);
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    return k == -1 || k == rank - 1;
}

template <class T> Ref sums_of(PyArrayObject* a, npy_intp rows, npy_intp length) {
    DType dtype;
    if (!dtype_of(a, dtype)) return {};
    Ref result = new_twin_result(dtype, PyArray_NDIM(a), PyArray_DIMS(a));
    if (!result) return {};
    const auto* const from = data_of<const T>(a);
    auto* const to = data_of<T>(numpy_array(result.get()));
    without_gil([&] { runtime::running_sums(from, to, rows, length); });
    return result;
}

/// Of an array, and the axis, dtype and out behind it.
Ref sums_along_last(TwinCall given, const char* array) {
    PyArrayObject* const a = plain(given.take(array));
    PyObject* const axis = given.take("axis");
    if (!is_none(given.take("dtype")) || !is_none(given.take("out")) || !given.is_all()) return {};
    if (!a || PyArray_SIZE(a) < kLargeCall || !is_last_axis(axis, PyArray_NDIM(a))) return {};
    const npy_intp length = PyArray_DIM(a, PyArray_NDIM(a) - 1), rows = PyArray_SIZE(a) / length;
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT:
        return sums_of<float>(a, rows, length);
    case NPY_DOUBLE:
        return sums_of<double>(a, rows, length);
    case NPY_INT64:
        return sums_of<std::int64_t>(a, rows, length);
    default:
        return {};
    }
}
/// numpy.cumsum(a, axis=None, dtype=None, out=None)
Ref cumsum(TwinCall given) {
    return sums_along_last(given, "a");
}
/// numpy.add.accumulate(array, axis=0, dtype=None, out=None)
Ref accumulated(TwinCall given) {
    return sums_along_last(given, "array");
}

/// Running products, largest and smallest numbers of rows, one by one.
enum class Running { products, largest, smallest };

template <class T> Ref running_of(PyArrayObject* a, Running what) {
    DType dtype;
    const auto* const from = data_of<const T>(a);
    // Which of two zeros is the larger one, and what is said of NaN, is the callee's.
    if (what != Running::products && !runtime::are_equals_alike(from, PyArray_SIZE(a))) return {};
    Ref result = dtype_of(a, dtype) ? new_twin_result(dtype, PyArray_NDIM(a), PyArray_DIMS(a)) : Ref();
    if (!result) return {};
    auto* const to = data_of<T>(numpy_array(result.get()));
    const npy_intp length = PyArray_DIM(a, PyArray_NDIM(a) - 1), rows = PyArray_SIZE(a) / length;
    const auto scan = [&](const auto& combined) {
        runtime::parallel_pieces(rows, std::max<npy_intp>(1, kLargeCall / length), [&](npy_intp begin, npy_intp some) {
            for (npy_intp row = begin; row < begin + some; ++row) {
                T last = to[row * length] = from[row * length];
                for (npy_intp i = row * length + 1; i < (row + 1) * length; ++i)
                    to[i] = last = combined(last, from[i]);
            }
        });
    };
    without_gil([&] {
        if (what == Running::products)
            return scan([](T one, T other) { return runtime::wrapping_product(one, other); });
        if (what == Running::largest) return scan([](T one, T other) { return std::max(one, other); });
        scan([](T one, T other) { return std::min(one, other); });
    });
    return result;
}

/// Of an array, and the axis, dtype and out behind it.
Ref running_along_last(TwinCall given, const char* array, Running what) {
    PyArrayObject* const a = plain(given.take(array));
    PyObject* const axis = given.take("axis");
    if (!is_none(given.take("dtype")) || !is_none(given.take("out")) || !given.is_all()) return {};
    if (!a || PyArray_SIZE(a) < kManyRows || !is_last_axis(axis, PyArray_NDIM(a))) return {};
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT:
        return running_of<float>(a, what);
    case NPY_DOUBLE:
        return running_of<double>(a, what);
    case NPY_INT64:
        return running_of<std::int64_t>(a, what);
    default:
        return {};
    }
}
/// numpy.cumprod(a, axis=None, dtype=None, out=None)
Ref cumprod(TwinCall given) {
    return running_along_last(given, "a", Running::products);
}
/// numpy.maximum.accumulate(array, axis=0, dtype=None, out=None) and the like
template <Running what> Ref accumulated_as(TwinCall given) {
    return running_along_last(given, "array", what);
}

/// A length or width; nothing for what is no integer, or is negative or large.
std::optional<npy_intp> length_of(PyObject* object) {
    if (!object || !PyLong_CheckExact(object)) return std::nullopt;
    const npy_intp length = PyLong_AsSsize_t(object);
    if (PyErr_Occurred()) PyErr_Clear();
    return length >= 0 && length < NPY_MAX_INT32 ? std::optional(length) : std::nullopt;
}

template <class T> Ref counts_of(PyArrayObject* x, npy_intp least) {
    const npy_intp size = PyArray_SIZE(x);
    // Each thread has a table of its own.
    const npy_intp most = std::max<npy_intp>(2 * size / runtime::num_threads(), 1 << 16);
    const std::vector<std::int64_t> counts = runtime::bin_counts(data_of<const T>(x), size, most);
    if (counts.empty()) return {};
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](std::int64_t count) { return count != 0; });
    const npy_intp used = counts.rend() - last, length = std::max(used, least);
    Ref result = new_twin_result(DType::int64, 1, &length);
    if (!result) return {};
    auto* const to = data_of<std::int64_t>(numpy_array(result.get()));
    std::copy_n(counts.begin(), used, to);
    std::fill(to + used, to + length, 0);
    return result;
}

/// The sum of the weights at each place, in the order of the weights.
Ref sums_of_weights(PyArrayObject* x, PyArrayObject* weights, npy_intp least) {
    const npy_intp size = PyArray_SIZE(x);
    if (!is_vector(x, NPY_INT64) || !is_vector(weights, NPY_DOUBLE) || PyArray_SIZE(weights) != size) return {};
    const auto* const at = data_of<const std::int64_t>(x);
    const auto sums_of = [&](npy_intp length) {
        Ref result = new_twin_result(DType::float64, 1, &length);
        if (!result) return Ref();
        auto* const to = data_of<double>(numpy_array(result.get()));
        std::fill_n(to, length, 0.0);
        const bool are_all = runtime::add_up_to_outside(to, length, at, size, data_of<const double>(weights));
        return are_all ? std::move(result) : Ref();
    };
    if (least > 0) // mostly there are as many bins as the call says
        if (Ref result = sums_of(least)) return result;
    const std::int64_t largest = runtime::largest_position(at, size);
    // What is far longer than the weights is memory that NumPy may not get.
    if (largest < least || largest >= std::max<npy_intp>(16 * size, 1 << 16)) return {};
    return sums_of(largest + 1);
}

/// numpy.bincount(x, weights=None, minlength=0)
Ref bincount(TwinCall given) {
    PyArrayObject* const x = plain(given.take("x"));
    PyObject* const weights = given.take("weights");
    PyObject* const minlength = given.take("minlength");
    const std::optional<npy_intp> least = minlength ? length_of(minlength) : 0;
    if (!least || !given.is_all() || !x || PyArray_NDIM(x) != 1 || PyArray_SIZE(x) < kLargeCall) return {};
    if (!is_none(weights)) return sums_of_weights(x, plain(weights), *least);
    switch (PyArray_TYPE(x)) {
    case NPY_INT8:
        return counts_of<std::int8_t>(x, *least);
    case NPY_UINT8:
        return counts_of<std::uint8_t>(x, *least);
    case NPY_INT16:
        return counts_of<std::int16_t>(x, *least);
    case NPY_UINT16:
        return counts_of<std::uint16_t>(x, *least);
    case NPY_INT32:
        return counts_of<std::int32_t>(x, *least);
    case NPY_UINT32:
        return counts_of<std::uint32_t>(x, *least);
    case NPY_INT64:
        return counts_of<std::int64_t>(x, *least);
    default:
        return {};
    }
}

bool is_exact_float(PyObject* integer) {
    const double value = PyLong_AsDouble(integer);
    if (PyErr_Occurred()) return PyErr_Clear(), false;
    return std::abs(value) <= 0x1p24;
}

/// Rows of an array that a call names: those along its first axis, or its elements.
struct Rows {
    const std::int64_t* positions = nullptr;
    npy_intp count = 0, rows = 0, width = 1;
    std::vector<std::int64_t> of_elements = {}; ///< what `positions` are for several indices
};

/// Of a vector of positions, or a tuple of as many of them as there are axes. Nothing where one is outside.
std::optional<Rows> rows_of(PyArrayObject* array, PyObject* key) {
    Rows found;
    const int rank = PyArray_NDIM(array);
    if (key && PyTuple_CheckExact(key)) {
        if (rank < 2 || PyTuple_Size(key) != rank) return std::nullopt;
        found.rows = PyArray_SIZE(array);
        for (int k = 0; k < rank; ++k) {
            PyArrayObject* const positions = plain(PyTuple_GetItem(key, k));
            if (!is_vector(positions, NPY_INT64)) return std::nullopt;
            if (k == 0) found.of_elements.assign(static_cast<std::size_t>(PyArray_SIZE(positions)), 0);
            if (PyArray_SIZE(positions) != static_cast<npy_intp>(found.of_elements.size())) return std::nullopt;
            const auto* const at = data_of<const std::int64_t>(positions);
            const npy_intp extent = PyArray_DIM(array, k);
            if (!runtime::are_inside(at, PyArray_SIZE(positions), extent)) return std::nullopt;
            for (std::size_t i = 0; i < found.of_elements.size(); ++i)
                found.of_elements[i] = found.of_elements[i] * extent + at[i] + (at[i] < 0 ? extent : 0);
        }
        found.positions = found.of_elements.data();
        found.count = static_cast<npy_intp>(found.of_elements.size());
        return found;
    }
    PyArrayObject* const positions = plain(key);
    if (!is_vector(positions, NPY_INT64) || overlap(array, positions)) return std::nullopt;
    found.positions = data_of<const std::int64_t>(positions);
    found.count = PyArray_SIZE(positions);
    found.rows = PyArray_DIM(array, 0);
    found.width = PyArray_MultiplyList(PyArray_DIMS(array) + 1, rank - 1);
    if (!runtime::are_inside(found.positions, found.count, found.rows)) return std::nullopt;
    return found;
}

template <class T> Ref added(PyArrayObject* sums, const Rows& to, PyArrayObject* terms, bool are_taken_off) {
    const bool is_single = PyArray_NDIM(terms) == 0;
    const runtime::Terms<T> what{data_of<const T>(terms), is_single ? 0 : to.width, is_single, are_taken_off};
    runtime::add_scattered(data_of<T>(sums), to.rows, to.width, to.positions, to.count, what);
    return Ref::borrowed(Py_None);
}

/// numpy.add.at(a, indices, b); numpy.subtract.at() where terms are taken off.
Ref scattered(TwinCall given, bool are_taken_off) {
    PyArrayObject* const sums = plain(given.take("a"));
    PyObject* const key = given.take("indices");
    PyObject* b = given.take("b");
    if (!given.is_all() || !sums || !b || !PyArray_ISWRITEABLE(sums)) return {};
    const int type = PyArray_TYPE(sums), rank = PyArray_NDIM(sums);
    PyObject* const first = key && PyTuple_CheckExact(key) && PyTuple_Size(key) > 0 ? PyTuple_GetItem(key, 0) : key;
    PyArrayObject* const named = plain(first);
    // Of vectors NumPy has a loop of its own, which is as fast for short ones.
    if (!named || PyArray_SIZE(named) < (rank == 1 ? kLargeCall : kManyRows)) return {};
    Ref one;
    if (PyLong_CheckExact(b) && type == NPY_FLOAT && !is_exact_float(b)) return {}; // NumPy adds it as float64
    if (PyLong_CheckExact(b) || (PyFloat_CheckExact(b) && PyTypeNum_ISFLOAT(type))) {
        one = Ref(PyArray_FromAny(b, PyArray_DescrFromType(type), 0, 0, NPY_ARRAY_CARRAY, nullptr));
        if (!one) return PyErr_Clear(), Ref(); // an integer that the dtype does not hold
        b = one.get();
    }
    PyArrayObject* const terms = plain(b, 0);
    if (!terms || PyArray_TYPE(terms) != type || overlap(sums, terms)) return {};
    const bool is_single = PyArray_NDIM(terms) == 0;
    if (is_single != static_cast<bool>(one)) return {};
    const bool names_elements = PyTuple_CheckExact(key);
    if (!is_single) {
        const int terms_rank = names_elements ? 1 : rank;
        if (PyArray_NDIM(terms) != terms_rank || PyArray_DIM(terms, 0) != PyArray_SIZE(named)) return {};
        if (!std::equal(PyArray_DIMS(terms) + 1, PyArray_DIMS(terms) + terms_rank, PyArray_DIMS(sums) + 1)) return {};
    }
    const std::optional<Rows> to = rows_of(sums, key);
    if (!to) return {};
    switch (type) {
    case NPY_FLOAT:
        return added<float>(sums, *to, terms, are_taken_off);
    case NPY_DOUBLE:
        return added<double>(sums, *to, terms, are_taken_off);
    case NPY_INT32:
        return added<std::int32_t>(sums, *to, terms, are_taken_off);
    case NPY_INT64:
        return added<std::int64_t>(sums, *to, terms, are_taken_off);
    default:
        return {};
    }
}
Ref add_at(TwinCall given) {
    return scattered(given, false);
}
Ref subtract_at(TwinCall given) {
    return scattered(given, true);
}

/// The series of elements along an axis of an array, or of all elements for None.
struct Along {
    runtime::Series series;
    std::vector<npy_intp> shape; ///< of a number for each series
};
std::optional<Along> series_along(PyArrayObject* a, PyObject* axis) {
    if (!a || PyArray_SIZE(a) == 0) return std::nullopt;
    if (is_none(axis)) return Along{{1, PyArray_SIZE(a), 1}, {}};
    if (!PyLong_CheckExact(axis)) return std::nullopt;
    const int rank = PyArray_NDIM(a);
    long k = PyLong_AsLong(axis);
    if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
    if (k < 0) k += rank;
    if (k < 0 || k >= rank) return std::nullopt;
    Along along;
    const npy_intp* const dims = PyArray_DIMS(a);
    along.series.outer = PyArray_MultiplyList(dims, static_cast<int>(k));
    along.series.length = dims[k];
    along.series.inner = PyArray_MultiplyList(dims + k + 1, rank - static_cast<int>(k) - 1);
    along.shape.assign(dims, dims + rank);
    along.shape.erase(along.shape.begin() + k);
    return along;
}

/// An array of a number for each series, or NumPy's number of a single one; `compute` fills it, or says false.
template <class T, class F> Ref of_series(const Along& along, DType dtype, const F& compute) {
    if (along.shape.empty()) {
        T number{};
        if (!without_gil([&] { return compute(&number); })) return {};
        const Ref descr(reinterpret_cast<PyObject*>(PyArray_DescrFromType(numpy_type(dtype))));
        return Ref(PyArray_Scalar(&number, reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr));
    }
    Ref result = new_twin_result(dtype, static_cast<int>(along.shape.size()), along.shape.data());
    if (!result) return {};
    auto* const to = data_of<T>(numpy_array(result.get()));
    return without_gil([&] { return compute(to); }) ? std::move(result) : Ref();
}

/// The elements of integers as float64, in their order.
Ref as_doubles(PyArrayObject* a) {
    return Ref(PyArray_CastToType(a, PyArray_DescrFromType(NPY_DOUBLE), 0));
}

/// Whether differences of the elements are exact, as integers and as float64: then so is what lies between two of them.
bool are_apart_exactly(PyArrayObject* a) {
    const int type = PyArray_TYPE(a);
    if (type == NPY_UINT8 || type == NPY_UINT16) return true;
    if (type != NPY_INT64) return false;
    constexpr std::int64_t most = std::int64_t{1} << 51;
    const auto* const x = data_of<const std::int64_t>(a);
    return std::all_of(x, x + PyArray_SIZE(a), [](std::int64_t each) { return -most <= each && each <= most; });
}

/// Which share of the elements lies below, as NumPy reads it; nothing for what is none. `whole`: what stands for all
/// elements, 1 or 100.
std::optional<double> share_of(PyObject* q, double whole) {
    // Of an integer as the share NumPy takes an element as it is.
    if (!q || !(PyFloat_CheckExact(q) || (PyLong_CheckExact(q) && whole != 1))) return std::nullopt;
    const double share = PyFloat_AsDouble(q) / whole; // as numpy.percentile() divides
    if (PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
    return share >= 0 && share <= 1 ? std::optional(share) : std::nullopt;
}

/// numpy.quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, …), of a number or
/// a list of them.
Ref quantile_of(TwinCall given, double whole) {
    PyArrayObject* a = plain(given.take("a"));
    PyObject* const q = given.take("q");
    auto along = series_along(a, given.take("axis"));
    if (!given.is_all() || !along) return {};
    const bool is_list = q && PyList_CheckExact(q);
    std::vector<double> places;
    for (Py_ssize_t k = 0; k < (is_list ? PyList_Size(q) : 1); ++k) {
        const auto share = share_of(is_list ? PyList_GetItem(q, k) : q, whole);
        if (!share) return {};
        places.push_back(static_cast<double>(along->series.length - 1) * *share);
    }
    if (places.empty()) return {};
    Ref doubles;
    if (PyArray_TYPE(a) != NPY_DOUBLE) { // versions of NumPy place quantiles of float32 each in its own way
        doubles = are_apart_exactly(a) ? as_doubles(a) : Ref();
        if (!doubles) return {};
        a = numpy_array(doubles.get());
    }
    const npy_intp each = PyArray_MultiplyList(along->shape.data(), static_cast<int>(along->shape.size()));
    if (is_list) along->shape.insert(along->shape.begin(), static_cast<npy_intp>(places.size()));
    const auto* const from = data_of<const double>(a);
    return of_series<double>(*along, DType::float64, [&](double* to) {
        bool is_known = true;
        for (const double place : places) {
            is_known = runtime::quantiles(from, along->series, place, to) && is_known;
            to += each;
        }
        return is_known;
    });
}
Ref quantile(TwinCall given) {
    return quantile_of(given, 1);
}
Ref percentile(TwinCall given) {
    return quantile_of(given, 100);
}

/// numpy.median(a, axis=None, out=None, overwrite_input=False, keepdims=False)
Ref median(TwinCall given) {
    PyArrayObject* const a = plain(given.take("a"));
    const auto along = series_along(a, given.take("axis"));
    if (!given.is_all() || !along) return {};
    const auto of = [&]<class T>(const T* from, DType dtype) {
        return of_series<T>(*along, dtype, [&](T* to) { return runtime::medians(from, along->series, to), true; });
    };
    const int type = PyArray_TYPE(a);
    if (type == NPY_FLOAT) return of(data_of<const float>(a), DType::float32);
    if (type == NPY_DOUBLE) return of(data_of<const double>(a), DType::float64);
    if (!PyTypeNum_ISINTEGER(type)) return {};
    const Ref doubles = as_doubles(a); // which NumPy makes of the two in the middle
    return doubles ? of(data_of<const double>(numpy_array(doubles.get())), DType::float64) : Ref();
}

/// 2, (2, 3), ((2, 3),) or a pair for each axis.
std::vector<std::pair<npy_intp, npy_intp>> widths_of(PyObject* object, int rank) {
    using Pair = std::pair<npy_intp, npy_intp>;
    if (const auto width = length_of(object))
        return std::vector<Pair>(static_cast<std::size_t>(rank), {*width, *width});
    const auto pair_of = [](PyObject* pair) -> std::optional<Pair> {
        if (!pair || !PyTuple_CheckExact(pair) || PyTuple_Size(pair) != 2) return std::nullopt;
        const auto before = length_of(PyTuple_GetItem(pair, 0)), behind = length_of(PyTuple_GetItem(pair, 1));
        return before && behind ? std::optional(Pair(*before, *behind)) : std::nullopt;
    };
    if (!object || !PyTuple_CheckExact(object)) return {};
    if (const auto pair = pair_of(object)) return std::vector<Pair>(static_cast<std::size_t>(rank), *pair);
    std::vector<Pair> widths;
    for (Py_ssize_t k = 0; k < PyTuple_Size(object); ++k) {
        const auto pair = pair_of(PyTuple_GetItem(object, k));
        if (!pair) return {};
        widths.push_back(*pair);
    }
    if (widths.size() == 1) widths.resize(static_cast<std::size_t>(rank), widths[0]);
    return widths;
}

/// Where the element lies that stands at place `at` < 0 or >= n of an axis of n; -1 for zero.
using PadPlace = npy_intp (*)(npy_intp at, npy_intp n);

/// By the mode of np.pad(), with the most elements that it takes of each side; nothing for other modes.
std::optional<std::pair<PadPlace, npy_intp>> pad_place(const std::string& mode, npy_intp extent) {
    using Found = std::pair<PadPlace, npy_intp>;
    if (mode == "constant") return Found([](npy_intp, npy_intp) -> npy_intp { return -1; }, NPY_MAX_INT32);
    if (extent == 0) return std::nullopt;
    if (mode == "edge") return Found([](npy_intp at, npy_intp n) { return at < 0 ? 0 : n - 1; }, NPY_MAX_INT32);
    if (mode == "reflect")
        return Found([](npy_intp at, npy_intp n) { return at < 0 ? -at : 2 * (n - 1) - at; }, extent - 1);
    if (mode == "symmetric")
        return Found([](npy_intp at, npy_intp n) { return at < 0 ? -1 - at : 2 * n - 1 - at; }, extent);
    if (mode == "wrap") return Found([](npy_intp at, npy_intp n) { return at < 0 ? at + n : at - n; }, extent);
    return std::nullopt;
}

/// numpy.pad(array, pad_width, mode="constant")
Ref padded(TwinCall given) {
    PyArrayObject* const array = plain(given.take("array"));
    PyObject* const pad_width = given.take("pad_width");
    PyObject* const named = given.take("mode");
    DType dtype;
    if (!given.is_all() || !array || !dtype_of(array, dtype)) return {};
    const std::string mode = named ? text_or(named, "") : "constant";
    const int rank = PyArray_NDIM(array);
    const auto widths = widths_of(pad_width, rank);
    if (widths.size() != static_cast<std::size_t>(rank)) return {};
    std::vector<runtime::PaddedAxis> axes(static_cast<std::size_t>(rank));
    std::vector<npy_intp> shape;
    for (int k = 0; k < rank; ++k) {
        const auto& [before, behind] = widths[static_cast<std::size_t>(k)];
        runtime::PaddedAxis& axis = axes[static_cast<std::size_t>(k)];
        const npy_intp n = axis.extent = PyArray_DIM(array, k);
        const auto found = pad_place(mode, n);
        // Margins far larger than the array would be lists of places far larger than it.
        const npy_intp most = found ? std::min(found->second, std::max<npy_intp>(n, 1 << 16)) : -1;
        if (std::max(before, behind) > most) return {};
        for (npy_intp at = -before; at < 0; ++at)
            axis.before.push_back(found->first(at, n));
        for (npy_intp at = n; at < n + behind; ++at)
            axis.behind.push_back(found->first(at, n));
        shape.push_back(axis.padded_extent());
    }
    Ref result = new_twin_result(dtype, rank, shape.data());
    if (!result) return {};
    const auto* const from = data_of<const std::byte>(array);
    auto* const to = data_of<std::byte>(numpy_array(result.get()));
    without_gil([&] { runtime::pad(from, to, axes, static_cast<std::size_t>(PyArray_ITEMSIZE(array))); });
    return result;
}

/// numpy.ndarray.__getitem__(a, (mask,)), of a mask over all axes of the array, or the first ones.
Ref picked_out(TwinCall given) {
    PyArrayObject* const a = plain(given.take("self"));
    PyObject* const key = given.take("key");
    if (!given.is_all() || !a || !key || !PyTuple_CheckExact(key) || PyTuple_Size(key) != 1) return {};
    PyArrayObject* const mask = plain(PyTuple_GetItem(key, 0));
    DType dtype;
    if (!mask || PyArray_TYPE(mask) != NPY_BOOL || PyArray_SIZE(mask) < kLeastMask || !dtype_of(a, dtype)) return {};
    const int over = PyArray_NDIM(mask), rank = PyArray_NDIM(a) - over + 1;
    if (rank < 1 || !std::equal(PyArray_DIMS(mask), PyArray_DIMS(mask) + over, PyArray_DIMS(a))) return {};
    const auto* const chosen = data_of<const std::uint8_t>(mask);
    const npy_intp count = PyArray_SIZE(mask);
    const std::vector<std::int64_t> up_to = runtime::selected_up_to(chosen, count);
    std::vector<npy_intp> shape{up_to.back()};
    shape.insert(shape.end(), PyArray_DIMS(a) + over, PyArray_DIMS(a) + PyArray_NDIM(a));
    Ref result = new_twin_result(dtype, rank, shape.data());
    if (!result) return {};
    const npy_intp items = PyArray_MultiplyList(shape.data() + 1, rank - 1);
    const auto item_bytes = static_cast<std::size_t>(PyArray_ITEMSIZE(a) * items);
    const auto* const from = data_of<const std::byte>(a);
    auto* const to = data_of<std::byte>(numpy_array(result.get()));
    runtime::select(from, item_bytes, chosen, count, up_to, to);
    return result;
}

/// numpy.nonzero(a), of booleans.
Ref nonzero(TwinCall given) {
    PyArrayObject* const mask = plain(given.take("a"));
    if (!given.is_all() || !mask || PyArray_TYPE(mask) != NPY_BOOL || PyArray_SIZE(mask) < kLeastMask) return {};
    const int rank = PyArray_NDIM(mask);
    if (rank < 1) return {};
    const auto* const chosen = data_of<const std::uint8_t>(mask);
    const std::vector<std::int64_t> up_to = runtime::selected_up_to(chosen, PyArray_SIZE(mask));
    const npy_intp count = up_to.back();
    Ref found(PyTuple_New(rank));
    std::vector<std::int64_t*> to;
    for (int axis = 0; found && axis < rank; ++axis) {
        Ref along = new_twin_result(DType::int64, 1, &count);
        if (!along) return {};
        to.push_back(data_of<std::int64_t>(numpy_array(along.get())));
        PyTuple_SetItem(found.get(), axis, along.release());
    }
    if (!found) return {};
    runtime::positions(chosen, {PyArray_DIMS(mask), PyArray_DIMS(mask) + rank}, up_to, to);
    return found;
}

template <class T> Ref vector_of(const std::vector<T>& numbers, DType dtype) {
    const auto count = static_cast<npy_intp>(numbers.size());
    Ref made = new_twin_result(dtype, 1, &count);
    if (made) std::copy(numbers.begin(), numbers.end(), data_of<T>(numpy_array(made.get())));
    return made;
}

template <class T> Ref unique_of(PyArrayObject* a, DType dtype, runtime::UniqueParts parts) {
    const auto* const from = data_of<const T>(a);
    std::optional<runtime::UniqueIntegers<T>> found;
    if constexpr (std::is_integral_v<T>) found = runtime::unique_integers(from, PyArray_SIZE(a), parts);
    // Where NumPy sorts, it sorts values alone in vectors; of integers it makes a hash table, if nothing else is asked
    // for.
    const bool numpy_sorts_values = !parts.index && !parts.inverse && (std::is_floating_point_v<T> || parts.counts);
    if (!found && numpy_sorts_values && sorts_in_vectors()) return {};
    if (!found) found = runtime::unique_in_order(from, PyArray_SIZE(a), parts);
    if (!found) return {};
    Ref values = vector_of(found->values, dtype);
    if (!parts.index && !parts.inverse && !parts.counts) return values;
    std::vector<Ref> all{std::move(values)};
    const auto add = [&all](bool is_wanted, const std::vector<std::int64_t>& numbers) {
        if (is_wanted) all.push_back(vector_of(numbers, DType::int64));
    };
    add(parts.index, found->index);
    add(parts.inverse, found->inverse);
    add(parts.counts, found->counts);
    return put_together(true, all.size(), [&all](std::size_t k) { return std::move(all[k]); });
}

/// numpy.triu_indices(n, k=0, m=None) and numpy.tril_indices: NumPy picks them out of a mask, twice.
template <bool is_upper> Ref triangle(TwinCall given) {
    const std::optional<npy_intp> rows = length_of(given.take("n"));
    PyObject* const diagonal = given.take("k");
    PyObject* const width = given.take("m");
    const std::optional<npy_intp> columns = is_none(width) ? rows : length_of(width);
    int overflow = 0;
    if (diagonal && !PyLong_CheckExact(diagonal)) return {};
    const std::int64_t k = diagonal ? PyLong_AsLongLongAndOverflow(diagonal, &overflow) : 0;
    if (!given.is_all() || !rows || !columns || overflow || std::abs(k) > NPY_MAX_INT32) return {};
    const auto ends = [&](npy_intp i) { // of the columns of a row
        const npy_intp middle = std::clamp<npy_intp>(i + k + (is_upper ? 0 : 1), 0, *columns);
        return is_upper ? std::pair(middle, *columns) : std::pair<npy_intp, npy_intp>(0, middle);
    };
    npy_intp count = 0;
    for (npy_intp i = 0; i < *rows; ++i)
        count += ends(i).second - ends(i).first;
    Ref made[2];
    for (Ref& one : made) {
        bool is_pooled = false;
        one = Ref(reinterpret_cast<PyObject*>(new_result(DType::int64, 1, &count, count, &is_pooled)));
        if (!one) return {};
    }
    auto* row = data_of<std::int64_t>(numpy_array(made[0].get()));
    auto* column = data_of<std::int64_t>(numpy_array(made[1].get()));
    for (npy_intp i = 0; i < *rows; ++i)
        for (auto [j, end] = ends(i); j < end; ++j)
            *row++ = i, *column++ = j;
    return Ref(PyTuple_Pack(2, made[0].get(), made[1].get()));
}

/// numpy.unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None), of integers and floats.
Ref unique(TwinCall given) {
    PyArrayObject* const a = plain(given.take("ar"));
    bool are_truths = true;
    const auto truth = [&](const char* name) {
        PyObject* const option = given.take(name);
        are_truths = are_truths && (!option || PyBool_Check(option));
        return option == Py_True;
    };
    runtime::UniqueParts parts;
    parts.index = truth("return_index");
    parts.inverse = truth("return_inverse");
    parts.counts = truth("return_counts");
    DType dtype;
    if (!is_none(given.take("axis")) || !given.is_all() || !are_truths || !a || !dtype_of(a, dtype)) return {};
    // Versions of NumPy shape the inverse of more axes in their own ways.
    if (parts.inverse && PyArray_NDIM(a) != 1) return {};
    switch (dtype) {
    case DType::float32:
        return unique_of<float>(a, dtype, parts);
    case DType::float64:
        return unique_of<double>(a, dtype, parts);
    case DType::int8:
        return unique_of<std::int8_t>(a, dtype, parts);
    case DType::int16:
        return unique_of<std::int16_t>(a, dtype, parts);
    case DType::int32:
        return unique_of<std::int32_t>(a, dtype, parts);
    case DType::int64:
        return unique_of<std::int64_t>(a, dtype, parts);
    case DType::uint8:
        return unique_of<std::uint8_t>(a, dtype, parts);
    case DType::uint16:
        return unique_of<std::uint16_t>(a, dtype, parts);
    case DType::uint32:
        return unique_of<std::uint32_t>(a, dtype, parts);
    case DType::uint64:
        return unique_of<std::uint64_t>(a, dtype, parts);
    default:
        return {};
    }
}

} // namespace

Ref new_twin_result(DType dtype, int rank, const npy_intp* shape) {
    if (Ref there = Destination::array(dtype, rank, shape)) return there;
    const npy_intp elements = PyArray_OverflowMultiplyList(shape, rank);
    bool is_pooled = false;
    if (elements < 0) return {}; // too many to be counted: NumPy says so
    return Ref(reinterpret_cast<PyObject*>(new_result(dtype, rank, shape, elements, &is_pooled)));
}

const std::vector<TwinRow>& twin_rows() {
    using enum runtime::Fourier;
    static const std::vector<TwinRow> rows = {
        {"numpy.add.accumulate", accumulated},
        {"numpy.add.at", add_at},
        {"numpy.argsort", argsort},
        {"numpy.bincount", bincount},
        {"numpy.cumprod", cumprod},
        {"numpy.cumsum", cumsum},
        {"numpy.fft.fft", fourier_along<complex, true>},
        {"numpy.fft.fft2", fourier_over<complex, true, true>},
        {"numpy.fft.fftn", fourier_over<complex, true, false>},
        {"numpy.fft.ifft", fourier_along<complex, false>},
        {"numpy.fft.ifft2", fourier_over<complex, false, true>},
        {"numpy.fft.ifftn", fourier_over<complex, false, false>},
        {"numpy.fft.irfft", fourier_along<to_real, false>},
        {"numpy.fft.irfft2", fourier_over<to_real, false, true>},
        {"numpy.fft.irfftn", fourier_over<to_real, false, false>},
        {"numpy.fft.rfft", fourier_along<from_real, true>},
        {"numpy.fft.rfft2", fourier_over<from_real, true, true>},
        {"numpy.fft.rfftn", fourier_over<from_real, true, false>},
        {"numpy.fmax.accumulate", accumulated_as<Running::largest>},
        {"numpy.fmin.accumulate", accumulated_as<Running::smallest>},
        {"numpy.lexsort", lexsort},
        {"numpy.linalg.det", determinant},
        {"numpy.linalg.inv", inverse},
        {"numpy.linalg.lstsq", lstsq},
        {"numpy.linalg.solve", solution},
        {"numpy.maximum.accumulate", accumulated_as<Running::largest>},
        {"numpy.median", median},
        {"numpy.minimum.accumulate", accumulated_as<Running::smallest>},
        {"numpy.multiply.accumulate", accumulated_as<Running::products>},
        {"numpy.ndarray.__getitem__", picked_out},
        {"numpy.nonzero", nonzero},
        {"numpy.pad", padded},
        {"numpy.percentile", percentile},
        {"numpy.polyfit", polyfit},
        {"numpy.quantile", quantile},
        {"numpy.random.Generator.choice", draw_choice},
        {"numpy.random.Generator.integers", draw_integers},
        {"numpy.random.Generator.normal", draw_normal},
        {"numpy.random.Generator.permutation", draw_permutation},
        {"numpy.random.Generator.random", draw_random},
        {"numpy.random.Generator.shuffle", draw_shuffled},
        {"numpy.random.Generator.standard_normal", draw_standard_normal},
        {"numpy.random.Generator.uniform", draw_uniform},
        {"numpy.sort", sort},
        {"numpy.subtract.at", subtract_at},
        {"numpy.tril_indices", triangle<false>},
        {"numpy.triu_indices", triangle<true>},
        {"numpy.unique", unique},
    };
    return rows;
}

} // namespace tilewright::face
