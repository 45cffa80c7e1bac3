// autotune/variant_combinations.cpp: combinations by how many choices differ from the default.
#include "autotune/variant_combinations.h"

namespace tilewright::autotune {

std::vector<std::map<std::string, std::string>> variant_combinations(const std::vector<VariantOptions>& variants,
                                                                     std::size_t most) {
    std::map<std::string, std::string> defaults;
    for (const VariantOptions& variant : variants)
        if (!variant.options.empty()) defaults[variant.name] = variant.options.front();
    std::vector<std::map<std::string, std::string>> combinations = {defaults};
    // Each round changes one further choice, behind the last one changed, so that every combination is made once.
    struct Partial {
        std::map<std::string, std::string> choices;
        std::size_t next;
    };
    std::vector<Partial> round = {{defaults, 0}};
    while (!round.empty() && combinations.size() < most) {
        std::vector<Partial> next_round;
        for (const Partial& partial : round)
            for (std::size_t v = partial.next; v < variants.size(); ++v)
                for (std::size_t option = 1; option < variants[v].options.size(); ++option) {
                    if (combinations.size() >= most) return combinations;
                    Partial changed{partial.choices, v + 1};
                    changed.choices[variants[v].name] = variants[v].options[option];
                    combinations.push_back(changed.choices);
                    next_round.push_back(std::move(changed));
                }
        round = std::move(next_round);
    }
    return combinations;
}

} // namespace tilewright::autotune
