// python/native/json_objects.h: JSON values as Python objects.
#pragma once

#include <nlohmann/json.hpp>
#include <pybind11/pybind11.h>

namespace tilewright::native {

inline pybind11::object to_python(const nlohmann::json& value) {
    namespace py = pybind11;
    using Type = nlohmann::json::value_t;
    switch (value.type()) {
    case Type::boolean:
        return py::bool_(value.get<bool>());
    case Type::number_integer:
        return py::int_(value.get<std::int64_t>());
    case Type::number_unsigned:
        return py::int_(value.get<std::uint64_t>());
    case Type::number_float:
        return py::float_(value.get<double>());
    case Type::string: {
        // A message may quote bytes that are no UTF-8: they must not turn a result into an exception.
        const std::string& text = value.get_ref<const std::string&>();
        return py::reinterpret_steal<py::object>(
            PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
    }
    case Type::array: {
        py::list list;
        for (const auto& one : value)
            list.append(to_python(one));
        return list;
    }
    case Type::object: {
        py::dict dict;
        for (const auto& [name, one] : value.items())
            dict[py::str(name)] = to_python(one);
        return dict;
    }
    default:
        return py::none();
    }
}

} // namespace tilewright::native
