// python/native/face/twin_calls.h: the functions of NumPy's that have a twin, and the calls of each that it takes.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/base/dtypes.h"
#include "python/native/face/arrays.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// The arguments of one call, by place and name. All must be asked for, in the order of their places.
class TwinCall {
  public:
    TwinCall(PyObject* callee, PyObject* args, PyObject* kwargs) : callee_(callee), args_(args), kwargs_(kwargs) {}

    PyObject* callee() const { return callee_; }

    /// Null where it is not given.
    PyObject* take(const char* name) {
        PyObject* const placed = place_ < PyTuple_Size(args_) ? PyTuple_GetItem(args_, place_) : nullptr;
        PyObject* const named = kwargs_ ? PyDict_GetItemString(kwargs_, name) : nullptr;
        ++place_;
        if (named) ++named_;
        is_given_twice_ = is_given_twice_ || (placed && named);
        return placed ? placed : named;
    }
    /// Whether nothing else is given, and nothing twice.
    bool is_all() const {
        return !is_given_twice_ && PyTuple_Size(args_) <= place_ && (!kwargs_ || PyDict_Size(kwargs_) == named_);
    }

  private:
    PyObject *callee_, *args_, *kwargs_;
    Py_ssize_t place_ = 0, named_ = 0;
    bool is_given_twice_ = false;
};

/// What is not given, or None.
inline bool is_none(PyObject* argument) {
    return !argument || argument == Py_None;
}

/// A contiguous ndarray in this machine's byte order; nothing for any other object.
inline PyArrayObject* plain(PyObject* object, int least_rank = 1) {
    if (!object || !PyArray_CheckExact(object)) return nullptr;
    auto* const array = numpy_array(object);
    const bool fits = PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) >= least_rank;
    return fits ? array : nullptr;
}

template <class T> T* data_of(PyArrayObject* array) {
    return static_cast<T*>(PyArray_DATA(array));
}

/// Lets other threads run Python meanwhile; std::bad_alloc comes through.
template <class F> auto without_gil(F&& compute) {
    struct Released {
        PyThreadState* state = PyEval_SaveThread();
        ~Released() { PyEval_RestoreThread(state); }
    } const released;
    return compute();
}

struct TwinRow {
    std::string_view name;
    /// Nothing, without a Python error: the callee's to compute. std::bad_alloc says the same.
    Ref (*compute)(TwinCall);
};
const std::vector<TwinRow>& twin_rows();

/// An array for what a twin gives: where the stage's result belongs, or a new one. Nothing where NumPy has to say why.
Ref new_twin_result(DType dtype, int rank, const npy_intp* shape);

} // namespace tilewright::face
