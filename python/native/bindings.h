// python/native/bindings.h: what module.cpp puts together.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

namespace tilewright::native {

/// A message may quote bytes of a damaged file that are no UTF-8: they are shown as \xNN.
inline pybind11::object text_of(const std::string& text) {
    return pybind11::reinterpret_steal<pybind11::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<pybind11::ssize_t>(text.size()), "backslashreplace"));
}

/// What `object_of` makes of each.
template <class Range, class Object> pybind11::list list_of(const Range& all, const Object& object_of) {
    pybind11::list list;
    for (const auto& each : all)
        list.append(object_of(each));
    return list;
}

void bind_errors(pybind11::module_& module);
void bind_compile(pybind11::module_& module);
void bind_library(pybind11::module_& module);
void bind_tune(pybind11::module_& module);
void bind_store(pybind11::module_& module);

} // namespace tilewright::native
