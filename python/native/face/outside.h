// python/native/face/outside.h: what a plan takes for granted of Python's values, and what it reads of them: globals,
// attributes, items, variables of closures.
#pragma once

#include <vector>

#include "python/native/face/numpy_api.h"
#include "python/native/face/signature.h"

namespace tilewright::face {

class Outside {
  public:
    /// places: sequence of (place it begins at or -1, step, key); checks: sequence of (place, kind, value). Either may
    /// be null or None. False with a Python error.
    bool read(PyObject* places, PyObject* checks, const Signature& signature);

    std::size_t size() const { return places_.size(); }
    /// What is at a place in this call; empty, without an error, where it leads nowhere.
    Ref value(std::size_t place, PyObject* const* values) const;
    bool all_hold(PyObject* const* values) const;

    int traverse(visitproc visit, void* data) const;

  private:
    /// same: as at the place `length`; another: than there. code, defaults, keywords: of a function. call: what the
    /// value says of it. object: the key itself. parameter: of the call. entry: of a dict, by its key. closure:
    /// variable `index` of a function. call: what the key, a callable, gives of the base.
    enum class Step { object, parameter, entry, attribute, item, contents, closure, call };
    enum class Kind { is, equal, type, length, code, defaults, keywords, same, another, absent, call };
    struct Place {
        int base;
        Step step;
        Ref key;
        Py_ssize_t index;
        PyObject* dict; ///< the key of the place that an entry begins at, where that is an object
    };
    struct Check {
        std::size_t place;
        Kind kind;
        Ref value;
        Py_ssize_t length;
    };

    /// Borrowed, from somebody who has it for certain, or kept in `owned`. Null, without an error, where nothing is
    /// there.
    PyObject* look(std::size_t place, PyObject* const* values, Ref& owned) const;
    /// Puts a check where it is cheap, if it is of such a kind.
    bool take_apart(const Check& check);
    bool holds(const Check& check, PyObject* const* values) const;
    /// Whether the code, defaults or keywords of a function, None where C has null, are that very object.
    static bool is_part(Kind kind, PyObject* function, PyObject* wanted);

    /// The checks of nearly every call, by themselves: what a function is, and what names of modules are. Borrowed of
    /// `all_`.
    struct Function {
        PyObject *function, *wanted;
        Kind kind;
    };
    struct Entry {
        PyObject *dict, *key, *wanted; ///< null: there is no such entry
    };

    std::vector<Place> places_;
    std::vector<Check> all_;
    std::vector<Function> functions_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> checks_; ///< the others
};

/// Same type and equal: 1 is not True, 1.0 is not 1, and -0.0 and nan are told apart by identity or bits.
bool same_value(PyObject* a, PyObject* b);

} // namespace tilewright::face
