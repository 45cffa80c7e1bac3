// dsl/check/preconditions.cpp: collecting conditions, the strongest of each kind.
#include "dsl/check/preconditions.h"

#include <numeric>

#include "dsl/base/size_expression.h"

namespace tilewright::dsl {

bool Preconditions::at_least(const std::string& extent, std::int64_t least) {
    if (const auto value = constant_size(extent)) return *value >= least;
    std::int64_t& known = least_[extent];
    known = std::max(known, least);
    return true;
}

bool Preconditions::at_most(const std::string& extent, std::int64_t most) {
    if (const auto value = constant_size(extent)) return *value <= most;
    const auto known = most_.emplace(extent, most).first;
    known->second = std::min(known->second, most);
    return true;
}

bool Preconditions::divisible(const std::string& extent, std::int64_t factor) {
    if (const auto value = constant_size(extent)) return *value % factor == 0;
    if (factor == 1) return true;
    std::int64_t& known = factor_[extent];
    const std::int64_t common = known == 0 ? factor : std::lcm(known, factor);
    // Factors are below 2^31, but a product of several may leave int64: then both stand.
    if (common <= 0 || common > (std::int64_t{1} << 40)) {
        others_.insert((extent.find(' ') == std::string::npos ? extent : "(" + extent + ")") + " % " +
                       std::to_string(factor) + " == 0");
    } else {
        known = common;
    }
    return true;
}

bool Preconditions::equal(const std::string& extent, std::int64_t value) {
    if (const auto known = constant_size(extent)) return *known == value;
    others_.insert(extent + " == " + std::to_string(value));
    return true;
}

std::vector<std::string> Preconditions::text() const {
    std::vector<std::string> result;
    for (const auto& [extent, least] : least_)
        result.push_back(extent + " >= " + std::to_string(least));
    for (const auto& [extent, most] : most_)
        result.push_back(extent + " <= " + std::to_string(most));
    for (const auto& [extent, factor] : factor_) {
        const std::string whole = extent.find(' ') == std::string::npos ? extent : "(" + extent + ")";
        result.push_back(whole + " % " + std::to_string(factor) + " == 0");
    }
    result.insert(result.end(), others_.begin(), others_.end());
    return result;
}

} // namespace tilewright::dsl
