// dsl/base/spelling.cpp: edit distance over short words.
#include "dsl/base/spelling.h"

#include <algorithm>
#include <cctype>

namespace tilewright::dsl {
namespace {

/// Longer words are not compared: the distance costs the product of the lengths.
constexpr std::size_t kLongestWord = 64;

std::string lower_case(std::string_view word) {
    std::string lower(word);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return lower;
}

/// Optimal string alignment distance.
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
        std::swap(before_last, last);
        std::swap(last, row);
    }
    return last[b.size()];
}

} // namespace

std::optional<std::string> near_name(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.empty() || word.size() > kLongestWord) return std::nullopt;
    const std::string lower = lower_case(word);
    std::optional<std::string> best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& candidate : candidates) {
        if (candidate.size() > kLongestWord) continue;
        const std::size_t d = distance(lower, lower_case(candidate));
        // A word that shares nothing with the candidate (x for i) is no misspelling of it.
        if (d < best_distance && d < std::max(word.size(), candidate.size())) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}

} // namespace tilewright::dsl
