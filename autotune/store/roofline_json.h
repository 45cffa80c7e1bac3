// autotune/store/roofline_json.h: a roofline as the text that the store keeps.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "autotune/machine.h"

namespace tilewright::autotune {

inline std::string print_roofline(const Roofline& roofline) {
    nlohmann::json object = {{"float32_gflops", roofline.float32_gflops},
                             {"float64_gflops", roofline.float64_gflops},
                             {"float32_fma_gflops", roofline.float32_fma_gflops},
                             {"float64_fma_gflops", roofline.float64_fma_gflops},
                             {"levels", nlohmann::json::array()}};
    for (const BandwidthLevel& level : roofline.levels)
        object["levels"].push_back({level.bytes, level.read_gbps, level.write_gbps, level.copy_gbps});
    return object.dump();
}

/// nullopt for text that is no roofline: it is measured again then.
inline std::optional<Roofline> try_read_roofline(const std::string& text) {
    try {
        const nlohmann::json object = nlohmann::json::parse(text);
        Roofline roofline;
        roofline.float32_gflops = object.at("float32_gflops");
        roofline.float64_gflops = object.at("float64_gflops");
        roofline.float32_fma_gflops = object.at("float32_fma_gflops");
        roofline.float64_fma_gflops = object.at("float64_fma_gflops");
        for (const nlohmann::json& level : object.at("levels"))
            roofline.levels.push_back({level.at(0), level.at(1), level.at(2), level.at(3)});
        if (!roofline.measured()) return std::nullopt;
        return roofline;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

} // namespace tilewright::autotune
