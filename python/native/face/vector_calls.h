// python/native/face/vector_calls.h: calls whose arguments come as an array. CPython's stable ABI has them since 3.12.
#pragma once

#include "python/native/face/signature.h"

namespace tilewright::face {

/// How CPython calls an object of a type that has kVectorFlag: arguments, how many of them are positional with the bit
/// kMayWriteBefore, names of the others.
using VectorFunction = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);

constexpr unsigned kVectorFlag = 1U << 11; ///< Py_TPFLAGS_HAVE_VECTORCALL
/// Of the number of positional arguments: who is called may put something before the first one for a while.
constexpr std::size_t kMayWriteBefore = std::size_t{1} << (8 * sizeof(std::size_t) - 1);

/// Calls `callable` as somebody else was called with `bits`, the number as that came.
PyObject* call_likewise(PyObject* callable, const RawCall& call, std::size_t bits);

/// The positional arguments as a tuple; the others as a dict. Null with a Python error.
Ref positional_of(const RawCall& call);
Ref keywords_of(const RawCall& call);

/// Lets objects of `type`, a class whose calls are `function` (in Py_tp_call), be called with an array. Before CPython
/// 3.12 no class of Python's inherits that, as somebody may set `__call__` of the class later, which nobody does here.
void take_vector_calls(PyTypeObject* type, ternaryfunc function);

} // namespace tilewright::face
