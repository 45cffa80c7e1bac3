// python/native/bindings.h: what module.cpp puts together.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright::native {

void bind_errors(pybind11::module_& module);
void bind_compile(pybind11::module_& module);
void bind_library(pybind11::module_& module);
void bind_tune(pybind11::module_& module);
void bind_store(pybind11::module_& module);

} // namespace tilewright::native
