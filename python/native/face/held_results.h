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
    /// Nothing where the expression says more, or with a Python error.
    static std::optional<HeldPart> of(std::string_view expression);
    /// What part() has made; null for other objects.
    static const HeldPart* in(PyObject* object);

    /// Nothing, with a Python error, where there is no such part.
    Ref value(PyObject* held) const { return behind(held, steps_.size()); }
    /// Writes it there; false where it is not of that dtype and shape, or with a Python error where there is none.
    bool store(PyObject* held, const runtime::StageArray& wanted) const;

  private:
    struct Step {
        Ref key; ///< an int, or a str
        bool is_item;
        int half; ///< 0 and 1 for the last step's real and imag, else -1
    };
    /// What is behind so many of the steps.
    Ref behind(PyObject* held, std::size_t steps) const;

    Ref name_;
    std::vector<Step> steps_;
};

/// part(expression): what computes a stage that is such a part; None where it is none.
PyObject* part(PyObject*, PyObject* expression);
PyObject* make_part_type();

/// Writes it there; false where it is not of that dtype and shape, perhaps with a Python error.
bool store_result(PyObject* result, const runtime::StageArray& wanted);

} // namespace tilewright::face
