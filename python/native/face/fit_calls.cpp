// python/native/face/fit_calls.cpp: NumPy solves the small system that has the same solutions and the same singular
// values.
#include "python/native/face/fit_calls.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/runtime/twins/tall_systems.h"

namespace tilewright::face {

using runtime::SmallSystem;
using runtime::TallSystem;

namespace {

constexpr npy_intp kLeastEquations = 128, kOfEachUnknown = 8; ///< from which on the way over a small system is shorter
constexpr npy_intp kMostColumns = 24;                         ///< of more LAPACK makes blocks
constexpr double kMostApart = 1e6;                            ///< of singular values
constexpr long kHighestDegree = 6;                            ///< of polynomials whose systems may be well posed
constexpr npy_intp kLargeSystem = 1 << 14;                    ///< numbers, during which other threads may run Python

PyArrayObject* doubles(PyObject* object, int least_rank, int most_rank) {
    PyArrayObject* const array = plain(object, least_rank);
    return array && PyArray_NDIM(array) <= most_rank && PyArray_TYPE(array) == NPY_DOUBLE ? array : nullptr;
}

bool is_tall(npy_intp equations, npy_intp unknowns, npy_intp sides) {
    return unknowns > 0 && sides > 0 && unknowns + sides <= kMostColumns && equations >= kLeastEquations &&
           equations >= kOfEachUnknown * unknowns;
}

template <class F> auto maybe_without_gil(const TallSystem& tall, const F& compute) {
    return tall.equations * (tall.unknowns + tall.sides) < kLargeSystem ? compute() : without_gil(compute);
}

Ref shaped_array(const std::vector<double>& numbers, std::vector<npy_intp> shape) {
    Ref made = new_twin_result(DType::float64, static_cast<int>(shape.size()), shape.data());
    if (made) std::ranges::copy(numbers, data_of<double>(numpy_array(made.get())));
    return made;
}

/// What NumPy gives for the small system: solutions, nothing, the rank, singular values. `is_one`: right sides are a
/// vector.
Ref solved(PyObject* solve, const TallSystem& tall, const SmallSystem& small, bool is_one, double limit) {
    const npy_intp n = tall.unknowns;
    const Ref left = shaped_array(small.left, {n, n});
    const Ref right = is_one ? shaped_array(small.right, {n}) : shaped_array(small.right, {n, tall.sides});
    const Ref rcond(PyFloat_FromDouble(limit));
    if (!left || !right || !rcond) return {};
    Ref given(PyObject_CallFunctionObjArgs(solve, left.get(), right.get(), rcond.get(), nullptr));
    return given && PyTuple_Check(given.get()) && PyTuple_Size(given.get()) == 4 ? std::move(given) : Ref();
}

/// The errors of the whole system are NumPy's to raise.
Ref nothing() {
    PyErr_Clear();
    return {};
}

/// Whether a rounding more or less is far from showing: of full rank, and the singular values are not too far apart.
bool is_well_posed(PyObject* given, npy_intp unknowns) {
    PyArrayObject* const values = doubles(PyTuple_GetItem(given, 3), 1, 1);
    if (PyLong_AsLong(PyTuple_GetItem(given, 2)) != unknowns || !values || PyArray_SIZE(values) != unknowns)
        return false;
    return data_of<const double>(values)[unknowns - 1] * kMostApart >= data_of<const double>(values)[0];
}

} // namespace

Ref lstsq(TwinCall given) {
    PyArrayObject *const a = doubles(given.take("a"), 2, 2), *const b = doubles(given.take("b"), 1, 2);
    PyObject* const rcond = given.take("rcond");
    if (!given.is_all() || !a || !b || !(is_none(rcond) || PyFloat_CheckExact(rcond))) return {};
    const npy_intp equations = PyArray_DIM(a, 0), unknowns = PyArray_DIM(a, 1);
    const npy_intp sides = PyArray_NDIM(b) == 1 ? 1 : PyArray_DIM(b, 1);
    if (PyArray_DIM(b, 0) != equations || !is_tall(equations, unknowns, sides)) return {};
    TallSystem tall{equations, unknowns, sides, {}};
    SmallSystem small;
    const auto *const left = data_of<const double>(a), *const right = data_of<const double>(b);
    tall.columns.resize(static_cast<std::size_t>(equations * (unknowns + sides)));
    const bool is_small = maybe_without_gil(tall, [&] {
        for (npy_intp k = 0; k < unknowns + sides; ++k) {
            const double* from = k < unknowns ? left + k : right + k - unknowns;
            const npy_intp step = k < unknowns ? unknowns : sides;
            for (npy_intp i = 0; i < equations; ++i, from += step)
                tall.column(k)[i] = *from;
        }
        return runtime::make_small(tall, small);
    });
    if (!is_small) return {};
    const double limit =
        is_none(rcond) ? DBL_EPSILON * static_cast<double>(equations) : PyFloat_AsDouble(rcond); // more than unknowns
    Ref found = solved(given.callee(), tall, small, PyArray_NDIM(b) == 1, limit);
    if (!found) return nothing();
    if (!is_well_posed(found.get(), unknowns)) return nothing();
    const Ref rest = shaped_array(small.rest, {sides});
    PyObject* const whole = found.get();
    return rest ? Ref(PyTuple_Pack(4, PyTuple_GetItem(whole, 0), rest.get(), PyTuple_GetItem(whole, 2),
                                   PyTuple_GetItem(whole, 3)))
                : nothing();
}

Ref polyfit(TwinCall given) {
    PyArrayObject *const x = doubles(given.take("x"), 1, 1), *const y = doubles(given.take("y"), 1, 1);
    PyObject* const degree = given.take("deg");
    if (!given.is_all() || !x || !y || !degree || !PyLong_CheckExact(degree)) return {};
    const long most = PyLong_AsLong(degree);
    const npy_intp count = PyArray_SIZE(x);
    if (PyErr_Occurred()) return nothing();
    if (most < 0 || most > kHighestDegree || PyArray_SIZE(y) != count || !is_tall(count, most + 1, 1)) return {};
    static PyObject* solve = nullptr;
    if (!solve) {
        const Ref module(PyImport_ImportModule("numpy.linalg"));
        solve = module ? PyObject_GetAttrString(module.get(), "lstsq") : nullptr;
        if (!solve) return nothing();
    }
    TallSystem tall{count, most + 1, 1, {}};
    SmallSystem small;
    std::vector<double> lengths(static_cast<std::size_t>(most) + 1);
    const auto *const at = data_of<const double>(x), *const right = data_of<const double>(y);
    tall.columns.resize(static_cast<std::size_t>(count * (most + 2)));
    const bool is_small = maybe_without_gil(tall, [&] {
        // numpy.vander(): falling powers, each the one before times x.
        std::fill_n(tall.column(most), count, 1.0);
        for (npy_intp k = most - 1; k >= 0; --k)
            for (npy_intp i = 0; i < count; ++i)
                tall.column(k)[i] = k == most - 1 ? at[i] : tall.column(k + 1)[i] * at[i];
        for (npy_intp k = 0; k <= most; ++k) {
            const double length = lengths[static_cast<std::size_t>(k)] = runtime::length_of(tall.column(k), count);
            for (npy_intp i = 0; i < count; ++i)
                tall.column(k)[i] /= length;
        }
        std::copy_n(right, count, tall.column(most + 1));
        return runtime::make_small(tall, small);
    });
    if (!is_small) return {};
    const Ref found = solved(solve, tall, small, true, static_cast<double>(count) * DBL_EPSILON);
    if (!found || !is_well_posed(found.get(), most + 1)) return nothing();
    PyArrayObject* const solution = plain(PyTuple_GetItem(found.get(), 0));
    const npy_intp length = most + 1;
    Ref result = solution ? new_twin_result(DType::float64, 1, &length) : Ref();
    if (!result) return {};
    for (npy_intp k = 0; k < length; ++k)
        data_of<double>(numpy_array(result.get()))[k] =
            data_of<const double>(solution)[k] / lengths[static_cast<std::size_t>(k)];
    return result;
}

} // namespace tilewright::face
