// python/native/face/face_errors.h: the exceptions that are the face's own.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// _face.PlanError, an ImportError: it is met when a module is imported.
PyObject* plan_error();
/// _face.WrittenError, a ValueError: memory of the call's arrays is shared with, or cannot be, what the call writes.
PyObject* written_error();

} // namespace tilewright::face
