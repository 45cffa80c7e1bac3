// python/native/face/call_parts.h: what calls on the host and on a device have in common.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "dsl/runtime/executor.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

// Releasing and taking the GIL costs about as much as a kernel on this many bytes.
inline constexpr std::int64_t kReleaseGilFrom = 64 << 10;

/// Owned references in stack memory.
class RefArray {
  public:
    RefArray(void* memory, std::size_t count) : items_(static_cast<PyObject**>(memory)), count_(count) {
        std::memset(memory, 0, count * sizeof(PyObject*));
    }
    ~RefArray() {
        for (std::size_t i = 0; i < count_; ++i)
            Py_XDECREF(items_[i]);
    }
    RefArray(const RefArray&) = delete;
    RefArray& operator=(const RefArray&) = delete;
    PyObject*& operator[](std::size_t i) { return items_[i]; }
    PyObject** items() { return items_; }

  private:
    PyObject** items_;
    std::size_t count_;
};

/// Results of a call on the host, in stack memory.
class HostResults {
  public:
    static std::size_t bytes(std::size_t count) { return count * (16 + 2 * sizeof(PyObject*)) + 16; }
    HostResults(void* memory, std::size_t count)
        : scalars_(static_cast<unsigned char*>(memory) + (-reinterpret_cast<std::uintptr_t>(memory) & 15)),
          made(scalars_ + 16 * count, count), given(made.items() + count, count) {}
    /// Where a result of no dimensions lies that no array is made for.
    void* scalar(std::size_t i) { return scalars_ + 16 * i; }

  private:
    unsigned char* scalars_; // first: the others begin behind it

  public:
    RefArray made;  ///< what the kernels write
    RefArray given; ///< the caller's out arrays
};

/// The GIL while a plan runs: given back for large calls at once, for others when their loops take long.
class RunningThread {
  public:
    void release_gil() {
        if (!state_) state_ = PyEval_SaveThread();
    }
    bool released() const { return state_ != nullptr; }
    void take_gil() {
        if (state_) PyEval_RestoreThread(state_);
        state_ = nullptr;
    }
    /// Whether a signal's handler raised: Ctrl-C. Signals come to the main thread alone.
    bool interrupted() {
        bool raised = false;
        if (syscall(SYS_gettid) == getpid()) {
            take_gil();
            raised = PyErr_CheckSignals() != 0;
        }
        release_gil();
        return raised;
    }
    /// Asks interrupted() on behalf of a plan.
    runtime::Interrupt interrupt() {
        return {[](void* context) { return static_cast<RunningThread*>(context)->interrupted(); }, this};
    }

  private:
    PyThreadState* state_ = nullptr;
};

/// Of what a call returns, or was given as `out`.
inline PyObject* item_at(PyObject* object, std::size_t index) {
    return PyTuple_Check(object) ? PyTuple_GetItem(object, static_cast<Py_ssize_t>(index)) : object;
}

/// What a call returns, or takes as `out`: one value, a tuple of values, or None, each as `item(index)` gives it.
/// Nothing with a Python error where some item is nothing.
template <class Item> Ref put_together(bool is_tuple, std::size_t count, const Item& item) {
    if (!is_tuple) return count == 0 ? Ref::borrowed(Py_None) : item(0);
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t k = 0; tuple && k < count; ++k) {
        Ref each = item(k);
        if (!each) return Ref();
        PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(k), each.release());
    }
    return tuple;
}

/// An int, a float or a bool of an int64, a float64 or a truth.
inline Ref python_number(const std::string& type, const void* from) {
    if (type == "int") {
        std::int64_t value = 0;
        std::memcpy(&value, from, sizeof value);
        return Ref(PyLong_FromLongLong(value));
    }
    if (type == "float") {
        double value = 0;
        std::memcpy(&value, from, sizeof value);
        return Ref(PyFloat_FromDouble(value));
    }
    return Ref(PyBool_FromLong(*static_cast<const unsigned char*>(from)));
}

/// NumPy's number in the place of one of Python's, which a call was handed and an array had in it; all else as it is.
/// An int has 64 bits here: plans take no other.
inline Ref numpy_number(PyObject* own) {
    const auto scalar = [](void* value, int type) {
        const Ref descr(reinterpret_cast<PyObject*>(PyArray_DescrFromType(type)));
        return Ref(PyArray_Scalar(value, reinterpret_cast<PyArray_Descr*>(descr.get()), nullptr));
    };
    if (PyBool_Check(own)) {
        npy_bool value = own == Py_True;
        return scalar(&value, NPY_BOOL);
    }
    if (PyFloat_CheckExact(own)) {
        double value = PyFloat_AsDouble(own);
        return scalar(&value, NPY_DOUBLE);
    }
    if (PyLong_CheckExact(own)) {
        npy_int64 value = PyLong_AsLongLong(own);
        return scalar(&value, NPY_INT64);
    }
    return Ref::borrowed(own);
}

} // namespace tilewright::face
