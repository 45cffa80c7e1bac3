// dsl/check/preconditions.h: the conditions under which a schedule's code stays inside its arrays.
//
// Kernels carry no bounds checks. So each split of an output's loop that may visit elements beyond the
// extent (shift_inwards, round_up, bound) leaves a condition over program sizes here; a plan's version asks for them
// all.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilewright::dsl {

class Preconditions {
  public:
    /// Each takes the extent as a size expression; a constant one that holds leaves no condition. False where it is
    /// constant and does not hold.
    bool at_least(const std::string& extent, std::int64_t least);
    bool at_most(const std::string& extent, std::int64_t most);
    bool divisible(const std::string& extent, std::int64_t factor);
    bool equal(const std::string& extent, std::int64_t value);

    /// "X.0 >= 65536", one for each extent and kind, sorted.
    std::vector<std::string> text() const;

  private:
    std::map<std::string, std::int64_t> least_;
    std::map<std::string, std::int64_t> most_;
    std::map<std::string, std::int64_t> factor_;
    std::set<std::string> others_;
};

} // namespace tilewright::dsl
