// python/native/face/torch_flags.cpp: finds PyTorch's functions and tries them.
#include "python/native/face/torch_flags.h"

#include <dlfcn.h>

namespace tilewright::face {
namespace {

// (tensor, requires_grad, is lazy, address of its implementation) of tensors of each kind, on the host.
constexpr char kProbes[] =
    "(lambda real, complex: [(t, t.requires_grad, t.is_conj() or t.is_neg(), t._cdata) for t in "
    "(real, real.clone().requires_grad_(), complex, complex.conj(), complex.imag, complex.conj().imag)])"
    "(torch.zeros(2, device='cpu'), torch.zeros(2, dtype=torch.complex64, device='cpu'))";
constexpr bool kRequireGrad[] = {false, true, false, false, false, false};
constexpr bool kLazy[] = {false, false, false, true, false, true};
constexpr Py_ssize_t kCount = 6;

template <class Function> bool find_in(const char* library, const char* symbol, Function& function) {
    // It is there already; where it is not, nothing is loaded.
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return false;
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    dlclose(handle);
    return function != nullptr;
}

} // namespace

bool TorchFlags::load() {
    return find_in("libc10.so", "_ZNK3c1010TensorImpl13requires_gradEv", requires_grad_) &&
           find_in("libtorch_cpu.so", "_ZN2at6native6is_negERKNS_6TensorE", is_neg_) &&
           find_in("libtorch_cpu.so", "_ZN2at6native7is_conjERKNS_6TensorE", is_conj_);
}

bool TorchFlags::proves_right(PyTypeObject* type, PyObject* torch) const {
    Ref size(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__basicsize__"));
    if (!size || PyLong_AsSize_t(size.get()) < sizeof(PyObject) + sizeof(Implementation)) return false;
    Ref names(Py_BuildValue("{sO}", "torch", torch)), code(Py_CompileString(kProbes, "<tilewright>", Py_eval_input));
    Ref probes(names && code ? PyEval_EvalCode(code.get(), names.get(), names.get()) : nullptr);
    if (!probes || PyList_Size(probes.get()) != kCount) return false;
    for (Py_ssize_t i = 0; i < kCount; ++i) {
        PyObject* probe = PyList_GetItem(probes.get(), i);
        PyObject* tensor = PyTuple_GetItem(probe, 0);
        if (Py_TYPE(tensor) != type) return false; // of a mode that makes others
        if ((PyTuple_GetItem(probe, 1) == Py_True) != kRequireGrad[i]) return false;
        if ((PyTuple_GetItem(probe, 2) == Py_True) != kLazy[i]) return false;
        Implementation address = PyLong_AsVoidPtr(PyTuple_GetItem(probe, 3));
        if (!address || *cell(tensor) != address) return false;
        if (requires_grad(tensor) != kRequireGrad[i] || is_lazy(tensor) != kLazy[i]) return false;
    }
    return true;
}

const TorchFlags* TorchFlags::find(PyTypeObject* type) {
    Ref torch(PyImport_ImportModule("torch"));
    Ref tensor(torch ? PyObject_GetAttrString(torch.get(), "Tensor") : nullptr);
    static TorchFlags found;
    bool is_found =
        tensor.get() == reinterpret_cast<PyObject*>(type) && found.load() && found.proves_right(type, torch.get());
    PyErr_Clear();
    return is_found ? &found : nullptr;
}

} // namespace tilewright::face
