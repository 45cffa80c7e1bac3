// autotune/measure/messages.cpp: JSON of an algorithm's description and of measurement requests, by the lists of fields
// that stand beside the structs.
#include "autotune/measure/messages.h"

#include "autotune/fields_json.h"
#include "dsl/model/algorithm_fields.h"

template <> struct nlohmann::adl_serializer<tilewright::dsl::StagePart> {
    using Part = tilewright::dsl::StagePart;
    static void to_json(nlohmann::json& to, Part from) { to = tilewright::dsl::part_name(from); }
    static void from_json(const nlohmann::json& from, Part& to) {
        to = Part::loop; // the last one
        while (to != Part::whole && from != tilewright::dsl::part_name(to))
            to = static_cast<Part>(static_cast<int>(to) - 1);
    }
};

namespace tilewright::autotune {

using nlohmann::json;

json algorithm_info_to_json(const dsl::AlgorithmInfo& info) {
    return info;
}

dsl::AlgorithmInfo algorithm_info_from_json(const json& object) {
    return object.get<dsl::AlgorithmInfo>();
}

json measure_request_to_json(const MeasureRequest& request) {
    return request;
}

MeasureRequest measure_request_from_json(const json& object) {
    return object.get<MeasureRequest>();
}

} // namespace tilewright::autotune
