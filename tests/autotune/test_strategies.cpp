// tests/autotune/test_strategies.cpp: what every strategy owes, and how fast the default one gets there.
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "autotune/search/seen_points.h"
#include "autotune/search/strategy.h"
#include "dsl/base/error.h"
#include "landscape.h"

namespace tilewright::autotune {
namespace {

using testing::open_space;
using testing::time_of;

double cost_of(const SearchSpace& space, const dsl::Point& point) {
    return time_of(dsl::print_schedule(space.space.at(point)));
}

/// The best of the whole space, by counting through it.
double true_best(const std::vector<SearchSpace>& spaces) {
    double best = 1e300;
    SeenPoints seen(spaces);
    while (auto proposal = seen.next_by_counting())
        best = std::min(best, cost_of(spaces[proposal->space], proposal->point));
    return best;
}

class EveryStrategy : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryStrategy, NeverProposesTwiceNorWhatAWhereForbids) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const auto strategy = make_strategy(GetParam(), spaces, 3);
    std::set<std::string> seen;
    for (int i = 0; i < 400; ++i) {
        const auto proposal = strategy->propose();
        ASSERT_TRUE(proposal);
        EXPECT_FALSE(spaces[0].space.violated(proposal->point, spaces[0].environment));
        EXPECT_TRUE(seen.insert(dsl::print_schedule(spaces[0].space.at(proposal->point))).second) << i;
        EXPECT_FALSE(proposal->origin.empty());
        strategy->observe(*proposal,
                          i % 7 == 0 ? std::nullopt : std::optional<double>(cost_of(spaces[0], proposal->point)));
    }
}

TEST_P(EveryStrategy, UsesUpASmallSpaceAndStops) {
    const std::vector<SearchSpace> spaces = {
        open_space("tilewright-space 1\nspace get_labels for x86-64-v4\n"
                   "labels.split(i, io, ii, ?tile{8, 12, 16}).vectorize(ii, ?lanes{4, 8})\n"
                   "choose { norm.inline() | norm.compute_root().vectorize(i, ?w{2, 4}) }\n"
                   "where ?tile % ?lanes == 0\n")};
    const auto strategy = make_strategy(GetParam(), spaces, 5);
    int proposals = 0;
    while (const auto proposal = strategy->propose()) {
        strategy->observe(*proposal, 1e6);
        ASSERT_LT(++proposals, 100);
    }
    EXPECT_EQ(proposals, 5 * 3) << "(tile, lanes) has 5 legal pairs, the choice has 3 ways";
    EXPECT_FALSE(strategy->propose());
}

TEST_P(EveryStrategy, CopesWithASpaceOfOnePointAndWithNone) {
    const std::vector<SearchSpace> one = {
        open_space("tilewright-space 1\nspace get_labels for x86-64-v4\nlabels.vectorize(i, 8)\n")};
    const auto strategy = make_strategy(GetParam(), one, 5);
    EXPECT_TRUE(strategy->propose());
    EXPECT_FALSE(strategy->propose());
    const std::vector<SearchSpace> none;
    EXPECT_FALSE(make_strategy(GetParam(), none, 5)->propose());
}

TEST_P(EveryStrategy, DoesNotProposeWhatEarlierSessionsTold) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const auto first = make_strategy(GetParam(), spaces, 9);
    std::vector<Proposal> told;
    for (int i = 0; i < 50; ++i)
        told.push_back(*first->propose());
    const auto second = make_strategy(GetParam(), spaces, 9);
    for (const Proposal& proposal : told)
        second->observe(proposal, cost_of(spaces[0], proposal.point));
    for (int i = 0; i < 50; ++i) {
        const auto proposal = second->propose();
        ASSERT_TRUE(proposal);
        for (const Proposal& old : told)
            EXPECT_NE(proposal->point, old.point);
        second->observe(*proposal, cost_of(spaces[0], proposal->point));
    }
}

