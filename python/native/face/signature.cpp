// python/native/face/signature.cpp: reads parameter lists and binds calls.
#include "python/native/face/signature.h"

#include "python/native/face/texts.h"

namespace tilewright::face {
namespace {

bool read_kind(PyObject* object, ParameterKind& kind) {
    static constexpr const char* kNames[] = {"positional_only", "positional_or_keyword", "var_positional",
                                             "keyword_only", "var_keyword"};
    if (PyUnicode_Check(object)) {
        for (int k = 0; k < 5; ++k)
            if (PyUnicode_CompareWithASCIIString(object, kNames[k]) == 0) {
                kind = static_cast<ParameterKind>(k);
                return true;
            }
    } else if (PyLong_Check(object)) {
        long k = PyLong_AsLong(object);
        if (k >= 0 && k < 5) {
            kind = static_cast<ParameterKind>(k);
            return true;
        }
        PyErr_Clear();
    }
    return fail(PyExc_ValueError,
                "parameters: %R is not a kind of parameter. Use the names or numbers of inspect.Parameter.", object);
}

bool is_keyword(ParameterKind kind) {
    return kind == ParameterKind::positional_or_keyword || kind == ParameterKind::keyword_only;
}

} // namespace

bool Signature::read(const std::string& function, PyObject* list, PyObject* missing) {
    function_ = function;
    Ref sequence(PySequence_List(list));
    if (!sequence) return false;
    Py_ssize_t count = PyList_Size(sequence.get());
    if (count > 255) return fail(PyExc_ValueError, "parameters: a function of more than 255 parameters is not served.");
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyList_GetItem(sequence.get(), i);
        if (!PyTuple_Check(item) || PyTuple_Size(item) != 3 || !PyUnicode_Check(PyTuple_GetItem(item, 0)))
            return fail(PyExc_TypeError, "parameters: %R is no (name, kind, default).", item);
        Parameter p{Ref::borrowed(PyTuple_GetItem(item, 0)), ParameterKind::positional_or_keyword, Ref()};
        if (!read_kind(PyTuple_GetItem(item, 1), p.kind)) return false;
        PyObject* name = p.name.release();
        PyUnicode_InternInPlace(&name);
        p.name = Ref(name);
        PyObject* value = PyTuple_GetItem(item, 2);
        if (value != missing) p.default_value = Ref::borrowed(value);
        if (p.kind <= ParameterKind::positional_or_keyword) ++positional_;
        if (p.kind == ParameterKind::var_positional || p.kind == ParameterKind::var_keyword) plain_ = false;
        names_.push_back(text_or(name, "?"));
        parameters_.push_back(std::move(p));
    }
    return true;
}

bool Signature::append(const std::string& name) {
    PyObject* text = unicode(name).release();
    if (!text) return false;
    PyUnicode_InternInPlace(&text);
    parameters_.push_back({Ref(text), ParameterKind::positional_or_keyword, Ref()});
    names_.push_back(name);
    ++positional_;
    return true;
}

int Signature::find(const std::string& name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return static_cast<int>(i);
    return -1;
}

int Signature::find(PyObject* name) const {
    // Keyword names in code are interned: identity nearly always decides.
    static PyObject* const out = PyUnicode_InternFromString("out");
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (parameters_[i].name.get() == name) return static_cast<int>(i);
    if (name == out) return -1; // as parameters are interned too
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (PyUnicode_Compare(parameters_[i].name.get(), name) == 0) return static_cast<int>(i);
    return -1;
}

bool Signature::gather(const RawCall& call, PyObject** values, Gathered& gathered) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (parameters_[i].kind == ParameterKind::var_positional) {
            const Py_ssize_t rest = call.positional > positional_ ? call.positional - positional_ : 0;
            gathered.positional = Ref(PyTuple_New(rest));
            for (Py_ssize_t k = 0; gathered.positional && k < rest; ++k)
                PyTuple_SetItem(gathered.positional.get(), k, Py_NewRef(call.items[positional_ + k]));
            values[i] = gathered.positional.get();
        } else if (parameters_[i].kind == ParameterKind::var_keyword) {
            gathered.keywords = Ref(PyDict_New());
            values[i] = gathered.keywords.get();
        } else {
            continue;
        }
        if (!values[i]) return false;
    }
    return true;
}

bool Signature::bind(const RawCall& call, PyObject** values, PyObject** out, Gathered& gathered, bool explain) const {
    *out = nullptr;
    std::size_t count = parameters_.size();
    const bool gathers = positional_ < static_cast<Py_ssize_t>(count) &&
                         parameters_[static_cast<std::size_t>(positional_)].kind == ParameterKind::var_positional;
    if (call.positional > positional_ && !gathers) {
        return explain &&
               fail(PyExc_TypeError, "%s() takes %zd positional argument%s but %zd %s given", function_.c_str(),
                    positional_, positional_ == 1 ? "" : "s", call.positional, call.positional == 1 ? "was" : "were");
    }
    std::size_t given = static_cast<std::size_t>(call.positional < positional_ ? call.positional : positional_);
    for (std::size_t i = 0; i < given; ++i)
        values[i] = call.items[i];
    for (std::size_t i = given; i < count; ++i)
        values[i] = nullptr;
    if (!plain_ && !gather(call, values, gathered)) return false;
    Py_ssize_t keywords = call.keyword_names ? PyTuple_Size(call.keyword_names) : 0;
    for (Py_ssize_t k = 0; k < keywords; ++k) {
        PyObject* name = PyTuple_GetItem(call.keyword_names, k);
        PyObject* value = call.items[call.positional + k];
        int index = find(name);
        const bool is_named = index >= 0 && is_keyword(parameters_[static_cast<std::size_t>(index)].kind);
        if (!is_named && gathered.keywords) {
            if (PyDict_SetItem(gathered.keywords.get(), name, value) != 0) return false;
        } else if (is_named) {
            if (values[index]) {
                return explain &&
                       fail(PyExc_TypeError, "%s() got multiple values for argument '%U'", function_.c_str(), name);
            }
            values[index] = value;
        } else if (index < 0 && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            *out = value == Py_None ? nullptr : value;
        } else {
            return explain && fail(PyExc_TypeError,
                                   index < 0 ? "%s() got an unexpected keyword argument '%U'"
                                             : "%s() got a positional-only argument passed as keyword argument: '%U'",
                                   function_.c_str(), name);
        }
    }
    for (std::size_t i = given; i < count; ++i) {
        if (values[i]) continue;
        values[i] = parameters_[i].default_value.get();
        if (!values[i]) {
            return explain &&
                   fail(PyExc_TypeError, "%s() missing required argument: '%s'", function_.c_str(), names_[i].c_str());
        }
    }
    return true;
}

int Signature::traverse(visitproc visit, void* data) const {
    for (const Parameter& p : parameters_)
        if (int rc = p.default_value ? visit(p.default_value.get(), data) : 0) return rc;
    return 0;
}

} // namespace tilewright::face
