// autotune/measure/statistics.h: what a set of paired times proves, and what it does not.
#pragma once

#include <optional>
#include <vector>

namespace tilewright::autotune {

/// The middle value (mean of the middle two). Requires at least one value.
double median(std::vector<double> values);

struct Interval {
    double low = 0;
    double high = 0;
};

/// candidate / incumbent, from pairs taken back to back.
struct PairedRatio {
    double ratio = 1; ///< Hodges-Lehmann estimate: the median over all averages of two log ratios
    /// Of the ratio, at the asked confidence; empty where so few pairs cannot give one at all.
    std::optional<Interval> interval;
    int pairs = 0;
};

/// Wilcoxon's signed-rank interval on log ratios: exact up to 50 pairs, by the normal approximation beyond. It needs no
/// normal times, only that a pair is disturbed either way alike; a single outlier moves it little. Requires equally
/// many positive times, at least one.
PairedRatio paired_ratio(const std::vector<double>& candidate_ns, const std::vector<double>& incumbent_ns,
                         double confidence = 0.99);

/// P(W <= w), for each w from 0 on, of the signed-rank sum of n pairs when candidate and incumbent are equally fast.
/// Exact; it takes n^3 additions. Throws InternalError where n is below 1.
std::vector<double> signed_rank_distribution(int n);

/// The least difference that counts as a win: below it two schedules are the same.
inline constexpr double kLeastGain = 0.005;

/// Is the candidate faster, beyond noise and beyond kLeastGain?
bool is_faster(const PairedRatio& ratio);
/// Whether each of a few pairs says that the candidate is faster, by kClearGain at least: what is asked of calls so
/// long that there is no time for as many as is_faster() needs.
bool is_faster_in_each(const std::vector<double>& candidate_ns, const std::vector<double>& incumbent_ns);
inline constexpr double kClearGain = 0.03;

} // namespace tilewright::autotune
