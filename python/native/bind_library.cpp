// python/native/bind_library.cpp: the C library of an exported module.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <fstream>

#include "dsl/base/error.h"
#include "dsl/code/static_library.h"
#include "python/native/bindings.h"

namespace py = pybind11;
using namespace py::literals;

namespace tilewright::native {
namespace {

/// The prebuilt runtime that C programs link lies beside this module.
std::string runtime_path() {
    py::object file = py::module_::import("tilewright._native").attr("__file__");
    const std::string path = file.cast<std::string>();
    return path.substr(0, path.rfind('/') + 1) + "lib/tilewright_c_runtime.o";
}

void write_static_library(const std::string& folder, const std::vector<std::pair<std::string, std::string>>& named,
                          const std::map<std::string, py::bytes>& objects) {
    std::map<std::string, std::string_view> views;
    for (const auto& [object, bytes] : objects)
        views[object] = static_cast<std::string_view>(bytes);
    std::vector<dsl::CFunction> functions;
    for (const auto& [name, plan_text] : named)
        functions.push_back({name, plan_text});
    dsl::write_static_library(folder, runtime_path(), functions, views);
    std::ofstream header(folder + "/kernels.h", std::ios::binary);
    header << dsl::c_header(functions);
    if (!header.flush()) throw ExportError(folder + "/kernels.h: cannot be written. Is the disk full?");
}

} // namespace

void bind_library(py::module_& module) {
    module.def("write_static_library", &write_static_library, "folder"_a, "functions"_a, "objects"_a,
               "Writes kernels.h and libkernels.a with functions given as name and plan, which C programs link with "
               "-lpthread -ldl -lm. Raises ExportError.");
}

} // namespace tilewright::native
