// autotune/measure/statistics.cpp: medians, and Wilcoxon's signed-rank interval of paired log ratios.
#include "autotune/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr int kMaxExactPairs = 50;

/// Inverse of the standard normal distribution function, by bisection: called once a measurement, so plain is good
/// enough.
double normal_quantile(double probability) {
    double low = -10, high = 10;
    for (int step = 0; step < 80; ++step) {
        const double middle = (low + high) / 2;
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
}

/// How many Walsh averages at each end lie outside the interval; negative where n is too small for `confidence`.
int outside_each_end(int n, double confidence) {
    const double tail = (1 - confidence) / 2;
    if (n <= kMaxExactPairs) {
        const std::vector<double> table = signed_rank_distribution(n);
        if (table.front() > tail) return -1;
        int w = 0;
        while (table[static_cast<std::size_t>(w) + 1] <= tail)
            ++w;
        return w;
    }
    const double mean = n * (n + 1) / 4.0;
    const double deviation = std::sqrt(n * (n + 1) * (2 * n + 1) / 24.0);
    return static_cast<int>(std::floor(mean + normal_quantile(tail) * deviation - 0.5));
}

} // namespace

double median(std::vector<double> values) {
    if (values.empty()) throw InternalError("median: of no values.");
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> signed_rank_distribution(int n) {
    if (n < 1) throw InternalError("signed_rank_distribution: of " + std::to_string(n) + " pairs.");
    // How many of the 2^n patterns of signs give each sum.
    const auto largest = static_cast<std::size_t>(n * (n + 1) / 2);
    std::vector<double> ways(largest + 1, 0.0);
    ways[0] = 1;
    for (std::size_t rank = 1; rank <= static_cast<std::size_t>(n); ++rank)
        for (std::size_t sum = largest; sum >= rank; --sum)
            ways[sum] += ways[sum - rank];
    std::partial_sum(ways.begin(), ways.end(), ways.begin());
    const double all = ways.back();
    for (double& value : ways)
        value /= all;
    return ways;
}

PairedRatio paired_ratio(const std::vector<double>& candidate_ns, const std::vector<double>& incumbent_ns,
                         double confidence) {
    if (candidate_ns.size() != incumbent_ns.size() || candidate_ns.empty())
        throw InternalError("paired_ratio: " + std::to_string(candidate_ns.size()) + " times beside " +
                            std::to_string(incumbent_ns.size()) + ".");
    std::vector<double> logs;
    logs.reserve(candidate_ns.size());
    for (std::size_t i = 0; i < candidate_ns.size(); ++i) {
        if (!(candidate_ns[i] > 0) || !(incumbent_ns[i] > 0))
            throw InternalError("paired_ratio: a time is not positive.");
        logs.push_back(std::log(candidate_ns[i] / incumbent_ns[i]));
    }
    std::vector<double> walsh;
    walsh.reserve(logs.size() * (logs.size() + 1) / 2);
    for (std::size_t i = 0; i < logs.size(); ++i)
        for (std::size_t j = i; j < logs.size(); ++j)
            walsh.push_back((logs[i] + logs[j]) / 2);
    std::sort(walsh.begin(), walsh.end());
    PairedRatio result;
    result.pairs = static_cast<int>(logs.size());
    result.ratio = std::exp(median(walsh));
    const int outside = outside_each_end(result.pairs, confidence);
    if (outside >= 0 && 2 * static_cast<std::size_t>(outside) < walsh.size()) {
        const auto skip = static_cast<std::size_t>(outside);
        result.interval = Interval{std::exp(walsh[skip]), std::exp(walsh[walsh.size() - 1 - skip])};
    }
    return result;
}

bool is_faster(const PairedRatio& ratio) {
    return ratio.interval && ratio.interval->high < 1 && ratio.ratio <= 1 - kLeastGain;
}

bool is_faster_in_each(const std::vector<double>& candidate_ns, const std::vector<double>& incumbent_ns) {
    for (std::size_t i = 0; i < candidate_ns.size(); ++i)
        if (!(candidate_ns[i] < incumbent_ns[i] * (1 - kClearGain))) return false;
    return !candidate_ns.empty();
}

} // namespace tilewright::autotune
