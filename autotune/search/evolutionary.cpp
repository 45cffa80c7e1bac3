// autotune/search/evolutionary.cpp: single steps around the best points, mutation and crossing of good ones, some
// random points.
//
// Schedules' spaces are small (5 to 20 decisions) and a candidate costs a tenth of a second, so a search sees a few
// hundred points: systematic single steps from the best, tried in the order of what each option has cost on average so
// far, find the bottom of a valley fast; mutation, crossing and random points find other valleys.
#include <algorithm>
#include <cmath>
#include <map>

#include "autotune/search/seen_points.h"

namespace tilewright::autotune {
namespace {

constexpr int kRandomPointsAtFirst = 10; ///< of each space, as long as there are few spaces
constexpr int kRandomPointsAtFirstInAll = 24;
constexpr std::size_t kElite = 12;
constexpr std::size_t kHilltops = 3;   ///< points whose neighbours are tried
constexpr double kHopelessRatio = 2.5; ///< a space this much worse than the best gets next to no further points
constexpr double kFailedCostFactor =
    4; ///< what a failed point counts in the averages of its options, in costs of the best

std::optional<int> option_of(const dsl::Decision& decision, const std::string& text) {
    const auto found = std::ranges::find(decision.options, text);
    if (found == decision.options.end()) return std::nullopt;
    return static_cast<int>(found - decision.options.begin());
}

class Evolutionary : public Strategy {
  public:
    Evolutionary(const std::vector<SearchSpace>& spaces, std::uint64_t seed)
        : spaces_(spaces), seen_(spaces), rng_(seed), best_of_space_(spaces.size()), effects_(spaces.size()) {
        const std::size_t count = std::max<std::size_t>(1, spaces.size());
        random_left_.assign(
            spaces.size(),
            std::max(3, std::min<int>(kRandomPointsAtFirst, kRandomPointsAtFirstInAll / static_cast<int>(count))));
        for (std::size_t i = 0; i < spaces.size(); ++i)
            first_left_.push_back(i);
    }

    std::optional<Proposal> propose() override {
        if (spaces_.empty()) return std::nullopt;
        std::optional<Proposal> proposal = first_moves();
        for (int attempt = 0; !proposal && attempt < 20; ++attempt)
            proposal = later_move(unit_(rng_));
        if (!proposal) proposal = neighbour(0, true);
        for (std::size_t space = 0; !proposal && space < spaces_.size(); ++space)
            proposal = random_of(space);
        if (!proposal) proposal = seen_.next_by_counting();
        if (proposal) seen_.add(proposal->space, proposal->point);
        return proposal;
    }

    void observe(const Proposal& proposal, std::optional<double> cost) override {
        seen_.add(proposal.space, proposal.point);
        if (proposal.space >= spaces_.size()) return;
        if (cost) {
            const Observed observed{proposal.space, proposal.point, *cost};
            population_.insert(std::upper_bound(population_.begin(), population_.end(), observed,
                                                [](const Observed& a, const Observed& b) { return a.cost < b.cost; }),
                               observed);
            double& best = best_of_space_[proposal.space];
            if (best == 0 || *cost < best) best = *cost;
        }
        const double reference = population_.empty() ? 1 : population_.front().cost;
        const double log_cost = std::log(cost ? *cost : reference * kFailedCostFactor);
        for (const auto& [id, option] : proposal.point)
            effects_[proposal.space][id][option].add(log_cost);
    }

  private:
    struct Observed {
        std::size_t space;
        dsl::Point point;
        double cost;
    };
    struct Mean {
        double sum = 0;
        double best = 0;
        int count = 0;
        void add(double value) {
            sum += value;
            best = count == 0 ? value : std::min(best, value);
            ++count;
        }
    };
    using Effects = std::map<std::string, std::map<int, Mean>>;

    std::optional<Proposal> accept(std::size_t space, const std::optional<dsl::Point>& point, const char* origin) {
        if (!point) return std::nullopt;
        dsl::Point whole = completed(spaces_[space].space, *point,
                                     [&](const dsl::Decision& decision) { return likely_option(space, decision); });
        if (seen_.contains(space, whole) || spaces_[space].space.violated(whole, spaces_[space].environment))
            return std::nullopt;
        return Proposal{space, std::move(whole), origin};
    }

