// python/native/face/vector_calls.cpp: calls whose arguments come as an array, under CPython's stable ABI of 3.11.
#include "python/native/face/vector_calls.h"

#include <dlfcn.h>

namespace tilewright::face {
namespace {

constexpr unsigned long kFirstThatInherits = 0x030C0000;
/// Of tp_flags in CPython 3.11, whose classes no longer change.
constexpr std::size_t kOffsetOfFlags = 168;

} // namespace

PyObject* call_likewise(PyObject* callable, const RawCall& call, std::size_t bits) {
    // In CPython since 3.9.
    static const auto vector_call = reinterpret_cast<VectorFunction>(dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"));
    if (vector_call) return vector_call(callable, call.items, bits, call.keyword_names);
    const Ref positional = positional_of(call), keywords = keywords_of(call);
    return positional && keywords ? PyObject_Call(callable, positional.get(), keywords.get()) : nullptr;
}

Ref positional_of(const RawCall& call) {
    Ref tuple(PyTuple_New(call.positional));
    for (Py_ssize_t i = 0; tuple && i < call.positional; ++i)
        PyTuple_SetItem(tuple.get(), i, Py_NewRef(call.items[i]));
    return tuple;
}

Ref keywords_of(const RawCall& call) {
    Ref dict(PyDict_New());
    const Py_ssize_t keywords = call.keyword_names ? PyTuple_Size(call.keyword_names) : 0;
    for (Py_ssize_t i = 0; dict && i < keywords; ++i)
        if (PyDict_SetItem(dict.get(), PyTuple_GetItem(call.keyword_names, i), call.items[call.positional + i]) != 0)
            return Ref();
    return dict;
}

void take_vector_calls(PyTypeObject* type, ternaryfunc function) {
    const unsigned long flags = PyType_GetFlags(type);
    if (Py_Version >= kFirstThatInherits || (flags & kVectorFlag) != 0) return;
    if (reinterpret_cast<ternaryfunc>(PyType_GetSlot(type, Py_tp_call)) != function) return;
    auto* const kept = reinterpret_cast<unsigned long*>(reinterpret_cast<char*>(type) + kOffsetOfFlags);
    if (*kept == flags) *kept |= kVectorFlag;
}

} // namespace tilewright::face
