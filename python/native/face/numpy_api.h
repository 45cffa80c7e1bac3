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

/// The Python error of now, if there is one, put aside until this ends; what happens meanwhile is forgotten.
class KeptError {
  public:
    KeptError() { PyErr_Fetch(&type_, &value_, &traceback_); }
    ~KeptError() { PyErr_Restore(type_, value_, traceback_); }
    KeptError(const KeptError&) = delete;
    KeptError& operator=(const KeptError&) = delete;

  private:
    PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

/// The value of the Python error, which is set no longer; nothing where it has none.
inline Ref taken_error() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    const Ref of_type(type), of_traceback(traceback);
    return Ref(value);
}

/// False, with a Python error.
template <class... Values> bool fail(PyObject* type, const char* format, Values... values) {
    PyErr_Format(type, format, values...);
    return false;
}

/// Nothing, and no Python error, where there is no such attribute.
inline Ref attribute_or_nothing(PyObject* object, const char* name) {
    Ref value(object ? PyObject_GetAttrString(object, name) : nullptr);
    if (!value) PyErr_Clear();
    return value;
}
/// Likewise of a module, which is imported.
inline Ref imported_or_nothing(const char* module_name, const char* name) {
    const Ref module(PyImport_ImportModule(module_name));
    return attribute_or_nothing(module.get(), name);
}
/// `module.name`, looked up once. Null with a Python error.
inline PyObject* kept_attribute(PyObject*& kept, const char* module_name, const char* name) {
    if (kept) return kept;
    const Ref module(PyImport_ImportModule(module_name));
    return kept = module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}
/// Likewise; null without an error. `kept` is a static pointer: what a static object is made of is looked up behind a
/// lock, and an import may let a thread run that waits there with the GIL.
inline PyObject* kept_or_nothing(PyObject*& kept, const char* module_name, const char* name) {
    if (!kept_attribute(kept, module_name, name)) PyErr_Clear();
    return kept;
}

/// The end of an object of a type of ours, when all that it holds is given back.
inline void free_object(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

inline PyArrayObject* numpy_array(PyObject* array) {
    return reinterpret_cast<PyArrayObject*>(array);
}

/// A function with keywords, as a table of methods takes it.
inline PyCFunction with_keywords(PyObject* (*function)(PyObject*, PyObject*, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

} // namespace tilewright::face