    std::optional<Proposal> random_of(std::size_t space) {
        auto point = seen_.random_unseen(space, rng_);
        if (!point) return std::nullopt;
        return Proposal{space, std::move(*point), "random"};
    }

    /// The point that a space's author wrote first, of every space; then some random ones of each.
    std::optional<Proposal> first_moves() {
        while (!first_left_.empty()) {
            const std::size_t space = first_left_.front();
            first_left_.erase(first_left_.begin());
            if (auto proposal = accept(space, spaces_[space].space.first_point(), "first")) return proposal;
        }
        for (;;) {
            std::size_t space = 0;
            for (std::size_t i = 1; i < spaces_.size(); ++i)
                if (random_left_[i] > random_left_[space]) space = i;
            if (random_left_[space] <= 0) return std::nullopt;
            --random_left_[space];
            // A space whose first points are far behind is not worth as many random ones.
            if (hopeless(space) && random_left_[space] % 3 != 0) continue;
            if (auto proposal = random_of(space)) return proposal;
        }
    }

    std::optional<Proposal> later_move(double dice) {
        if (population_.empty() || dice < 0.08) return random_of(any_space());
        if (dice < 0.50) return neighbour(hilltop(), false);
        if (dice < 0.58) return coupled(population_[hilltop()]);
        if (dice < 0.76) {
            const Observed& parent = tournament();
            return accept(parent.space,
                          spaces_[parent.space].space.mutate(parent.point, rng_, spaces_[parent.space].environment),
                          "mutation");
        }
        if (dice < 0.94) {
            const Observed& mother = tournament();
            const Observed& father = tournament();
            if (mother.space != father.space) return transplant(mother, father.space);
            return accept(
                mother.space,
                spaces_[mother.space].space.cross(mother.point, father.point, rng_, spaces_[mother.space].environment),
                "crossing");
        }
        return transplant(population_.front(), any_space());
    }

    /// The best unseen point one decision away. Every neighbour is scored by the mean log cost of the option it takes
    /// (what is untried is assumed good), with some noise, so that repeated calls walk through all of them.
    std::optional<Proposal> neighbour(std::size_t rank, bool of_any) {
        for (; rank < population_.size(); ++rank) {
            const Observed& hill = population_[rank];
            const dsl::Space& space = spaces_[hill.space].space;
            std::optional<Proposal> best;
            double best_score = 0;
            for (const dsl::Decision& decision : space.active(hill.point)) {
                const auto current = hill.point.find(decision.id);
                if (current == hill.point.end()) continue;
                for (int option = 0; option < static_cast<int>(decision.options.size()); ++option) {
                    if (option == current->second) continue;
                    dsl::Point changed = hill.point;
                    changed[decision.id] = option;
                    auto proposal = accept(hill.space, changed, "neighbour");
                    if (!proposal) continue;
                    const bool adjacent = std::abs(option - current->second) == 1;
                    const double score =
                        expected(hill.space, decision.id, option) - (adjacent ? 0.05 : 0) + 0.1 * unit_(rng_);
                    if (best && score >= best_score) continue;
                    best = std::move(proposal);
                    best_score = score;
                }
            }
            if (best) return best;
            if (!of_any && rank >= kElite) break;
        }
        return std::nullopt;
    }

    /// A step that several decisions take together: those with the same value now (vector widths of stages that feed
    /// each other) often belong together, and no single step leads from one common value to the next.
    std::optional<Proposal> coupled(const Observed& from) {
        const std::vector<dsl::Decision> decisions = spaces_[from.space].space.active(from.point);
        if (decisions.empty()) return std::nullopt;
        const auto text_of = [&](const dsl::Decision& decision) -> const std::string& {
            return decision.options[static_cast<std::size_t>(from.point.at(decision.id))];
        };
        const dsl::Decision& leader =
            decisions[std::uniform_int_distribution<std::size_t>(0, decisions.size() - 1)(rng_)];
        const int step = unit_(rng_) < 0.5 ? -1 : 1;
        const int option = from.point.at(leader.id) + step;
        if (option < 0 || option >= static_cast<int>(leader.options.size())) return std::nullopt;
        const std::string& wanted = leader.options[static_cast<std::size_t>(option)];
        dsl::Point point = from.point;
        for (const dsl::Decision& decision : decisions) {
            if (text_of(decision) != text_of(leader)) continue;
            if (const auto same = option_of(decision, wanted)) point[decision.id] = *same;
        }
        return accept(from.space, point, "coupled");
    }

