// python/native/face/twins.cpp: what stands for a callee in stages, and where results of stages go.
#include "python/native/face/twins.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "python/native/face/arrays.h"
#include "python/native/face/texts.h"
#include "python/native/face/twin_calls.h"

namespace tilewright::face {

using runtime::StageArray;

namespace {

thread_local Destination* t_destination = nullptr;

struct TwinObject {
    PyObject_HEAD PyObject* callee;
    Ref (*compute)(TwinCall);
};

PyObject* g_twin_type = nullptr;

TwinObject* twin_of(PyObject* self) {
    return reinterpret_cast<TwinObject*>(self);
}

PyObject* call_twin(PyObject* self, PyObject* args, PyObject* kwargs) {
    Ref result;
    try {
        result = twin_of(self)->compute(TwinCall(twin_of(self)->callee, args, kwargs));
    } catch (const std::bad_alloc&) { // the callee needs less, or says so
    }
    if (result || PyErr_Occurred()) return result.release();
    return PyObject_Call(twin_of(self)->callee, args, kwargs);
}

void free_twin(PyObject* self) {
    Py_XDECREF(twin_of(self)->callee);
    free_object(self);
}

} // namespace

Destination::Destination(const StageArray* arrays, int count) : outer_(t_destination) {
    const StageArray& wanted = arrays[count - 1];
    std::int64_t bytes = info(wanted.dtype).bytes;
    bool is_free = wanted.rank > 0;
    for (int k = wanted.rank - 1; k >= 0; --k) {
        is_free = is_free && wanted.strides[k] == bytes;
        bytes *= wanted.shape[k];
    }
    const auto range = [](const StageArray& a) {
        const runtime::ArrayView view{a.data, a.shape, a.strides};
        return runtime::memory_of(view, a.rank, info(a.dtype).bytes);
    };
    for (int k = 0; is_free && k + 1 < count; ++k)
        is_free = !range(arrays[k]).meets(range(wanted));
    if (is_free) wanted_ = &wanted;
    t_destination = this;
}

Destination::~Destination() {
    t_destination = outer_;
}

Ref Destination::array(DType dtype, int rank, const npy_intp* shape) {
    const StageArray* const wanted = t_destination ? t_destination->wanted_ : nullptr;
    if (!wanted || wanted->dtype != dtype || wanted->rank != rank || !std::equal(shape, shape + rank, wanted->shape))
        return {};
    t_destination->wanted_ = nullptr;
    return Ref(PyArray_New(&PyArray_Type, rank, shape, numpy_type(dtype), nullptr, wanted->data, 0, NPY_ARRAY_CARRAY,
                           nullptr));
}

PyObject* twin(PyObject*, PyObject* args) {
    const char* name = nullptr;
    PyObject* callee = nullptr;
    if (!PyArg_ParseTuple(args, "sO:twin", &name, &callee)) return nullptr;
    const std::vector<TwinRow>& rows = twin_rows();
    const auto row = std::ranges::find(rows, std::string_view(name), &TwinRow::name);
    if (row == rows.end()) return Py_NewRef(callee);
    PyObject* const made = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(g_twin_type), 0);
    if (!made) return nullptr;
    twin_of(made)->callee = Py_NewRef(callee);
    twin_of(made)->compute = row->compute;
    return made;
}

PyObject* twins(PyObject*, PyObject*) {
    std::vector<std::string> names;
    for (const TwinRow& row : twin_rows())
        names.emplace_back(row.name);
    return tuple_of(names).release();
}

PyObject* make_twin_type() {
    static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call_twin)},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(free_twin)},
                                  {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.Twin", sizeof(TwinObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    if (!g_twin_type) g_twin_type = PyType_FromSpec(&spec);
    return Py_XNewRef(g_twin_type);
}

} // namespace tilewright::face
