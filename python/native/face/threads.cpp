// python/native/face/threads.cpp: class threads, a limit for the calls inside a with block.
#include "dsl/runtime/thread_budget.h"
#include "python/native/face/face_types.h"

namespace tilewright::face {
namespace {

struct ThreadsObject {
    PyObject_HEAD int limit;
    int before;
};

ThreadsObject* of(PyObject* self) {
    return reinterpret_cast<ThreadsObject*>(self);
}

int initialize(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"n", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:threads", const_cast<char**>(kNames), &of(self)->limit))
        return -1;
    if (of(self)->limit >= 1) return 0;
    PyErr_Format(PyExc_ValueError, "threads: n is %d; a call needs at least one thread.", of(self)->limit);
    return -1;
}

PyObject* enter(PyObject* self, PyObject*) {
    // An inner block may lower the limit of an outer one, never raise it.
    int outer = runtime::thread_limit(), limit = of(self)->limit;
    of(self)->before = runtime::set_thread_limit(outer > 0 && outer < limit ? outer : limit);
    return Py_NewRef(self);
}

PyObject* leave(PyObject* self, PyObject*) {
    runtime::set_thread_limit(of(self)->before);
    Py_RETURN_NONE;
}

} // namespace

PyObject* make_threads_type() {
    static PyMethodDef methods[] = {
        {"__enter__", enter, METH_NOARGS, nullptr}, {"__exit__", leave, METH_VARARGS, nullptr}, {}};
    static PyType_Slot slots[] = {
        {Py_tp_init, reinterpret_cast<void*>(initialize)},
        {Py_tp_methods, methods},
        {Py_tp_doc,
         const_cast<char*>("threads(n)\n--\n\nwith threads(n): calls of this thread use at most n threads.")},
        {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.threads", sizeof(ThreadsObject), 0, Py_TPFLAGS_DEFAULT, slots};
    return PyType_FromSpec(&spec);
}

} // namespace tilewright::face
