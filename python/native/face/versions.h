// python/native/face/versions.h: versions that were compiled one by one, as one plan, for Python.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// compose_plan(versions) -> text. A version is a tuple of its label, the suffix of its objects, the text of a plan of
/// this version alone, and what it requires beside: ("isa", LEVEL), ("c", ARRAY), ("f", ARRAY), ("condition", SIZES).
/// The first one's arguments, guards and results are the whole plan's. PlanError for no version, and for damaged text.
PyObject* compose_plan(PyObject*, PyObject* versions);

} // namespace tilewright::face
