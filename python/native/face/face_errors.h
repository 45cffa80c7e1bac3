// python/native/face/face_errors.h: the exception for plans and objects that are damaged.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// _face.PlanError, an ImportError: it is met when a module is imported.
PyObject* plan_error();

} // namespace tilewright::face
