// python/native/face/system_calls.cpp: the calls whose matrices are small, square, and of float32 or float64.
#include "python/native/face/system_calls.h"

#include <utility>

#include "dsl/runtime/twins/small_systems.h"

namespace tilewright::face {
namespace {

constexpr npy_intp kLargeStack = 1 << 14; ///< numbers, during which other threads may run Python

/// Matrices one after the other; nothing for other objects.
PyArrayObject* small_matrices(PyObject* object) {
    PyArrayObject* const a = plain(object, 2);
    if (!a || PyArray_SIZE(a) == 0) return nullptr;
    const npy_intp n = PyArray_DIM(a, PyArray_NDIM(a) - 1);
    return PyArray_DIM(a, PyArray_NDIM(a) - 2) == n && n <= runtime::kMostOfSmallSystem ? a : nullptr;
}

npy_intp order_of(PyArrayObject* matrices) {
    return PyArray_DIM(matrices, PyArray_NDIM(matrices) - 1);
}

/// compute(T(), dtype) with the array's T, float or double; nothing for others.
template <class F> Ref by_type(PyArrayObject* a, const F& compute) {
    if (PyArray_TYPE(a) == NPY_FLOAT) return compute(float(), DType::float32);
    return PyArray_TYPE(a) == NPY_DOUBLE ? compute(double(), DType::float64) : Ref();
}

/// A result of which `compute` makes each part, of so many elements, of a matrix. Nothing where it cannot make one.
template <class T, class F> Ref of_each(PyArrayObject* a, DType dtype, int rank, npy_intp elements, const F& compute) {
    Ref result = new_twin_result(dtype, rank, PyArray_DIMS(a));
    if (!result) return {};
    const npy_intp n = order_of(a), count = PyArray_SIZE(a) / (n * n);
    const auto* const from = data_of<const T>(a);
    auto* const to = data_of<T>(numpy_array(result.get()));
    const auto all = [&] {
        for (npy_intp k = 0; k < count; ++k)
            if (!compute(from + k * n * n, n, to + k * elements)) return false;
        return true;
    };
    const bool are_made = PyArray_SIZE(a) < kLargeStack ? all() : without_gil(all);
    return are_made ? std::move(result) : Ref();
}

} // namespace

Ref inverse(TwinCall given) {
    PyArrayObject* const a = small_matrices(given.take("a"));
    if (!given.is_all() || !a) return {};
    const npy_intp n = order_of(a);
    return by_type(
        a, [&]<class T>(T, DType dtype) { return of_each<T>(a, dtype, PyArray_NDIM(a), n * n, runtime::invert<T>); });
}

Ref determinant(TwinCall given) {
    PyArrayObject* const a = small_matrices(given.take("a"));
    if (!given.is_all() || !a) return {};
    return by_type(a, [&]<class T>(T, DType dtype) {
        const auto compute = [](const T* matrix, npy_intp n, T* to) { return runtime::determinant(matrix, n, *to); };
        if (PyArray_NDIM(a) > 2) return of_each<T>(a, dtype, PyArray_NDIM(a) - 2, 1, compute);
        T result = 0;
        const bool is_made = compute(data_of<const T>(a), order_of(a), &result);
        return is_made ? Ref(PyArray_Scalar(&result, PyArray_DESCR(a), nullptr)) : Ref();
    });
}

Ref solution(TwinCall given) {
    PyArrayObject *const a = small_matrices(given.take("a")), *const b = plain(given.take("b"));
    if (!given.is_all() || !a || !b || PyArray_NDIM(a) > 2 || PyArray_NDIM(b) > 2) return {};
    if (PyArray_TYPE(a) != PyArray_TYPE(b) || PyArray_DIM(b, 0) != order_of(a)) return {};
    const npy_intp sides = PyArray_NDIM(b) == 1 ? 1 : PyArray_DIM(b, 1);
    return by_type(a, [&]<class T>(T, DType dtype) {
        Ref result = new_twin_result(dtype, PyArray_NDIM(b), PyArray_DIMS(b));
        if (!result) return Ref();
        auto* const to = data_of<T>(numpy_array(result.get()));
        const bool is_solved = runtime::solve(data_of<const T>(a), order_of(a), data_of<const T>(b), sides, to);
        return is_solved ? std::move(result) : Ref();
    });
}

} // namespace tilewright::face
