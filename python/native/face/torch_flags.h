// python/native/face/torch_flags.h: what PyTorch's C++ says of a tensor, asked without Python between.
#pragma once

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// Asking a tensor for `requires_grad` and `is_neg()` in Python costs 90 ns, and the latter gives up the GIL. The
/// functions behind them cost 5; they are no interface of PyTorch's, so they are used only where they are found and
/// prove right on tensors whose answers are known.
class TorchFlags {
  public:
    /// Null where they are not, and for a subclass, which may answer otherwise.
    static const TorchFlags* find(PyTypeObject* type);
    bool requires_grad(PyObject* tensor) const { return requires_grad_(*cell(tensor)); }
    /// Conjugated or negated by whoever reads it.
    bool is_lazy(PyObject* tensor) const { return is_neg_(cell(tensor)) || is_conj_(cell(tensor)); }

  private:
    using Implementation = const void*; ///< c10::TensorImpl*
    /// A Python tensor begins with its at::Tensor, which is that pointer.
    static const Implementation* cell(PyObject* tensor) { return reinterpret_cast<const Implementation*>(tensor + 1); }
    bool load();
    bool proves_right(PyTypeObject* type, PyObject* torch) const;

    bool (*requires_grad_)(Implementation) = nullptr;
    bool (*is_neg_)(const Implementation*) = nullptr;
    bool (*is_conj_)(const Implementation*) = nullptr;
};

} // namespace tilewright::face
