// python/native/face/twin_calls.h: the functions of NumPy's that have a twin, and the calls of each that it takes.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/base/dtypes.h"
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

struct TwinRow {
    std::string_view name;
    /// Nothing, without a Python error: the callee's to compute. std::bad_alloc says the same.
    Ref (*compute)(TwinCall);
};
const std::vector<TwinRow>& twin_rows();

/// An array for what a twin gives: where the stage's result belongs, or a new one. Nothing where NumPy has to say why.
Ref new_twin_result(DType dtype, int rank, const npy_intp* shape);

} // namespace tilewright::face