TEST_P(EveryStrategy, IsDeterministicForASeed) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const auto a = make_strategy(GetParam(), spaces, 11), b = make_strategy(GetParam(), spaces, 11);
    for (int i = 0; i < 100; ++i) {
        const auto p = a->propose(), q = b->propose();
        ASSERT_EQ(p->point, q->point);
        a->observe(*p, cost_of(spaces[0], p->point));
        b->observe(*q, cost_of(spaces[0], q->point));
    }
}

TEST_P(EveryStrategy, SurvivesWhereEverythingFails) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const auto strategy = make_strategy(GetParam(), spaces, 1);
    for (int i = 0; i < 100; ++i) {
        const auto proposal = strategy->propose();
        ASSERT_TRUE(proposal);
        strategy->observe(*proposal, std::nullopt);
    }
}

INSTANTIATE_TEST_SUITE_P(List, EveryStrategy, ::testing::ValuesIn([] {
                             std::vector<const char*> names;
                             for (const StrategyRow& row : strategies())
                                 names.push_back(row.name);
                             return names;
                         }()),
                         [](const auto& one) { return std::string(one.param); });

/// Best true cost after `trials`, relative to the best of the space; the strategy sees noisy costs.
double regret(const char* name, const std::vector<SearchSpace>& spaces, double best, int trials, unsigned seed) {
    const auto strategy = make_strategy(name, spaces, seed);
    std::mt19937_64 rng(seed + 100);
    std::normal_distribution<double> noise(0, 0.01);
    double found = 1e300;
    for (int i = 0; i < trials; ++i) {
        const auto proposal = strategy->propose();
        if (!proposal) break;
        const double cost = cost_of(spaces[proposal->space], proposal->point);
        found = std::min(found, cost);
        strategy->observe(*proposal, cost * std::exp(noise(rng)));
    }
    return found / best;
}

TEST(Evolutionary, ComesWithinFivePercentOnMostSeeds) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const double best = true_best(spaces);
    auto sorted_regrets = [&](int trials) {
        std::vector<double> regrets;
        for (unsigned seed = 0; seed < 15; ++seed)
            regrets.push_back(regret("evolutionary", spaces, best, trials, seed));
        std::sort(regrets.begin(), regrets.end());
        return regrets;
    };
    EXPECT_LE(sorted_regrets(150)[7], 1.02) << "median";
    EXPECT_LE(sorted_regrets(250)[13], 1.05) << "next to worst";
}

TEST(Evolutionary, BeatsRandomAtTheSameNumberOfTrials) {
    const std::vector<SearchSpace> spaces = {open_space()};
    const double best = true_best(spaces);
    double evolutionary = 0, random = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
        evolutionary += std::log(regret("evolutionary", spaces, best, 120, seed));
        random += std::log(regret("random", spaces, best, 120, seed));
    }
    EXPECT_LT(evolutionary, random);
}

TEST(Evolutionary, FindsTheGoodVariantAmongSeveralAndCarriesDecisionsOver) {
    // The second variant's space has the same holes and is 30 % faster: the same point is best in both.
    std::vector<SearchSpace> spaces = {open_space(), open_space(), open_space()};
    const auto strategy = make_strategy("evolutionary", spaces, 2);
    const double best = true_best({open_space()}) * 0.7;
    double found = 1e300;
    for (int i = 0; i < 220; ++i) {
        const auto proposal = strategy->propose();
        ASSERT_TRUE(proposal);
        const double factor = proposal->space == 1 ? 0.7 : proposal->space == 2 ? 6 : 1;
        const double cost = cost_of(spaces[proposal->space], proposal->point) * factor;
        found = std::min(found, cost);
        strategy->observe(*proposal, cost);
    }
    EXPECT_LE(found / best, 1.05);
}

TEST(Strategies, AnUnknownOneIsNamedWithThoseThatExist) {
    const std::vector<SearchSpace> spaces;
    try {
        make_strategy("annealing", spaces, 0);
        FAIL();
    } catch (const ScheduleError& error) {
        EXPECT_STREQ(error.what(),
                     "search strategy annealing: there is no such strategy. Use one of: evolutionary, random.");
    }
}

} // namespace
} // namespace tilewright::autotune
