// python/native/face/face_errors.h: the exceptions that are the face's own.
#pragma once

#include <string>
#include <string_view>

#include "python/native/face/numpy_api.h"

namespace tilewright::face {

/// _face.PlanError, an ImportError: it is met when a module is imported.
inline PyObject* g_plan_error = nullptr;
/// _face.WrittenError, a ValueError: memory of the call's arrays is shared with, or cannot be, what the call writes.
inline PyObject* g_written_error = nullptr;
/// _face.CheckError, a ValueError: the plan cannot compute with these data. _face.CheckIndexError is an
/// IndexError as well.
inline PyObject *g_check_error = nullptr, *g_check_index_error = nullptr;
/// _face.TooLargeError, a ValueError: kernels cannot index an array of the call, and it does not run in parts.
inline PyObject* g_too_large_error = nullptr;
/// tilewright.DeviceError; in a module _face.DeviceError. A RuntimeError in both.
inline PyObject* g_device_error = nullptr;
/// Whether the driver's words are of a device that is out of memory: that is a MemoryError, whoever asked for it.
bool is_out_of_device_memory(const std::string& text);
/// Sets an exception whose text may quote bytes of a damaged file: what is no UTF-8 is shown as \xNN.
void set_error(PyObject* type, std::string_view text);
/// Sets DeviceError, or MemoryError.
void set_device_error(const std::string& text);
/// Whether a handler of signals has raised the exception that is set, as those of time limits do: it is the caller's to
/// catch, and no other run of the call raises it. In modules of `export` nobody can tell.
bool is_of_a_handler();
/// Puts the function before the text of a MemoryError that is set; other errors stay.
void name_memory_error(const std::string& function);

} // namespace tilewright::face
