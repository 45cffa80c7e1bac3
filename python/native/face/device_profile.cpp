// python/native/face/device_profile.cpp: the runtime's facts and times as dictionaries.
#include <memory>
#include <string>
#include <vector>

#include "dsl/runtime/cuda/device.h"
#include "python/native/face/device_array.h"
#include "python/native/face/face_types.h"
#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

namespace cuda = runtime::cuda;

PyObject* dict_of(const cuda::FunctionFacts& f) {
    return Py_BuildValue("{ss si si si si}", "name", f.name.c_str(), "registers", f.registers, "shared_bytes",
                         f.shared_bytes, "local_bytes", f.local_bytes, "max_threads", f.max_threads);
}

PyObject* dict_of(const cuda::LaunchTime& t) {
    Ref dict(dict_of(t.facts));
    Ref more(Py_BuildValue("{si s(III) s(III) sI si sL sd}", "device", t.device, "grid", t.blocks[0], t.blocks[1],
                           t.blocks[2], "block", t.threads[0], t.threads[1], t.threads[2], "dynamic_shared_bytes",
                           t.shared_bytes, "blocks_per_multiprocessor", t.blocks_per_multiprocessor, "array_bytes",
                           static_cast<long long>(t.array_bytes), "ns", t.ns));
    if (!dict || !more || PyDict_Update(dict.get(), more.get()) != 0) return nullptr;
    return dict.release();
}

template <class T> PyObject* list_of(const std::vector<T>& all) {
    Ref list(PyList_New(0));
    for (const T& one : all) {
        Ref dict(list ? dict_of(one) : nullptr);
        if (!dict || PyList_Append(list.get(), dict.get()) != 0) return nullptr;
    }
    return list.release();
}

} // namespace

PyObject* profile(PyObject*, PyObject* call) {
    return or_python_error([&]() -> PyObject* {
        cuda::Profile profile;
        Ref result(PyObject_CallNoArgs(call));
        if (!result) return nullptr;
        Ref launches(list_of(profile.read()));
        return launches ? Py_BuildValue("(On)", launches.get(), static_cast<Py_ssize_t>(profile.untimed())) : nullptr;
    });
}

PyObject* function_facts(PyObject*, PyObject* args) {
    int device = 0;
    const char* ptx = nullptr;
    if (!PyArg_ParseTuple(args, "is:function_facts", &device, &ptx)) return nullptr;
    return or_python_error([&] { return list_of(cuda::function_facts(device, ptx)); });
}

PyObject* ptx_for(PyObject*, PyObject* args) {
    int capability = 0;
    const char* ptx = nullptr;
    if (!PyArg_ParseTuple(args, "is:ptx_for", &capability, &ptx)) return nullptr;
    return or_python_error([&] { return unicode(cuda::ptx_for(capability, ptx)).release(); });
}

PyObject* cubins_in(PyObject*, PyObject* folder) {
    Ref bytes;
    PyObject* converted = nullptr;
    if (!PyUnicode_FSConverter(folder, &converted)) return nullptr;
    bytes = Ref(converted);
    cuda::look_for_cubins_in(PyBytes_AsString(bytes.get()));
    Py_RETURN_NONE;
}

} // namespace tilewright::face
