// python/native/face/system_calls.cpp: the calls whose matrices are small, square, and of float32 or float64.
#include "python/native/face/system_calls.h"

#include "dsl/runtime/twins/small_systems.h"

namespace tilewright::face {
namespace {

/// Matrices one after the other; nothing for other objects.
PyArrayObject* small_matrices(PyObject* object, int most_rank) {
    PyArrayObject* const a = plain(object, 2);
    if (!a || PyArray_NDIM(a) > most_rank || PyArray_SIZE(a) == 0) return nullptr;
    const npy_intp n = PyArray_DIM(a, PyArray_NDIM(a) - 1);
    return PyArray_DIM(a, PyArray_NDIM(a) - 2) == n && n <= runtime::kMostOfSmallSystem ? a : nullptr;
}

npy_intp order_of(PyArrayObject* matrices) {
    return PyArray_DIM(matrices, PyArray_NDIM(matrices) - 1);
}

/// A result of which `compute` makes each part, of so many elements, of a matrix. Nothing where it cannot make one.
template <class T, class F> Ref of_each(PyArrayObject* a, DType dtype, int rank, npy_intp elements, const F& compute) {
    Ref result = new_twin_result(dtype, rank, PyArray_DIMS(a));
    if (!result) return {};
    const npy_intp n = order_of(a), count = PyArray_SIZE(a) / (n * n);
    const auto* const from = data_of<const T>(a);
    auto* const to = data_of<T>(numpy_array(result.get()));
    for (npy_intp k = 0; k < count; ++k)
        if (!compute(from + k * n * n, n, to + k * elements)) return {};
    return result;
}

template <class T> Ref inverse_of(PyArrayObject* a, DType dtype) {
    const npy_intp n = order_of(a);
    return of_each<T>(a, dtype, PyArray_NDIM(a), n * n, runtime::invert<T>);
}

template <class T> Ref determinant_of(PyArrayObject* a, DType dtype) {
    const auto compute = [](const T* matrix, npy_intp n, T* to) { return runtime::determinant(matrix, n, *to); };
    if (PyArray_NDIM(a) > 2) return of_each<T>(a, dtype, PyArray_NDIM(a) - 2, 1, compute);
    T result = 0;
    if (!compute(data_of<const T>(a), order_of(a), &result)) return {};
    return Ref(PyArray_Scalar(&result, PyArray_DESCR(a), nullptr));
}

template <class T> Ref solution_of(PyArrayObject* a, PyArrayObject* b, DType dtype) {
    Ref result = new_twin_result(dtype, PyArray_NDIM(b), PyArray_DIMS(b));
    if (!result) return {};
    const npy_intp sides = PyArray_NDIM(b) == 1 ? 1 : PyArray_DIM(b, 1);
    auto* const to = data_of<T>(numpy_array(result.get()));
    const bool is_solved = runtime::solve(data_of<const T>(a), order_of(a), data_of<const T>(b), sides, to);
    return is_solved ? std::move(result) : Ref();
}

} // namespace

Ref inverse(TwinCall given) {
    PyArrayObject* const a = small_matrices(given.take("a"), NPY_MAXDIMS);
    if (!given.is_all() || !a) return {};
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT:
        return inverse_of<float>(a, DType::float32);
    case NPY_DOUBLE:
        return inverse_of<double>(a, DType::float64);
    default:
        return {};
    }
}

Ref determinant(TwinCall given) {
    PyArrayObject* const a = small_matrices(given.take("a"), NPY_MAXDIMS);
    if (!given.is_all() || !a) return {};
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT:
        return determinant_of<float>(a, DType::float32);
    case NPY_DOUBLE:
        return determinant_of<double>(a, DType::float64);
    default:
        return {};
    }
}

Ref solution(TwinCall given) {
    PyArrayObject *const a = small_matrices(given.take("a"), 2), *const b = plain(given.take("b"));
    if (!given.is_all() || !a || !b || PyArray_NDIM(b) > 2 || PyArray_TYPE(a) != PyArray_TYPE(b)) return {};
    if (PyArray_DIM(b, 0) != order_of(a)) return {};
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT:
        return solution_of<float>(a, b, DType::float32);
    case NPY_DOUBLE:
        return solution_of<double>(a, b, DType::float64);
    default:
        return {};
    }
}

} // namespace tilewright::face
