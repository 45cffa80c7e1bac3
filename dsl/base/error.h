// dsl/base/error.h: the errors that tilewright raises, the same names in C++ and in Python.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace tilewright {

/// Base of every error of ours. The message reads
///   where: what was asked, with the values; why not. What to do.
/// `hint` (possibly empty) is the "what to do" part on its own; what() already contains it.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message, std::string hint = "")
        : std::runtime_error(hint.empty() ? message : message + " " + hint), hint_(std::move(hint)) {}
    const std::string& hint() const { return hint_; }

  private:
    std::string hint_;
};

/// A NumPy call or a construct that cannot be traced.
struct TraceError : Error {
    using Error::Error;
};
/// A program that has no translation: no rule for an operation, or shapes and dtypes that disagree.
struct TranslateError : Error {
    using Error::Error;
};
/// A schedule that does not parse, names what does not exist, or breaks a rule.
struct ScheduleError : Error {
    using Error::Error;
};
/// A store that is locked, from a newer version, or damaged.
struct StoreError : Error {
    using Error::Error;
};
/// A target that is not here or was lost.
struct DeviceError : Error {
    using Error::Error;
};
/// A module that cannot be written.
struct ExportError : Error {
    using Error::Error;
};
/// A defect of tilewright itself.
struct InternalError : Error {
    using Error::Error;
};

} // namespace tilewright