    /// The decisions of a good point, by name and text of the option, in another variant's space.
    std::optional<Proposal> transplant(const Observed& from, std::size_t to) {
        if (to == from.space) return std::nullopt;
        const dsl::Space& target = spaces_[to].space;
        std::map<std::string, std::string> answers;
        for (const dsl::Decision& decision : spaces_[from.space].space.active(from.point)) {
            const auto found = from.point.find(decision.id);
            if (found != from.point.end())
                answers[decision.id] = decision.options[static_cast<std::size_t>(found->second)];
        }
        dsl::Point point = completed(target, {}, [&](const dsl::Decision& decision) {
            const auto answer = answers.find(decision.id);
            const auto same = answer != answers.end() ? option_of(decision, answer->second) : std::nullopt;
            return same ? *same : likely_option(to, decision);
        });
        return accept(to, std::move(point), "transplant");
    }

    double expected(std::size_t space, const std::string& id, int option) const {
        const auto decision = effects_[space].find(id);
        if (decision != effects_[space].end()) {
            const auto found = decision->second.find(option);
            // Half the mean, half the best seen: an option that is bad on average may be the one that a good point
            // needs.
            if (found != decision->second.end() && found->second.count > 0)
                return (found->second.sum / found->second.count + found->second.best) / 2;
        }
        return std::log(population_.empty() ? 1 : population_.front().cost);
    }

    int likely_option(std::size_t space, const dsl::Decision& decision) {
        const int count = static_cast<int>(decision.options.size());
        if (count <= 1) return 0;
        if (unit_(rng_) < 0.3) return std::uniform_int_distribution<int>(0, count - 1)(rng_);
        int best = 0;
        for (int option = 1; option < count; ++option)
            if (expected(space, decision.id, option) < expected(space, decision.id, best)) best = option;
        return best;
    }

    bool hopeless(std::size_t space) const {
        return !population_.empty() && best_of_space_[space] > population_.front().cost * kHopelessRatio;
    }

    std::size_t any_space() {
        for (int attempt = 0; attempt < 4; ++attempt) {
            const std::size_t space = std::uniform_int_distribution<std::size_t>(0, spaces_.size() - 1)(rng_);
            if (!hopeless(space) && (best_of_space_[space] != 0 || unit_(rng_) < 0.2)) return space;
        }
        return population_.empty() ? 0 : population_.front().space;
    }

    std::size_t hilltop() {
        const double dice = unit_(rng_);
        const std::size_t rank = dice < 0.6 ? 0 : dice < 0.85 ? 1 : kHilltops - 1;
        return std::min(rank, population_.size() - 1);
    }

    const Observed& tournament() {
        std::uniform_int_distribution<std::size_t> any(0, std::min(kElite, population_.size()) - 1);
        return population_[std::min(any(rng_), any(rng_))];
    }

    const std::vector<SearchSpace>& spaces_;
    SeenPoints seen_;
    std::mt19937_64 rng_;
    std::uniform_real_distribution<double> unit_{0, 1};
    std::vector<Observed> population_; ///< by rising cost
    std::vector<double> best_of_space_;
    std::vector<Effects> effects_;
    std::vector<int> random_left_;
    std::vector<std::size_t> first_left_;
};

} // namespace

std::unique_ptr<Strategy> make_evolutionary(const std::vector<SearchSpace>& spaces, std::uint64_t seed) {
    return std::make_unique<Evolutionary>(spaces, seed);
}

} // namespace tilewright::autotune
