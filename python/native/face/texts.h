// python/native/face/texts.h: texts of ours as Python's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// Nothing with an error set where there is no memory.
inline Ref unicode(std::string_view text) {
    return Ref(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

/// The text of a str, and `otherwise` of what is none. No Python error is left.
inline std::string text_or(PyObject* object, const char* otherwise) {
    Py_ssize_t size = 0;
    const char* text = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
    if (!text) PyErr_Clear();
    return text ? std::string(text, static_cast<std::size_t>(size)) : otherwise;
}

/// A tuple of str; nothing with an error set where there is no memory.
inline Ref tuple_of(const std::vector<std::string>& texts) {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(texts.size())));
    for (std::size_t i = 0; tuple && i < texts.size(); ++i) {
        Ref text = unicode(texts[i]);
        if (!text || PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), text.release()) != 0) return Ref();
    }
    return tuple;
}

} // namespace tilewright::face
