// autotune/search/random.cpp: uniform random points. The yardstick for every other strategy.
#include "autotune/search/seen_points.h"

namespace tilewright::autotune {
namespace {

class Random : public Strategy {
  public:
    Random(const std::vector<SearchSpace>& spaces, std::uint64_t seed) : spaces_(spaces), seen_(spaces), rng_(seed) {}

    std::optional<Proposal> propose() override {
        if (spaces_.empty()) return std::nullopt;
        for (int attempt = 0; attempt < 10; ++attempt) {
            const std::size_t space = std::uniform_int_distribution<std::size_t>(0, spaces_.size() - 1)(rng_);
            if (auto point = seen_.random_unseen(space, rng_)) {
                seen_.add(space, *point);
                return Proposal{space, std::move(*point), "random"};
            }
        }
        auto left = seen_.next_by_counting();
        if (left) seen_.add(left->space, left->point);
        return left;
    }
    void observe(const Proposal& proposal, std::optional<double>) override {
        seen_.add(proposal.space, proposal.point);
    }

  private:
    const std::vector<SearchSpace>& spaces_;
    SeenPoints seen_;
    std::mt19937_64 rng_;
};

} // namespace

std::unique_ptr<Strategy> make_random(const std::vector<SearchSpace>& spaces, std::uint64_t seed) {
    return std::make_unique<Random>(spaces, seed);
}

} // namespace tilewright::autotune
