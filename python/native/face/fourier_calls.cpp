// python/native/face/fourier_calls.cpp: numpy.fft as NumPy's own source has it, one transform after the other.
#include "python/native/face/fourier_calls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/native/face/arrays.h"
#include "python/native/face/texts.h"
#include "python/native/face/twins.h"

namespace tilewright::face {

using runtime::Fourier;

namespace {

constexpr npy_intp kLongest = 1 << 16; ///< plans are kept, and take 16 bytes an element; there they matter little

enum class Norm { backward, ortho, forward };

/// What a call asks for, with NumPy's own errors left to NumPy.
struct FourierCall {
    Fourier kind;
    bool forward;
    std::vector<int> axes;
    std::vector<npy_intp> lengths; ///< along each axis of these; -1: as the array has it
    Norm norm = Norm::backward;
};

std::optional<npy_intp> integer(PyObject* object) {
    if (!PyLong_CheckExact(object)) return std::nullopt;
    const npy_intp value = PyLong_AsSsize_t(object);
    if (value == -1 && PyErr_Occurred()) return PyErr_Clear(), std::nullopt;
    return value;
}

std::optional<std::vector<npy_intp>> integers(PyObject* tuple) {
    if (!PyTuple_CheckExact(tuple)) return std::nullopt;
    std::vector<npy_intp> all;
    for (Py_ssize_t k = 0; k < PyTuple_Size(tuple); ++k) {
        const auto one = integer(PyTuple_GetItem(tuple, k));
        if (!one) return std::nullopt;
        all.push_back(*one);
    }
    return all;
}

std::optional<Norm> norm_of(PyObject* object) {
    const std::string text = is_none(object) ? "backward" : text_or(object, "");
    if (text == "backward") return Norm::backward;
    if (text == "ortho") return Norm::ortho;
    if (text == "forward") return Norm::forward;
    return std::nullopt;
}

/// With zeros behind it along an axis.
Ref padded_to(PyArrayObject* a, int axis, npy_intp length) {
    std::vector<npy_intp> shape(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a));
    shape[static_cast<std::size_t>(axis)] = length;
    Ref made(PyArray_Zeros(PyArray_NDIM(a), shape.data(), PyArray_DescrFromType(PyArray_TYPE(a)), 0));
    if (!made) return {};
    auto* const whole = numpy_array(made.get());
    const Ref part(PyArray_New(&PyArray_Type, PyArray_NDIM(a), PyArray_DIMS(a), PyArray_TYPE(a), PyArray_STRIDES(whole),
                               PyArray_DATA(whole), 0, NPY_ARRAY_WRITEABLE, nullptr));
    if (!part || PyArray_CopyInto(numpy_array(part.get()), a) != 0) return {};
    return made;
}

double factor_of(Norm norm, bool forward, npy_intp length) {
    const auto n = static_cast<double>(length);
    if (norm == Norm::ortho) return 1 / std::sqrt(n);
    return (norm == Norm::backward) == forward ? 1 : 1 / n;
}

/// Along one axis. `array` is our own and may be written, where `is_own`.
Ref along(Ref array, bool is_own, Fourier kind, bool forward, int axis, npy_intp length, Norm norm) {
    const npy_intp given = PyArray_DIM(numpy_array(array.get()), axis);
    if (length == -1) length = kind == Fourier::to_real ? 2 * (given - 1) : given;
    if (length < 1 || length > kLongest) return {};
    const int from_type = kind == Fourier::from_real ? NPY_DOUBLE : NPY_CDOUBLE;
    if (from_type != PyArray_TYPE(numpy_array(array.get()))) {
        if (kind == Fourier::from_real) return {};
        array = Ref(PyArray_CastToType(numpy_array(array.get()), PyArray_DescrFromType(from_type), 0));
        is_own = true;
        if (!array) return {};
    }
    const npy_intp used = kind == Fourier::to_real ? length / 2 + 1 : length;
    if (given < used) {
        array = padded_to(numpy_array(array.get()), axis, used);
        is_own = true;
        if (!array) return {};
    }
    auto* const a = numpy_array(array.get());
    const int rank = PyArray_NDIM(a);
    runtime::FourierPass pass{kind, forward, static_cast<std::size_t>(axis), {}, {}, {}};
    std::vector<npy_intp> shape(PyArray_DIMS(a), PyArray_DIMS(a) + rank);
    shape[pass.axis] = length;
    pass.shape.assign(shape.begin(), shape.end());
    shape[pass.axis] = kind == Fourier::from_real ? length / 2 + 1 : length;
    const bool is_in_place = is_own && kind == Fourier::complex && PyArray_DIM(a, axis) == length;
    const DType dtype = kind == Fourier::to_real ? DType::float64 : DType::complex128;
    Ref made = is_in_place ? array : new_twin_result(dtype, rank, shape.data());
    if (!made) return {};
    auto* const to = numpy_array(made.get());
    pass.from_strides.assign(PyArray_STRIDES(a), PyArray_STRIDES(a) + rank);
    pass.to_strides.assign(PyArray_STRIDES(to), PyArray_STRIDES(to) + rank);
    // With the GIL: a fork on another thread could meet pocketfft in the lock of its plans, and leave it locked there.
    runtime::transform(pass, PyArray_DATA(a), PyArray_DATA(to), factor_of(norm, forward, length));
    return made;
}

/// Axis by axis, in NumPy's order.
Ref transformed(PyObject* a, const FourierCall& call) {
    const std::size_t last = call.axes.size() - 1;
    Ref array = Ref::borrowed(a);
    bool is_own = false;
    const auto pass = [&](Fourier kind, std::size_t k) {
        if (array)
            array = along(std::move(array), is_own, kind, call.forward, call.axes[k], call.lengths[k], call.norm);
        is_own = true;
    };
    if (call.kind != Fourier::to_real) {
        pass(call.kind, last);
        for (std::size_t k = last; k-- > 0;)
            pass(Fourier::complex, k);
    } else {
        for (std::size_t k = 0; k < last; ++k)
            pass(Fourier::complex, k);
        pass(Fourier::to_real, last);
    }
    return array;
}

/// Whether this NumPy computes the very bits that we do, asked for some rows whose lengths have all kinds of factors:
/// others have been built with other libraries, or for later processors.
bool agrees(PyObject* callee, FourierCall call, bool over_all, int type) {
    call.axes = over_all ? std::vector{0, 1} : std::vector{1};
    call.lengths.assign(call.axes.size(), -1);
    call.norm = Norm::backward;
    for (const npy_intp length : {120, 308, 26, 36, 251}) {
        const npy_intp shape[] = {3, call.kind == Fourier::to_real ? length / 2 + 1 : length};
        const Ref probe(PyArray_New(&PyArray_Type, 2, shape, type, nullptr, nullptr, 0, 0, nullptr));
        if (!probe) return false;
        auto* const numbers = static_cast<double*>(PyArray_DATA(numpy_array(probe.get())));
        for (npy_intp i = 0; i < PyArray_NBYTES(numpy_array(probe.get())) / npy_intp{sizeof(double)}; ++i)
            numbers[i] = static_cast<double>((i * i * 7 + i * 3) % 101) / 97 - 0.5;
        const Ref ours = transformed(probe.get(), call);
        const Ref theirs(PyObject_CallFunctionObjArgs(callee, probe.get(), nullptr));
        if (!ours || !theirs || !PyArray_Check(theirs.get())) return false;
        auto *const a = numpy_array(ours.get()), *const b = numpy_array(theirs.get());
        if (PyArray_TYPE(a) != PyArray_TYPE(b) || !PyArray_SAMESHAPE(a, b) || !PyArray_IS_C_CONTIGUOUS(b)) return false;
        if (std::memcmp(PyArray_DATA(a), PyArray_DATA(b), static_cast<std::size_t>(PyArray_NBYTES(a))) != 0)
            return false;
    }
    return true;
}

/// `known`: of each type of elements, what agrees() has said.
using Known = std::vector<std::pair<int, bool>>;

/// `over_all`: the callee's axes are all that there are, unless it is told others.
Ref checked(PyObject* callee, PyObject* a, const FourierCall& call, bool over_all, Known& known) {
    const int type = PyArray_TYPE(numpy_array(a));
    auto found = std::ranges::find(known, type, &Known::value_type::first);
    if (found == known.end()) {
        const bool is_same = agrees(callee, call, over_all, type);
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return {}; // Ctrl-C
        PyErr_Clear();
        found = known.insert(known.end(), {type, is_same});
    }
    return found->second ? transformed(a, call) : Ref();
}

/// An exact array that pocketfft takes as it lies; null for others.
PyObject* taken(PyObject* object) {
    if (!object || !PyArray_CheckExact(object)) return nullptr;
    auto* const a = numpy_array(object);
    const int type = PyArray_TYPE(a);
    const bool is_double = type == NPY_DOUBLE || type == NPY_CDOUBLE;
    return is_double && PyArray_ISBEHAVED_RO(a) && PyArray_NDIM(a) > 0 && PyArray_SIZE(a) > 0 ? object : nullptr;
}

/// From 0 on; nothing for what is no axis, or is there twice.
bool normalize(std::vector<npy_intp>& axes, int rank) {
    for (npy_intp& axis : axes) {
        if (axis < -rank || axis >= rank) return false;
        if (axis < 0) axis += rank;
        if (std::ranges::count(axes, axis) > 1) return false;
    }
    return true;
}

} // namespace

