// python/native/face/module.cpp: the extension module _face: NumPy's C API, our types, threads and memory.
#define TW_FACE_IMPORTS_ARRAY
#include "dsl/runtime/executor.h"
#include "dsl/runtime/isa.h"
#include "dsl/runtime/matmul.h"
#include "dsl/runtime/memory.h"
#include "dsl/runtime/parallel.h"
#include "dsl/runtime/thread_budget.h"
#include "python/native/face/arrays.h"
#include "python/native/face/face_errors.h"
#include "python/native/face/face_types.h"

namespace tilewright::face {
namespace {

// One interpreter and one set of them: instances of a type must not outlive it.
PyObject* g_plan_error = nullptr;
PyObject* g_written_error = nullptr;
PyObject* g_check_error = nullptr;
PyObject* g_check_index_error = nullptr;
PyObject* g_missing = nullptr;

PyObject* set_num_threads(PyObject*, PyObject* argument) {
    long n = PyLong_AsLong(argument);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    if (n < 1) {
        PyErr_Format(PyExc_ValueError, "set_num_threads: n is %ld; a call needs at least one thread.", n);
        return nullptr;
    }
    runtime::set_num_threads(n > runtime::kMaxThreads ? runtime::kMaxThreads : static_cast<int>(n));
    Py_RETURN_NONE;
}

PyObject* get_num_threads(PyObject*, PyObject*) {
    int n = runtime::num_threads(), limit = runtime::thread_limit();
    return PyLong_FromLong(limit > 0 && limit < n ? limit : n);
}

PyObject* trim_pool(PyObject*, PyObject*) {
    return PyLong_FromSize_t(runtime::trim_pool());
}

PyObject* pool_info(PyObject*, PyObject*) {
    runtime::PoolInfo info = runtime::pool_info();
    return Py_BuildValue("{sn sn sn sn}", "pooled_bytes", static_cast<Py_ssize_t>(info.pooled_bytes), "pooled_blocks",
                         static_cast<Py_ssize_t>(info.pooled_blocks), "live_bytes",
                         static_cast<Py_ssize_t>(info.live_bytes), "limit_bytes",
                         static_cast<Py_ssize_t>(info.limit_bytes));
}

PyObject* parallel_backend(PyObject*, PyObject*) {
    return PyUnicode_FromString(runtime::parallel_backend());
}

PyObject* machine_isa(PyObject*, PyObject*) {
    static constexpr const char* kNames[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    return PyUnicode_FromString(kNames[runtime::machine_isa_level() - 1]);
}

PyObject* matmul_library(PyObject*, PyObject*) {
    return PyUnicode_FromString(runtime::matmul_library());
}

PyMethodDef kMethods[] = {
    {"load", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(load)), METH_VARARGS | METH_KEYWORDS, kLoadDoc},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads($module, n, /)\n--\n\nThe budget of threads of this process."},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads($module)\n--\n\nHow many threads a call from here may use."},
    {"trim_pool", trim_pool, METH_NOARGS,
     "trim_pool($module)\n--\n\nGives kept memory back to the system; returns how many bytes."},
    {"pool_info", pool_info, METH_NOARGS, "pool_info($module)\n--\n\nBytes kept, bytes handed out, and the limit."},
    {"parallel_backend", parallel_backend, METH_NOARGS,
     "parallel_backend($module)\n--\n\n'own', 'openmp', or 'none yet'."},
    {"machine_isa", machine_isa, METH_NOARGS, "machine_isa($module)\n--\n\nThe x86-64 level whose code runs here."},
    {"matmul_library", matmul_library, METH_NOARGS,
     "matmul_library($module)\n--\n\nThe loaded BLAS that serves matrix products, or 'none'."},
    {}};

bool add_type(PyObject* module, const char* name, PyObject* type) {
    Ref owned(type);
    return owned && PyModule_AddObjectRef(module, name, owned.get()) == 0;
}

int execute(PyObject* module) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError,
                        "tilewright's kernels run in the main interpreter only, not in a subinterpreter.");
        return -1;
    }
    if (PyArray_ImportNumPyAPI() < 0) return -1;
    if (!g_plan_error) g_plan_error = PyErr_NewException("tilewright._face.PlanError", PyExc_ImportError, nullptr);
    if (!g_written_error)
        g_written_error = PyErr_NewException("tilewright._face.WrittenError", PyExc_ValueError, nullptr);
    if (!g_check_error) g_check_error = PyErr_NewException("tilewright._face.CheckError", PyExc_ValueError, nullptr);
    if (g_check_error && !g_check_index_error) {
        Ref bases(PyTuple_Pack(2, g_check_error, PyExc_IndexError));
        if (bases) g_check_index_error = PyErr_NewException("tilewright._face.CheckIndexError", bases.get(), nullptr);
    }
    if (!g_missing) g_missing = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    if (!g_plan_error || !g_written_error || !g_check_index_error || !g_missing || !prepare_allocator()) return -1;
    Ref kernel(make_kernel_type());
    if (!kernel) return -1;
    if (PyModule_AddObjectRef(module, "PlanError", g_plan_error) != 0 ||
        PyModule_AddObjectRef(module, "WrittenError", g_written_error) != 0 ||
        PyModule_AddObjectRef(module, "CheckError", g_check_error) != 0 ||
        PyModule_AddObjectRef(module, "CheckIndexError", g_check_index_error) != 0 ||
        PyModule_AddObjectRef(module, "MISSING", g_missing) != 0)
        return -1;
    return add_type(module, "Dispatcher", make_dispatcher_type()) && add_type(module, "threads", make_threads_type())
               ? 0
               : -1;
}

PyModuleDef_Slot kSlots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};

PyModuleDef kModule = {PyModuleDef_HEAD_INIT,
                       "_face",
                       "Runs compiled plans on NumPy arrays.",
                       0,
                       kMethods,
                       kSlots,
                       nullptr,
                       nullptr,
                       nullptr};

} // namespace

PyObject* plan_error() {
    return g_plan_error;
}
PyObject* written_error() {
    return g_written_error;
}
PyObject* check_error(bool is_index) {
    return is_index ? g_check_index_error : g_check_error;
}
PyObject* missing() {
    return g_missing;
}

} // namespace tilewright::face

PyMODINIT_FUNC PyInit__face() {
    return PyModuleDef_Init(&tilewright::face::kModule);
}
