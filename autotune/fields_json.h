// autotune/fields_json.h: JSON of whatever has a list of its fields (dsl/base/fields.h), however deep: an object with
// the fields' names.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "dsl/base/fields.h"

template <tilewright::dsl::HasFields Struct> struct nlohmann::adl_serializer<Struct> {
    static void to_json(nlohmann::json& to, const Struct& from) {
        tilewright::dsl::visit_fields(from, [&](const char* name, const auto& field) { to[name] = field; });
    }
    /// Throws json::exception for an object of another shape.
    static void from_json(const nlohmann::json& from, Struct& to) {
        tilewright::dsl::visit_fields(to, [&](const char* name, auto& field) { from.at(name).get_to(field); });
    }
};

template <class Value> struct nlohmann::adl_serializer<std::optional<Value>> {
    static void to_json(nlohmann::json& to, const std::optional<Value>& from) {
        to = from ? nlohmann::json(*from) : nlohmann::json();
    }
};
