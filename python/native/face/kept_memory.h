// python/native/face/kept_memory.h: NumPy's own arrays in memory of our pool.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// Functions of the module; what they do stands in its table.
PyObject* keep_arrays(PyObject* module, PyObject* nothing);
PyObject* leave_arrays(PyObject* module, PyObject* nothing);

} // namespace tilewright::face
