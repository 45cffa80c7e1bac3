// python/native/face/operations.h: the table of a program's operations (translator/ir/operations.def) for Python.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// operations() -> tuple of (name, kind, number of operands or -1, traits, the ufunc whose `reduce` it is or "")
PyObject* operations(PyObject*, PyObject*);

} // namespace tilewright::face
