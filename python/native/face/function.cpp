// python/native/face/function.cpp: load(), which makes the builtin functions of a module.
#include <alloca.h>

#include <memory>
#include <string>
#include <vector>

#include "python/native/face/face_types.h"
#include "python/native/face/plan_call.h"

namespace tilewright::face {
namespace {

/// What stands behind one builtin function; its `self`.
struct Kernel {
    std::string name, doc, module;
    PyMethodDef method{};
    Signature signature;
    std::vector<std::shared_ptr<const LoadedPlan>> plans;
};

struct KernelObject {
    PyObject_HEAD Kernel* kernel;
};

PyTypeObject* g_kernel_type = nullptr;

PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t positional, PyObject* keyword_names) {
    const Kernel& k = *reinterpret_cast<KernelObject*>(self)->kernel;
    auto** values = static_cast<PyObject**>(alloca((k.signature.size() + 1) * sizeof(PyObject*)));
    PyObject *out = nullptr, *result = nullptr;
    Gathered none; // load() takes no such parameters
    if (!k.signature.bind({args, positional, keyword_names}, values, &out, none, true)) return nullptr;
    // First as the arguments lie; then lists, views and foreign layouts are converted, and where that does not help the
    // nearest plan says what is wrong.
    Problem nearest, problem;
    const LoadedPlan* speaker = nullptr;
    for (const bool copies : {false, true})
        for (const auto& plan : k.plans) {
            const auto attempt = plan->call(values, out, {false, copies, true}, &problem, &result);
            if (attempt == LoadedPlan::Attempt::unchecked) return plan->raise(problem), nullptr;
            if (attempt == LoadedPlan::Attempt::done) return result;
            if (attempt == LoadedPlan::Attempt::error) return nullptr;
            if (copies && (!speaker || LoadedPlan::nearness(problem) > LoadedPlan::nearness(nearest))) {
                nearest = problem;
                speaker = plan.get();
            }
        }
    speaker->raise(nearest);
    return nullptr;
}

void dealloc(PyObject* self) {
    delete reinterpret_cast<KernelObject*>(self)->kernel;
    free_object(self);
}

/// Pickled as the module, so that pickle takes the function by its name from there.
PyObject* reduce(PyObject* self, PyObject*) {
    const Kernel& k = *reinterpret_cast<KernelObject*>(self)->kernel;
    static PyObject* import_module = nullptr;
    if (!kept_attribute(import_module, "importlib", "import_module")) return nullptr;
    return Py_BuildValue("(O(s))", import_module, k.module.c_str());
}

PyObject* repr(PyObject* self) {
    const Kernel& k = *reinterpret_cast<KernelObject*>(self)->kernel;
    return PyUnicode_FromFormat("<tilewright kernels of %s.%s>", k.module.c_str(), k.name.c_str());
}

PyMethodDef kKernelMethods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

/// Appends one plan, or each of a sequence of plans.
bool add_plans(Kernel& k, PyObject* plans, PyObject* objects, PyObject* partials, Binding binding) {
    const Ref list(PyUnicode_Check(plans) ? Py_BuildValue("[O]", plans) : PySequence_List(plans));
    if (!list) return false;
    const Ref of_plans(partials && partials != Py_None ? PySequence_List(partials) : PyList_New(0));
    if (!of_plans) return false;
    for (Py_ssize_t i = 0, n = PyList_Size(list.get()); i < n; ++i) {
        binding.partials = i < PyList_Size(of_plans.get()) ? PyList_GetItem(of_plans.get(), i) : nullptr;
        auto plan = LoadedPlan::make(PyList_GetItem(list.get(), i), objects, k.name, k.signature, binding);
        if (!plan) return false;
        k.plans.push_back(std::move(plan));
    }
    if (k.plans.empty()) return fail(PyExc_ValueError, "load: there is no plan.");
    return true;
}

} // namespace

PyObject* load(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* kNames[] = {"plan_text",   "objects",   "name",     "doc",    "signature_text", "parameters",
                                   "module_name", "constants", "partials", "stages", nullptr};
    PyObject *plans, *objects, *parameters = nullptr, *constants = nullptr, *partials = nullptr, *stages = nullptr;
    const char *name = nullptr, *doc = nullptr, *signature_text = "()", *module_name = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$szsOsOOO:load", const_cast<char**>(kNames), &plans, &objects,
                                     &name, &doc, &signature_text, &parameters, &module_name, &constants, &partials,
                                     &stages))
        return nullptr;
    if (!name || !parameters || !module_name)
        return PyErr_Format(PyExc_TypeError, "load: name, parameters and module_name are needed.");
    auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(g_kernel_type, Py_tp_alloc));
    Ref self(allocate(g_kernel_type, 0));
    if (!self) return nullptr;
    auto* kernel = new Kernel;
    reinterpret_cast<KernelObject*>(self.get())->kernel = kernel;
    kernel->name = name;
    kernel->module = module_name;
    // CPython takes __text_signature__ and __doc__ apart at this line.
    kernel->doc = kernel->name + signature_text + "\n--\n\n" + (doc ? doc : "");
    Binding binding;
    binding.constants = constants;
    binding.stages = stages;
    if (!kernel->signature.read(kernel->name, parameters, g_missing)) return nullptr;
    if (!kernel->signature.is_plain())
        return PyErr_Format(PyExc_ValueError, "load: %s gathers arguments (* or **); a module's functions do not.",
                            name);
    if (!add_plans(*kernel, plans, objects, partials, binding)) return nullptr;
    kernel->method = {kernel->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                      METH_FASTCALL | METH_KEYWORDS, kernel->doc.c_str()};
    Ref module(PyUnicode_FromString(module_name));
    if (!module) return nullptr;
    return PyCFunction_NewEx(&kernel->method, self.get(), module.get());
}

PyObject* make_kernel_type() {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                  {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                  {Py_tp_methods, kKernelMethods},
                                  {0, nullptr}};
    static PyType_Spec spec = {"tilewright._face.Kernel", sizeof(KernelObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    if (!g_kernel_type) g_kernel_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    return Py_XNewRef(reinterpret_cast<PyObject*>(g_kernel_type));
}

} // namespace tilewright::face
