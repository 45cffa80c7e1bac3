// python/native/face/outside.h: what a plan takes for granted of Python's values, and what it reads of them: globals,
// attributes, items, variables of closures.
#pragma once

#include <vector>

#include "python/native/face/numpy_api.h"
#include "python/native/face/signature.h"

namespace tilewright::face {

class Found;

class Outside {
  public:
    /// places: sequence of (place it begins at or -1, step, key); checks: sequence of (place, kind, value). Either may
    /// be null or None. False with a Python error.
    bool read(PyObject* places, PyObject* checks, const Signature& signature);

    std::size_t size() const { return places_.size(); }
    /// What is at a place in a call; empty, without an error, where it leads nowhere.
    Ref value(std::size_t place, PyObject* const* values) const;
    bool all_hold(Found& found) const;

    int traverse(visitproc visit, void* data) const;

  private:
    friend class Found;
    // Steps. object: the key itself. parameter: of the call. entry: of a dict, by its key. closure: variable `index` of
    // a function. original: the function that a jitted one was made of, or that reports its calls under the key. call:
    // what the key, a callable, gives of the base.
    // Kinds of checks. same, another: as the place `length`. code, defaults, keywords: of a function. keys: a dict has
    // those, in that order. lacks: none of these attributes is the object's own. holds: this one is. plain: its class
    // decides nothing of what setting these attributes means. call: what the value, a callable, says.
    enum class Step { object, parameter, entry, attribute, item, contents, closure, original, call };
    enum class Kind {
        is,
        equal,
        type,
        length,
        code,
        defaults,
        keywords,
        same,
        another,
        absent,
        keys,
        lacks,
        holds,
        plain,
        call
    };
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
        mutable Ref order; ///< of plain: the latest class's order of look-up, and what is in those; the GIL guards them
        mutable std::vector<Ref> members;
    };

    /// One step further, from the base. Empty, without an error, where nothing is there.
    static Ref step(const Place& place, PyObject* base);
    /// Puts a check where it is cheap, if it is of such a kind.
    bool take_apart(const Check& check);
    bool holds(const Check& check, Found& found) const;
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

/// What one call has found at places. It looks at each place once: where steps run Python's code, a second look may
/// find something else.
class Found {
  public:
    static std::size_t bytes(const Outside& outside) { return (outside.size() + 1) * sizeof(PyObject*); }
    /// `memory` of so many bytes, which outlives it as `values` do.
    Found(const Outside& outside, PyObject* const* values, void* memory);
    ~Found();
    Found(const Found&) = delete;
    Found& operator=(const Found&) = delete;
    /// Borrowed. Null, without an error, where the place leads nowhere.
    PyObject* at(std::size_t place);

  private:
    static PyObject* nothing() { return reinterpret_cast<PyObject*>(alignof(PyObject)); }

    const Outside& outside_;
    PyObject* const* values_;
    PyObject** items_; ///< owned; null: not looked at; nothing(): it leads nowhere
};

/// Same type and equal: 1 is not True, 1.0 is not 1, and -0.0 and nan are told apart by identity or bits.
bool same_value(PyObject* a, PyObject* b);

} // namespace tilewright::face
