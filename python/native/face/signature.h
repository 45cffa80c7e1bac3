// python/native/face/signature.h: the parameters of a function, and putting a call's arguments in their places.
#pragma once

#include <string>
#include <vector>

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// Numbered as inspect._ParameterKind.
enum class ParameterKind {
    positional_only = 0,
    positional_or_keyword = 1,
    var_positional = 2,
    keyword_only = 3,
    var_keyword = 4
};

struct Parameter {
    Ref name; ///< interned
    ParameterKind kind;
    Ref default_value; ///< null: required
};

/// A call's arguments as CPython hands them over: an array with the keywords' values at its end, or a tuple and a dict.
struct RawCall {
    PyObject* const* items;
    Py_ssize_t positional;
    PyObject* keyword_names; ///< tuple or null
};

/// What *args and **kwargs of a call are, as long as it lasts.
struct Gathered {
    Ref positional, keywords;
};

class Signature {
  public:
    /// From a list of (name, kind, default); `missing` stands for "no default". False with a Python error set.
    bool read(const std::string& function, PyObject* list, PyObject* missing);

    /// One more, behind all others. False with a Python error.
    bool append(const std::string& name);

    std::size_t size() const { return parameters_.size(); }
    const std::vector<Parameter>& parameters() const { return parameters_; }
    /// False when a parameter gathers others (*args, **kwargs).
    bool is_plain() const { return plain_; }
    int find(const std::string& name) const;

    /// Fills values[size()] (borrowed, of `gathered` too) and `out` (borrowed or null). With `explain`, a call that
    /// does not fit sets Python's usual TypeError; without, it is only false, but for a MemoryError.
    bool bind(const RawCall& call, PyObject** values, PyObject** out, Gathered& gathered, bool explain) const;

    int traverse(visitproc visit, void* data) const;

  private:
    int find(PyObject* name) const;
    bool gather(const RawCall& call, PyObject** values, Gathered& gathered) const;
    std::string function_;
    std::vector<Parameter> parameters_;
    std::vector<std::string> names_;
    Py_ssize_t positional_ = 0;
    bool plain_ = true;
};

} // namespace tilewright::face
