// python/native/face/bound_calls.cpp: class BoundCall, a dispatcher and the object whose method it is.
#include <algorithm>
#include <utility>
#include <vector>

#include "python/native/face/face_types.h"
#include "python/native/face/vector_calls.h"

namespace tilewright::face {
namespace {

struct BoundCall {
    PyObject_HEAD VectorFunction vector_call;
    PyObject *function, *instance, *weak_references;
};

BoundCall* of(PyObject* self) {
    return reinterpret_cast<BoundCall*>(self);
}

PyObject* g_bound_type = nullptr; ///< what `object.method` is

PyObject* call_vector(PyObject* self, PyObject* const* items, std::size_t bits, PyObject* names) {
    const std::size_t positional = bits & ~kMayWriteBefore;
    const auto count = static_cast<Py_ssize_t>(positional + 1);
    if (bits & kMayWriteBefore) {
        auto** const place = const_cast<PyObject**>(items) - 1;
        PyObject* const before = std::exchange(*place, of(self)->instance);
        PyObject* const result = call_likewise(of(self)->function, {place, count, names}, positional + 1);
        *place = before;
        return result;
    }
    const std::size_t all = positional + (names ? static_cast<std::size_t>(PyTuple_Size(names)) : 0);
    std::vector<PyObject*> own(all + 1);
    own[0] = of(self)->instance;
    std::copy(items, items + all, own.begin() + 1);
    return call_likewise(of(self)->function, {own.data(), count, names}, positional + 1);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
    const Py_ssize_t positional = PyTuple_Size(args);
    const Ref all(PyTuple_New(positional + 1));
    if (!all) return nullptr;
    PyTuple_SetItem(all.get(), 0, Py_NewRef(of(self)->instance));
    for (Py_ssize_t i = 0; i < positional; ++i)
        PyTuple_SetItem(all.get(), i + 1, Py_NewRef(PyTuple_GetItem(args, i)));
    return PyObject_Call(of(self)->function, all.get(), kwargs);
}

PyObject* make(PyTypeObject* type, PyObject* function, PyObject* instance) {
    PyObject* self = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!self) return nullptr;
    of(self)->vector_call = call_vector;
    of(self)->function = Py_NewRef(function);
    of(self)->instance = Py_NewRef(instance);
    return self;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *function = nullptr, *instance = nullptr;
    if (!PyArg_ParseTuple(args, "OO:BoundCall", &function, &instance)) return nullptr;
    take_vector_calls(type, call);
    return make(type, function, instance);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(of(self)->function);
    Py_VISIT(of(self)->instance);
    return 0;
}

int clear_references(PyObject* self) {
    Py_CLEAR(of(self)->function);
    Py_CLEAR(of(self)->instance);
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if (of(self)->weak_references) PyObject_ClearWeakRefs(self);
    clear_references(self);
    free_object(self);
}

} // namespace

PyObject* bind_call(PyObject* function, PyObject* instance, PyObject*) {
    if (!instance || !g_bound_type) return Py_NewRef(function);
    return make(reinterpret_cast<PyTypeObject*>(g_bound_type), function, instance);
}

PyObject* set_bound_type(PyObject*, PyObject* type) {
    take_vector_calls(reinterpret_cast<PyTypeObject*>(type), call);
    Py_XDECREF(std::exchange(g_bound_type, Py_NewRef(type)));
    Py_RETURN_NONE;
}

PyObject* make_bound_call_type() {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundCall, vector_call), READONLY, nullptr},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundCall, weak_references), READONLY, nullptr},
        {"__func__", T_OBJECT_EX, offsetof(BoundCall, function), READONLY, "What is called."},
        {"__self__", T_OBJECT_EX, offsetof(BoundCall, instance), READONLY, "The first argument of its calls."},
        {}};
    static PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(create)},
        {Py_tp_call, reinterpret_cast<void*>(call)},
        {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
        {Py_tp_clear, reinterpret_cast<void*>(clear_references)},
        {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
        {Py_tp_members, members},
        {Py_tp_doc,
         const_cast<char*>("BoundCall(function, instance)\n--\n\nCalls the function with the instance as its "
                           "first argument.")},
        {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.BoundCall", sizeof(BoundCall), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | kVectorFlag, slots};
    return PyType_FromSpec(&spec);
}

} // namespace tilewright::face
