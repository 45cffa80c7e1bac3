// python/native/module.cpp: the extension module tilewright._native. Bindings, one subject a file.
#include <pybind11/pybind11.h>

#include "python/native/bindings.h"

PYBIND11_MODULE(_native, module) {
    module.doc() = "Translation, schedules, code generation, search and store. Importing it loads Halide.";
    tilewright::native::bind_errors(module);
    tilewright::native::bind_compile(module);
    tilewright::native::bind_library(module);
    tilewright::native::bind_tune(module);
    tilewright::native::bind_store(module);
}
