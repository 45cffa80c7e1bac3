// python/native/error_name.h: errors by the names that their classes have in C++ and in Python alike.
#pragma once

#include "dsl/base/error.h"

namespace tilewright::native {

/// "DeviceError"; "Error" for what is of no leaf.
inline const char* error_name(const Error& error) {
    if (dynamic_cast<const TraceError*>(&error)) return "TraceError";
    if (dynamic_cast<const TranslateError*>(&error)) return "TranslateError";
    if (dynamic_cast<const ScheduleError*>(&error)) return "ScheduleError";
    if (dynamic_cast<const StoreError*>(&error)) return "StoreError";
    if (dynamic_cast<const DeviceError*>(&error)) return "DeviceError";
    if (dynamic_cast<const ExportError*>(&error)) return "ExportError";
    if (dynamic_cast<const InternalError*>(&error)) return "InternalError";
    return "Error";
}

} // namespace tilewright::native
