// autotune/search/strategies.cpp: the list of strategies. A new one is a file beside this and a row here.
#include "autotune/search/strategy.h"
#include "dsl/base/error.h"
#include "dsl/base/spelling.h"

namespace tilewright::autotune {

const std::vector<StrategyRow>& strategies() {
    static const std::vector<StrategyRow> rows = {
        {"evolutionary", "single steps around the best points, mutation and crossing of good ones, some random points",
         make_evolutionary},
        {"random", "uniform random points", make_random},
    };
    return rows;
}

std::unique_ptr<Strategy> make_strategy(const std::string& name, const std::vector<SearchSpace>& spaces,
                                        std::uint64_t seed) {
    for (const StrategyRow& row : strategies())
        if (name == row.name) return row.make(spaces, seed);
    throw ScheduleError("search strategy " + name + ": there is no such strategy.",
                        "Use one of: " + dsl::joined(strategies(), ", ", [](const auto& row) { return row.name; }) +
                            ".");
}

} // namespace tilewright::autotune
