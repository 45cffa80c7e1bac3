// python/native/face/call_rows.h: what calls of more elements than kernels can index are cut into.
#pragma once

#include <algorithm>
#include <vector>

#include "python/native/face/plan_call.h"

namespace tilewright::face {

/// Rows in parts of nearly one length, so that what serves the first one serves the others. The first is a longest one.
struct Division {
    /// Up to so many parts one more is tried, then twice as many: few arrays are so much too large.
    static constexpr Py_ssize_t kOneByOne = 16;
    Py_ssize_t rows, parts = 2;
    Py_ssize_t begin_of(Py_ssize_t k) const {
        return static_cast<Py_ssize_t>((static_cast<__int128>(rows) * k + parts - 1) / parts);
    }
    bool may_be_finer() const { return parts < rows; }
    void make_finer() { parts = std::min(rows, parts < kOneByOne ? parts + 1 : 2 * parts); }
};

/// The extents of an array of any library. False with a Python error.
bool read_shape(PyObject* array, int rank, std::int64_t* shape);
Ref rows_between(Py_ssize_t begin, Py_ssize_t end);
Ref part_of(PyObject* array, Py_ssize_t begin, Py_ssize_t end);

inline bool is_too_large(const Problem& problem) {
    return problem.kind == Problem::Kind::too_large || problem.kind == Problem::Kind::result_too_large;
}

/// The values of a call with a part of each sliced argument.
class LoadedPlan::Part {
  public:
    Part(const LoadedPlan& plan, PyObject* const* values);
    /// False with a Python error.
    bool take(PyObject* const* values, Py_ssize_t begin, Py_ssize_t end);
    PyObject* const* values() const { return values_.data(); }

  private:
    const LoadedPlan& plan_;
    std::vector<PyObject*> values_;
    std::vector<Ref> owned_;
};

} // namespace tilewright::face
