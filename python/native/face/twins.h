// python/native/face/twins.h: functions of NumPy's that our own code computes where it has the call's kind.
#pragma once

#include "dsl/runtime/executor.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// twin(name, callee): what stands for the callee in stages; the callee itself where nothing of ours does. A twin takes
/// large plain arrays of some dtypes, computes on all threads without the GIL, and hands any other call on to the
/// callee.
PyObject* twin(PyObject*, PyObject* args);
/// The names that have one, as a tuple.
PyObject* twins(PyObject*, PyObject*);
PyObject* make_twin_type();

/// Where the result of the stage that runs now belongs: a twin writes it there, and nothing is copied.
class Destination {
  public:
    /// `arrays` are the operands and the result of a stage.
    Destination(const runtime::StageArray* arrays, int count);
    ~Destination();
    Destination(const Destination&) = delete;
    Destination& operator=(const Destination&) = delete;

    /// An array there, once; nothing if it is not of this dtype and shape, contiguous, and apart from the operands.
    static Ref array(DType dtype, int rank, const npy_intp* shape);

  private:
    const runtime::StageArray* wanted_ = nullptr;
    Destination* outer_;
};

} // namespace tilewright::face
