// tests/autotune/test_statistics.cpp: intervals against known values, coverage by simulation, and what is no proof.
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "autotune/measure/statistics.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

TEST(Median, IsTheMiddleValueOrTheMeanOfTheMiddleTwo) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({7}), 7);
    EXPECT_THROW(median({}), InternalError);
}

TEST(SignedRank, MatchesTabulatedProbabilities) {
    // One-sided tables of Wilcoxon's T: n = 8: P(T <= 3) = 5/256, n = 10: P(T <= 10) = 0.0420, n = 20: P(T <= 60) =
    // 0.0487.
    EXPECT_DOUBLE_EQ(signed_rank_distribution(8).at(0), 1.0 / 256);
    EXPECT_DOUBLE_EQ(signed_rank_distribution(8).at(3), 5.0 / 256);
    EXPECT_NEAR(signed_rank_distribution(10).at(10), 0.0420, 5e-5);
    EXPECT_NEAR(signed_rank_distribution(20).at(60), 0.0487, 5e-5);
    EXPECT_DOUBLE_EQ(signed_rank_distribution(5).at(15), 1);
    EXPECT_EQ(signed_rank_distribution(5).size(), 16u);
}

TEST(PairedRatio, GivesNoIntervalForTooFewPairs) {
    const PairedRatio seven = paired_ratio(std::vector<double>(7, 1.0), std::vector<double>(7, 2.0));
    EXPECT_FALSE(seven.interval);
    EXPECT_DOUBLE_EQ(seven.ratio, 0.5);
    EXPECT_FALSE(is_faster(seven));
    const PairedRatio eight = paired_ratio(std::vector<double>(8, 1.0), std::vector<double>(8, 2.0));
    ASSERT_TRUE(eight.interval);
    EXPECT_TRUE(is_faster(eight));
}

TEST(FewPairs, ProveAGainThatIsClearInEach) {
    EXPECT_TRUE(is_faster_in_each({0.9, 0.95}, {1, 1}));
    EXPECT_FALSE(is_faster_in_each({0.9, 0.98}, {1, 1})) << "that may be luck";
    EXPECT_FALSE(is_faster_in_each({0.5, 1.2, 0.5}, {1, 1, 1}));
    EXPECT_FALSE(is_faster_in_each({}, {}));
}

TEST(PairedRatio, IsNotMovedByOneOutlier) {
    std::vector<double> candidate(20, 90), incumbent(20, 100);
    candidate[3] = 9000;
    const PairedRatio ratio = paired_ratio(candidate, incumbent);
    EXPECT_NEAR(ratio.ratio, 0.9, 1e-9);
    EXPECT_TRUE(is_faster(ratio));
}

TEST(PairedRatio, SeesThroughDriftThatBothShare) {
    // The machine gets twice as slow half way; medians of each alone would hide a 3 % gain.
    std::vector<double> candidate, incumbent;
    std::mt19937_64 rng(1);
    std::normal_distribution<double> noise(0, 0.01);
    for (int i = 0; i < 30; ++i) {
        const double base = i < 15 ? 100 : 200;
        candidate.push_back(base * 0.97 * std::exp(noise(rng)));
        incumbent.push_back(base * std::exp(noise(rng)));
    }
    EXPECT_TRUE(is_faster(paired_ratio(candidate, incumbent)));
}

TEST(PairedRatio, ADifferenceBelowHalfAPercentIsNoWin) {
    EXPECT_FALSE(is_faster(paired_ratio(std::vector<double>(30, 99.7), std::vector<double>(30, 100))));
    EXPECT_TRUE(is_faster(paired_ratio(std::vector<double>(30, 99.4), std::vector<double>(30, 100))));
}

/// Share of simulated experiments in which the interval misses the true ratio.
double miss_rate(int pairs, double confidence, double true_ratio, unsigned seed) {
    std::mt19937_64 rng(seed);
    std::normal_distribution<double> noise(0, 0.05);
    std::uniform_real_distribution<double> unit(0, 1);
    int missed = 0;
    constexpr int kExperiments = 4000;
    for (int experiment = 0; experiment < kExperiments; ++experiment) {
        std::vector<double> candidate, incumbent;
        for (int i = 0; i < pairs; ++i) {
            // Heavy tails: one time in twenty is disturbed, on either side of a pair alike.
            auto disturbed = [&] { return std::exp(noise(rng)) * (unit(rng) < 0.05 ? 2 : 1); };
            candidate.push_back(true_ratio * disturbed());
            incumbent.push_back(disturbed());
        }
        const PairedRatio ratio = paired_ratio(candidate, incumbent, confidence);
        missed += !ratio.interval || true_ratio < ratio.interval->low || true_ratio > ratio.interval->high;
    }
    return missed / static_cast<double>(kExperiments);
}

TEST(PairedRatio, IntervalsCoverTheTruthAsOftenAsTheySay) {
    EXPECT_LE(miss_rate(8, 0.99, 0.9, 1), 0.014);
    EXPECT_LE(miss_rate(24, 0.99, 1.0, 2), 0.014);
    EXPECT_LE(miss_rate(60, 0.99, 1.1, 3), 0.014);
    EXPECT_LE(miss_rate(24, 0.9, 1.0, 4), 0.115);
    // And they are no wider than they must be: at 90 % about one in ten misses.
    EXPECT_GE(miss_rate(24, 0.9, 1.0, 4), 0.07);
    EXPECT_GE(miss_rate(60, 0.9, 1.0, 5), 0.07);
}

TEST(PairedRatio, RefusesWhatIsNotPaired) {
    EXPECT_THROW(paired_ratio({1, 2}, {1}), InternalError);
    EXPECT_THROW(paired_ratio({}, {}), InternalError);
    EXPECT_THROW(paired_ratio({0}, {1}), InternalError);
}

} // namespace
} // namespace tilewright::autotune
