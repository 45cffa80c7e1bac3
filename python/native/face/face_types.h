// python/native/face/face_types.h: what the files of the face add to the module.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// load(): one builtin function from one or more plans.
PyObject* load(PyObject* module, PyObject* args, PyObject* kwargs);

/// The type behind load()'s functions, class Dispatcher, class BoundCall and class threads. Null with a Python error.
PyObject* make_kernel_type();
PyObject* make_dispatcher_type();
PyObject* make_bound_call_type();
PyObject* make_threads_type();
/// Whether it is of class Dispatcher, or of one that it is the base of.
bool is_dispatcher(PyObject* object);

/// What `instance.function` is; the function itself without an instance.
PyObject* bind_call(PyObject* function, PyObject* instance, PyObject* owner);
/// set_bound_type(type): the class of that, which BoundCall is a base of.
PyObject* set_bound_type(PyObject*, PyObject* type);

/// compose_plan(versions) -> text. A version is a tuple of its label, the suffix of its objects, the text of a plan of
/// this version alone, and what it requires beside: ("isa", LEVEL), ("c", ARRAY), ("f", ARRAY), ("condition", SIZES).
/// The first one's arguments, guards and results are the whole plan's. PlanError for no version, and for damaged text.
PyObject* compose_plan(PyObject*, PyObject* versions);
/// evaluate_size(text, sizes) -> int
PyObject* evaluate_size(PyObject*, PyObject* args);
/// size_symbols(text) -> tuple of names
PyObject* size_symbols(PyObject*, PyObject* text);
/// operations() -> tuple of (name, kind, number of operands or -1, traits, the ufunc whose `reduce` it is or "")
PyObject* operations(PyObject*, PyObject*);

// What kernels need on a device, and how long their launches take.
/// profile(call): calls it, and gives (launches, untimed).
PyObject* profile(PyObject*, PyObject* call);
/// function_facts(device, ptx)
PyObject* function_facts(PyObject*, PyObject* args);
/// ptx_for(capability, ptx)
PyObject* ptx_for(PyObject*, PyObject* args);
/// cubins_in(folder)
PyObject* cubins_in(PyObject*, PyObject* folder);

/// The one MISSING object.
inline PyObject* g_missing = nullptr;

} // namespace tilewright::face
