// python/native/face/sizes.h: size expressions (dsl/base/size_expression.h) for Python.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// evaluate_size(text, sizes) -> int
PyObject* evaluate_size(PyObject*, PyObject* args);
/// size_symbols(text) -> tuple of names
PyObject* size_symbols(PyObject*, PyObject* text);

} // namespace tilewright::face