template <Fourier kind, bool forward> Ref fourier_along(TwinCall given) {
    static Known& known = *new Known;
    PyObject* const a = taken(given.take("a"));
    PyObject* const n = given.take("n");
    PyObject* const axis = given.take("axis");
    const auto norm = norm_of(given.take("norm"));
    if (!a || !norm || !is_none(given.take("out")) || !given.is_all()) return {};
    const auto length = is_none(n) ? -1 : integer(n).value_or(0);
    const auto along_axis = axis ? integer(axis) : std::optional<npy_intp>(-1);
    if (!along_axis || (length < 1 && !is_none(n))) return {};
    std::vector<npy_intp> axes{*along_axis};
    if (!normalize(axes, PyArray_NDIM(numpy_array(a)))) return {};
    return checked(given.callee(), a, {kind, forward, {static_cast<int>(axes[0])}, {length}, *norm}, false, known);
}

template <Fourier kind, bool forward, bool planes> Ref fourier_over(TwinCall given) {
    static Known& known = *new Known;
    PyObject* const a = taken(given.take("a"));
    PyObject* const s = given.take("s");
    PyObject* const given_axes = given.take("axes");
    const auto norm = norm_of(given.take("norm"));
    if (!a || !norm || !is_none(given.take("out")) || !given.is_all()) return {};
    const int rank = PyArray_NDIM(numpy_array(a));
    std::optional<std::vector<npy_intp>> axes, lengths;
    if (!is_none(given_axes)) {
        axes = integers(given_axes);
    } else if (planes && !given_axes) {
        axes = {-2, -1};
    } else if (is_none(s)) {
        axes.emplace();
        for (int k = 0; k < rank; ++k)
            axes->push_back(k);
    }
    if (!axes || axes->empty() || !normalize(*axes, rank)) return {};
    lengths = is_none(s) ? std::vector<npy_intp>(axes->size(), -1) : integers(s);
    if (!lengths || lengths->size() != axes->size()) return {};
    if (!is_none(s) && std::ranges::any_of(*lengths, [](npy_intp n) { return n < 1; })) return {};
    return checked(given.callee(), a, {kind, forward, {axes->begin(), axes->end()}, *lengths, *norm}, true, known);
}

template Ref fourier_along<Fourier::complex, true>(TwinCall);
template Ref fourier_along<Fourier::complex, false>(TwinCall);
template Ref fourier_along<Fourier::from_real, true>(TwinCall);
template Ref fourier_along<Fourier::to_real, false>(TwinCall);
template Ref fourier_over<Fourier::complex, true, true>(TwinCall);
template Ref fourier_over<Fourier::complex, true, false>(TwinCall);
template Ref fourier_over<Fourier::complex, false, true>(TwinCall);
template Ref fourier_over<Fourier::complex, false, false>(TwinCall);
template Ref fourier_over<Fourier::from_real, true, true>(TwinCall);
template Ref fourier_over<Fourier::from_real, true, false>(TwinCall);
template Ref fourier_over<Fourier::to_real, false, true>(TwinCall);
template Ref fourier_over<Fourier::to_real, false, false>(TwinCall);

} // namespace tilewright::face
