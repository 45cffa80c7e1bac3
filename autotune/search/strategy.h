// autotune/search/strategy.h: what a search strategy is, and the list of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/language/space.h"

namespace tilewright::autotune {

/// The space of one variant, and the values that its conditions need there.
struct SearchSpace {
    std::string label; ///< "norm=lanes1", for people
    dsl::Space space;
    dsl::Environment environment;
    std::string digest = {}; ///< of its text: what a stored point is a point of
};

struct Proposal {
    std::size_t space = 0;
    dsl::Point point;
    std::string origin; ///< which move made it: random, neighbour, ...; kept with the trial
};

/// Knows nothing of building, running or storing: it proposes points and is told what they cost.
class Strategy {
  public:
    virtual ~Strategy() = default;
    /// A point that was neither proposed nor observed before; nullopt when none is left to be found.
    virtual std::optional<Proposal> propose() = 0;
    /// `cost`: nanoseconds in one common frame; nullopt where the candidate failed. Also called for points of earlier
    /// sessions.
    virtual void observe(const Proposal& proposal, std::optional<double> cost) = 0;
};

struct StrategyRow {
    const char* name;
    const char* meaning;
    std::unique_ptr<Strategy> (*make)(const std::vector<SearchSpace>& spaces, std::uint64_t seed);
};

/// Every strategy; the first is the default.
const std::vector<StrategyRow>& strategies();

// One a file of its name. `spaces` must outlive the strategy.
std::unique_ptr<Strategy> make_evolutionary(const std::vector<SearchSpace>& spaces, std::uint64_t seed);
std::unique_ptr<Strategy> make_random(const std::vector<SearchSpace>& spaces, std::uint64_t seed);

/// Throws ScheduleError naming the strategies that exist.
std::unique_ptr<Strategy> make_strategy(const std::string& name, const std::vector<SearchSpace>& spaces,
                                        std::uint64_t seed);

} // namespace tilewright::autotune
