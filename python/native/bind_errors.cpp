// python/native/bind_errors.cpp: C++ errors become the Python classes of tilewright.errors, of the same names.
#include "dsl/base/error.h"
#include "python/native/bindings.h"

namespace py = pybind11;

namespace tilewright::native {
namespace {

/// A message may quote bytes of a damaged file that are no UTF-8: they are shown as \xNN.
py::object text_of(const std::string& text) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
}

void raise(const char* name, const Error& error) {
    py::object type = py::module_::import("tilewright.errors").attr(name);
    py::object value = type(text_of(error.what()));
    value.attr("hint") = text_of(error.hint());
    PyErr_SetObject(type.ptr(), value.ptr());
}

} // namespace

void bind_errors(py::module_&) {
    // One translator for the whole hierarchy: pybind11 asks them in reverse order of registration, so that a
    // translator for the base class could otherwise hide the leaves.
    py::register_exception_translator([](std::exception_ptr thrown) {
        if (!thrown) return;
        try {
            std::rethrow_exception(thrown);
        } catch (const TraceError& e) {
            raise("TraceError", e);
        } catch (const TranslateError& e) {
            raise("TranslateError", e);
        } catch (const ScheduleError& e) {
            raise("ScheduleError", e);
        } catch (const StoreError& e) {
            raise("StoreError", e);
        } catch (const DeviceError& e) {
            raise("DeviceError", e);
        } catch (const ExportError& e) {
            raise("ExportError", e);
        } catch (const InternalError& e) {
            raise("InternalError", e);
        } catch (const Error& e) {
            raise("Error", e);
        }
    });
}

} // namespace tilewright::native
