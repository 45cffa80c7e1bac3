// python/native/face/held_results.h: what stages hold until the call ends, and the parts of it that other stages give.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "dsl/runtime/executor.h"
#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// hold(held, name, result): keeps a result until the call ends, under a name, and gives what is kept. What views of
/// operands it has are copied: the plan's memory is used again before.
PyObject* hold(PyObject*, PyObject* const* args, Py_ssize_t count);
/// joined(real, imag): complex numbers of their halves, bit by bit. `real + 1j * imag` changes zeros and infinities.
PyObject* joined(PyObject*, PyObject* const* args, Py_ssize_t count);

/// A part of what is held: `r1[0].real`.
class HeldPart {
  public:
    /// Nothing where the expression of a stage is no such part, or with a Python error.
    static std::optional<HeldPart> of(std::string_view expression);

    /// Writes it there; false where it is not of that dtype and shape, or with a Python error where there is none.
    bool store(PyObject* held, const runtime::StageArray& wanted) const;

  private:
    struct Step {
        Ref key; ///< an int, or a str
        bool is_item;
        int half; ///< 0 and 1 for the last step's real and imag, else -1
    };
    Ref name_;
    std::vector<Step> steps_;
};

/// Writes it there; false where it is not of that dtype and shape, perhaps with a Python error.
bool store_result(PyObject* result, const runtime::StageArray& wanted);

} // namespace tilewright::face
