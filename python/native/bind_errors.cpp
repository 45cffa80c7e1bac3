// python/native/bind_errors.cpp: C++ errors become the Python classes of tilewright.errors, of the same names.
#include "python/native/bindings.h"
#include "python/native/error_name.h"

namespace py = pybind11;

namespace tilewright::native {
void bind_errors(py::module_&) {
    py::register_exception_translator([](std::exception_ptr thrown) {
        if (!thrown) return;
        try {
            std::rethrow_exception(thrown);
        } catch (const Error& error) {
            const py::object value =
                py::module_::import("tilewright.errors").attr(error_name(error))(text_of(error.what()));
            value.attr("hint") = text_of(error.hint());
            PyErr_SetObject(py::type::handle_of(value).ptr(), value.ptr());
        }
    });
}

} // namespace tilewright::native
