// python/native/face/face_types.h: what the files of the face add to the module.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// load(): one builtin function from one or more plans.
PyObject* load(PyObject* module, PyObject* args, PyObject* kwargs);
extern const char kLoadDoc[];

/// The type behind load()'s functions, class Dispatcher and class threads. Null with a Python error.
PyObject* make_kernel_type();
PyObject* make_dispatcher_type();
PyObject* make_threads_type();

/// The one MISSING object.
PyObject* missing();

} // namespace tilewright::face
