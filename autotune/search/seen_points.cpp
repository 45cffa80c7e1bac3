// autotune/search/seen_points.cpp: dedup of points, and counting through small spaces.
#include "autotune/search/seen_points.h"

#include <functional>

namespace tilewright::autotune {
namespace {

constexpr int kMostCounted = 20000;

/// The point after `point` in counting order: the last decision that can still rise does, those behind it start again.
std::optional<dsl::Point> successor(const dsl::Space& space, const dsl::Point& point) {
    const std::vector<dsl::Decision> decisions = space.active(point);
    for (std::size_t i = decisions.size(); i-- > 0;) {
        const auto found = point.find(decisions[i].id);
        const int value = found == point.end() ? 0 : found->second;
        if (value + 1 >= static_cast<int>(decisions[i].options.size())) continue;
        dsl::Point next;
        for (std::size_t j = 0; j < i; ++j) {
            const auto kept = point.find(decisions[j].id);
            next[decisions[j].id] = kept == point.end() ? 0 : kept->second;
        }
        next[decisions[i].id] = value + 1;
        return completed(space, std::move(next), [](const dsl::Decision&) { return 0; });
    }
    return std::nullopt;
}

} // namespace

dsl::Point completed(const dsl::Space& space, dsl::Point point, const std::function<int(const dsl::Decision&)>& fill) {
    // Answering one decision may open further ones: repeat until nothing is open.
    for (int round = 0; round < 1000; ++round) {
        dsl::Point next;
        bool open = false;
        for (const dsl::Decision& decision : space.active(point)) {
            const auto found = point.find(decision.id);
            if (found != point.end() && found->second >= 0 &&
                found->second < static_cast<int>(decision.options.size())) {
                next[decision.id] = found->second;
                continue;
            }
            next[decision.id] = fill(decision);
            open = true;
        }
        if (!open && next == point) return next;
        point = std::move(next);
    }
    return point;
}

std::string SeenPoints::key(std::size_t space, const dsl::Point& point) {
    std::string text = std::to_string(space);
    for (const auto& [id, index] : point)
        text += ';' + id + '=' + std::to_string(index);
    return text;
}

bool SeenPoints::add(std::size_t space, const dsl::Point& point) {
    return keys_.insert(key(space, point)).second;
}
bool SeenPoints::contains(std::size_t space, const dsl::Point& point) const {
    return keys_.count(key(space, point)) > 0;
}

std::optional<Proposal> SeenPoints::next_by_counting() {
    while (counting_space_ < spaces_.size() && counted_ < kMostCounted) {
        const SearchSpace& here = spaces_[counting_space_];
        counting_point_ = counting_point_ ? successor(here.space, *counting_point_)
                                          : completed(here.space, {}, [](const dsl::Decision&) { return 0; });
        if (!counting_point_) {
            ++counting_space_;
            continue;
        }
        ++counted_;
        if (contains(counting_space_, *counting_point_) || here.space.violated(*counting_point_, here.environment))
            continue;
        return Proposal{counting_space_, *counting_point_, "counting"};
    }
    return std::nullopt;
}

std::optional<dsl::Point> SeenPoints::random_unseen(std::size_t space, std::mt19937_64& rng) const {
    const SearchSpace& here = spaces_[space];
    for (int attempt = 0; attempt < 30; ++attempt) {
        std::optional<dsl::Point> point = here.space.random_point(rng, here.environment);
        if (!point) return std::nullopt;
        dsl::Point whole = completed(here.space, std::move(*point), [](const dsl::Decision&) { return 0; });
        if (!contains(space, whole)) return whole;
    }
    return std::nullopt;
}

} // namespace tilewright::autotune
