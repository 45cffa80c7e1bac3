// python/native/json_objects.h: JSON values as Python objects.
#pragma once

#include <nlohmann/json.hpp>
#include <pybind11/pybind11.h>

#include "python/native/bindings.h"

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
    case Type::string:
        return text_of(value.get_ref<const std::string&>());
    case Type::array:
        return list_of(value, to_python);
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
