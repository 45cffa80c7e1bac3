// autotune/measure/messages.cpp: JSON of an algorithm's description and of measurement requests, by the lists of fields
// that stand beside the structs.
#include "autotune/measure/messages.h"

#include <type_traits>

#include "dsl/model/algorithm_fields.h"

namespace tilewright::autotune {
namespace {

using nlohmann::json;

dsl::StagePart part_of(const std::string& name) {
    int part = static_cast<int>(dsl::StagePart::loop); // the last one
    while (part > 0 && name != dsl::part_name(static_cast<dsl::StagePart>(part)))
        --part;
    return static_cast<dsl::StagePart>(part);
}

template <class Value> json written(const std::vector<Value>& values);
template <class Value> void read(const json& from, std::vector<Value>& values);

template <class Value> json written(const Value& value) {
    if constexpr (dsl::HasFields<Value>) {
        json object = json::object();
        dsl::visit_fields(value, [&](const char* name, const auto& field) { object[name] = written(field); });
        return object;
    } else if constexpr (std::is_same_v<Value, dsl::StagePart>) {
        return dsl::part_name(value);
    } else {
        return value;
    }
}

template <class Value> json written(const std::vector<Value>& values) {
    json list = json::array();
    for (const Value& value : values)
        list.push_back(written(value));
    return list;
}

template <class Value> void read(const json& from, Value& value) {
    if constexpr (dsl::HasFields<Value>)
        dsl::visit_fields(value, [&](const char* name, auto& field) { read(from.at(name), field); });
    else if constexpr (std::is_same_v<Value, dsl::StagePart>)
        value = part_of(from.get<std::string>());
    else
        from.get_to(value);
}

template <class Value> void read(const json& from, std::vector<Value>& values) {
    values.clear();
    for (const json& each : from)
        read(each, values.emplace_back());
}

} // namespace

json algorithm_info_to_json(const dsl::AlgorithmInfo& info) {
    return written(info);
}

dsl::AlgorithmInfo algorithm_info_from_json(const json& object) {
    dsl::AlgorithmInfo info;
    read(object, info);
    return info;
}

json measure_request_to_json(const MeasureRequest& request) {
    return written(request);
}

MeasureRequest measure_request_from_json(const json& object) {
    MeasureRequest request;
    read(object, request);
    return request;
}

} // namespace tilewright::autotune
