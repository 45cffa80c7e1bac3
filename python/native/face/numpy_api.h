// python/native/face/numpy_api.h: Python's limited API and NumPy's C API, as every file of the face includes them.
#pragma once

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL tilewright_face_array_api
#ifndef TW_FACE_IMPORTS_ARRAY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace tilewright::face {

/// An owned reference.
class Ref {
  public:
    Ref() = default;
    explicit Ref(PyObject* owned) : object_(owned) {}
    Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Ref(const Ref& other) : object_(Py_XNewRef(other.object_)) {}
    Ref& operator=(Ref other) noexcept {
        PyObject* mine = object_;
        object_ = other.object_;
        other.object_ = mine;
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }
    static Ref borrowed(PyObject* object) { return Ref(Py_XNewRef(object)); }

    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* mine = object_;
        object_ = nullptr;
        return mine;
    }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    PyObject* object_ = nullptr;
};

/// A function with keywords, as a table of methods takes it.
inline PyCFunction with_keywords(PyObject* (*function)(PyObject*, PyObject*, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

} // namespace tilewright::face
