// autotune/search/seen_points.h: points by what they decide, so that no strategy proposes one twice.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "autotune/search/strategy.h"

namespace tilewright::autotune {

/// `point` with exactly the decisions that exist in it: stale ones dropped, missing ones answered by `fill` (an index).
dsl::Point completed(const dsl::Space& space, dsl::Point point, const std::function<int(const dsl::Decision&)>& fill);

class SeenPoints {
  public:
    explicit SeenPoints(const std::vector<SearchSpace>& spaces) : spaces_(spaces) {}
    /// False when it was there already.
    bool add(std::size_t space, const dsl::Point& point);
    bool contains(std::size_t space, const dsl::Point& point) const;
    /// The first unseen point in counting order, where the spaces are small enough to be counted through.
    std::optional<Proposal> next_by_counting();
    /// An unseen random point of `space`, after some tries.
    std::optional<dsl::Point> random_unseen(std::size_t space, std::mt19937_64& rng) const;

  private:
    static std::string key(std::size_t space, const dsl::Point& point);
    const std::vector<SearchSpace>& spaces_;
    std::unordered_set<std::string> keys_;
    std::size_t counting_space_ = 0;
    std::optional<dsl::Point> counting_point_;
    int counted_ = 0;
};

} // namespace tilewright::autotune
