// tests/autotune/test_variant_combinations.cpp: the default first, nothing twice, a cap.
#include <gtest/gtest.h>
#include <set>

#include "autotune/search_session.h"

namespace tilewright::autotune {
namespace {

TEST(VariantCombinations, AProgramWithoutChoicesHasOneVariant) {
    EXPECT_EQ(variant_combinations({}), std::vector<Variant>{Variant{}});
}

TEST(VariantCombinations, ListsAllOfFewWithTheDefaultFirst) {
    const auto all = variant_combinations({{"norm", {"serial", "lanes1"}}, {"argmin", {"serial", "lanes1", "lanes2"}}});
    EXPECT_EQ(all.size(), 6u);
    EXPECT_EQ(all.front(), (Variant{{"norm", "serial"}, {"argmin", "serial"}}));
    EXPECT_EQ(std::set<Variant>(all.begin(), all.end()).size(), 6u);
    // Single changes come before pairs of changes.
    EXPECT_EQ(all.back(), (Variant{{"norm", "lanes1"}, {"argmin", "lanes2"}}));
}

TEST(VariantCombinations, StopsAtTheCap) {
    std::vector<VariantOptions> many;
    for (int i = 0; i < 12; ++i)
        many.push_back({"v" + std::to_string(i), {"a", "b", "c"}});
    const auto some = variant_combinations(many, 10);
    EXPECT_EQ(some.size(), 10u);
    EXPECT_EQ(std::set<Variant>(some.begin(), some.end()).size(), 10u);
}

} // namespace
} // namespace tilewright::autotune
