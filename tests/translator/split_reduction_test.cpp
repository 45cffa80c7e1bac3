// tests/translator/split_reduction_test.cpp: programs that are cut at the reductions over their rows, as text.
#include "translator/parts/split_reduction.h"

#include <gtest/gtest.h>

#include "translator/parts/rows.h"

namespace {

using namespace tilewright::translator;

std::vector<Partials> split(const std::string& body, const std::set<std::string>& taken = {}) {
    std::vector<Partials> all = partials_of(read_program("tilewright-program 1\nfunction f\n" + body), taken);
    for (const Partials& each : all) {
        verify_program(each.partial);
        verify_program(each.total);
        if (each.rest) verify_program(*each.rest);
    }
    return all;
}

TEST(Partials, AMeanCountsTheRowsOfItsParts) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "mean: float64[] = sum(x) {axes=[0, 1]}\n"
                                            "%1: int64[] = scalar_size() {size=x.0*x.1}\n"
                                            "%2: float64[] = cast(%1)\n"
                                            "%3: float64[] = divide(mean, %2)\n"
                                            "return %3\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].rows, std::vector<std::string>{"x"});
    EXPECT_EQ(all[0].stacks, (std::vector<std::string>{"mean_parts", "part", "part_2"}));
    EXPECT_EQ(print_program(all[0].partial), "tilewright-program 1\nfunction f_partial\narg x: float64[x.0, x.1]\n"
                                             "mean: float64[] = sum(x) {axes=[0, 1]}\n"
                                             "%4: int64[] = scalar_size() {size=x.0}\n"
                                             "%8: int64[] = scalar_size() {size=x.1}\n"
                                             "mean_parts_row: float64[1] = index(mean) {index=[newaxis]}\n"
                                             "part_row: int64[1] = index(%4) {index=[newaxis]}\n"
                                             "part_2_row: int64[1] = index(%8) {index=[newaxis]}\n"
                                             "return (mean_parts_row, part_row, part_2_row)\n");
    EXPECT_EQ(print_program(all[0].total), "tilewright-program 1\nfunction f_total\n"
                                           "arg mean_parts: float64[mean_parts.0]\n"
                                           "arg part: int64[mean_parts.0]\n"
                                           "arg part_2: int64[mean_parts.0]\n"
                                           "mean: float64[] = sum(mean_parts) {axes=[0]}\n"
                                           "%5: int64[] = sum(part) {axes=[0]}\n"
                                           "%6: int64[] = index(part_2) {index=[0]}\n"
                                           "%1: int64[] = multiply(%5, %6)\n"
                                           "%2: float64[] = cast(%1)\n"
                                           "%3: float64[] = divide(mean, %2)\n"
                                           "return %3\n");
}

TEST(Partials, TheTotalHasTheArgumentsAndExtentsThatItNeeds) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "arg w: float64[x.1]\n"
                                            "arg v: float64[v.0]\n"
                                            "scalar a: float64\n"
                                            "guard x.0 >= 1 \"empty\"\n"
                                            "max: float64[x.1] = max(x) {axes=[0]}\n"
                                            "%1: float64[x.1] = multiply(max, w)\n"
                                            "%2: float64[x.1] = add(%1, a)\n"
                                            "return %2\n",
                                            {"max_parts"});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(print_program(all[0].total), "tilewright-program 1\nfunction f_total\n"
                                           "arg max_parts_2: float64[max_parts_2.0, max_parts_2.1]\n"
                                           "arg w: float64[max_parts_2.1]\n"
                                           "scalar a: float64\n"
                                           "max: float64[max_parts_2.1] = max(max_parts_2) {axes=[0]}\n"
                                           "%1: float64[max_parts_2.1] = multiply(max, w)\n"
                                           "%2: float64[max_parts_2.1] = add(%1, a)\n"
                                           "return %2\n");
    EXPECT_EQ(all[0].partial.argument_order, (std::vector<std::string>{"x", "w", "v", "a"}));
    EXPECT_EQ(all[0].partial.guards.size(), 1U);
}

TEST(Partials, AnExtentOfTheResultMayBeAnExpression) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "%1: float64[x.0, (x.1 + 1) // 2] = index(x) {index=[0:1, 0:2]}\n"
                                            "sum: float64[(x.1 + 1) // 2] = sum(%1) {axes=[0]}\n"
                                            "%2: float64[(x.1 + 1) // 2] = sqrt(sum)\n"
                                            "return %2\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].total.body.operations.back().type.shape[0].text(), "sum_parts.1");
}

TEST(Partials, SearchesCountFromWhereTheirPartBegins) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "argmin: int64[x.1] = argmin(x) {axis=0}\n"
                                            "return argmin\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].stacks, (std::vector<std::string>{"argmin_parts", "least_parts", "part"}));
}

TEST(Partials, AContractionIsASum) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "%1: float64[x.1, x.0] = transpose(x) {axes=[1, 0]}\n"
                                            "dot: float64[x.1, x.1] = matmul(%1, x)\n"
                                            "return dot\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].total.body.operations.back().op, Op::sum);
}

TEST(Partials, TheTotalChecks) {
    const std::vector<Partials> all = split("arg x: float64[x.0]\n"
                                            "sum: float64[] = sum(x) {axes=[0]}\n"
                                            "%1: bool[x.0] = isnan(x)\n"
                                            "any: bool[] = any(%1) {axes=[0]}\n"
                                            "check any \"nan\"\n"
                                            "return sum\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(all[0].partial.checks.empty());
    EXPECT_EQ(all[0].total.checks.size(), 1U);
    EXPECT_EQ(all[0].stacks, (std::vector<std::string>{"sum_parts", "any_parts"}));
}

TEST(Partials, EachExtentMayBeTheRows) {
    const std::vector<Partials> all = split("arg x: float64[x.0]\narg y: float64[y.0]\n"
                                            "%1: float64[x.0, 1] = index(x) {index=[0:1, newaxis]}\n"
                                            "%2: float64[x.0, y.0] = subtract(%1, y)\n"
                                            "sum: float64[] = sum(%2) {axes=[0, 1]}\n"
                                            "return sum\n");
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].rows, std::vector<std::string>{"x"});
    EXPECT_EQ(all[1].rows, std::vector<std::string>{"y"});
}

TEST(Partials, RowsOfAnotherArgumentMayStay) {
    const std::vector<Partials> all = split("arg b: float64[b.0]\narg x: float64[x.0]\n"
                                            "sum: float64[] = sum(x) {axes=[0]}\n"
                                            "%1: float64[b.0] = multiply(b, sum)\n"
                                            "return %1\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].rows, std::vector<std::string>{"x"});
    EXPECT_EQ(all[0].total.argument_order, (std::vector<std::string>{"sum_parts", "b"}));
}

TEST(Partials, WhatIsSaidOfAllRowsIsNotSaidOfAPart) {
    for (const char* guard : {"x.0 != 0", "x.0 > 10", "x.0 >= 2", "x.0 == n", "x.0 % 2 == 0", "x.0*x.1 >= 1",
                              "x.0 <= 9", "x.0 > 0", "x.0 >= 1", "x.1 >= 3"}) {
        const std::vector<Partials> all =
            split("arg x: float64[x.0, x.1]\nscalar n: int64\nguard " + std::string(guard) +
                  " \"g\"\nsum: float64[] = sum(x) {axes=[0, 1]}\nreturn sum\n");
        ASSERT_EQ(all.size(), 1U) << guard;
        // What any part meets if the whole does may stay.
        const std::set<std::string> kept{"x.0 <= 9", "x.0 > 0", "x.0 >= 1", "x.0 != 0", "x.1 >= 3"};
        EXPECT_EQ(all[0].partial.guards.size(), kept.count(guard)) << guard;
        EXPECT_TRUE(all[0].total.guards.empty()) << guard;
    }
}

TEST(Partials, RowsAreHandedWhatReductionsGive) {
    const std::vector<Partials> all = split("arg x: float64[x.0, x.1]\n"
                                            "mean: float64[x.1] = sum(x) {axes=[0]}\n"
                                            "%1: int64[] = scalar_size() {size=x.0}\n"
                                            "%2: float64[] = cast(%1)\n"
                                            "%3: float64[x.1] = divide(mean, %2)\n"
                                            "%4: float64[x.0, x.1] = subtract(x, %3)\n"
                                            "%5: float64[x.0, x.1] = divide(%4, %2)\n"
                                            "return %5\n",
                                            {"whole"});
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].handed, (std::vector<std::string>{"whole_2", "whole_3"}));
    EXPECT_EQ(print_program(all[0].total), "tilewright-program 1\nfunction f_total\n"
                                           "arg mean_parts: float64[mean_parts.0, mean_parts.1]\n"
                                           "arg part: int64[mean_parts.0]\n"
                                           "mean: float64[mean_parts.1] = sum(mean_parts) {axes=[0]}\n"
                                           "%1: int64[] = sum(part) {axes=[0]}\n"
                                           "%2: float64[] = cast(%1)\n"
                                           "%3: float64[mean_parts.1] = divide(mean, %2)\n"
                                           "whole_2_row: float64[1] = index(%2) {index=[newaxis]}\n"
                                           "whole_3_row: float64[1, mean_parts.1] = index(%3) {index=[newaxis, 0:1]}\n"
                                           "return (whole_2_row, whole_3_row)\n");
    ASSERT_TRUE(all[0].rest);
    EXPECT_EQ(print_program(*all[0].rest), "tilewright-program 1\nfunction f_rest\narg x: float64[x.0, x.1]\n"
                                           "arg whole_2: float64[1]\narg whole_3: float64[1, x.1]\n"
                                           "%2: float64[] = index(whole_2) {index=[0]}\n"
                                           "%3: float64[x.1] = index(whole_3) {index=[0, 0:1]}\n"
                                           "%4: float64[x.0, x.1] = subtract(x, %3)\n"
                                           "%5: float64[x.0, x.1] = divide(%4, %2)\n"
                                           "return %5\n");
    EXPECT_EQ(sliced_arguments(*all[0].rest), std::vector<std::string>{"x"});
}

TEST(Partials, TheRestMayReduceOnceMore) {
    const std::vector<Partials> all = split("arg x: float64[x.0]\n"
                                            "max: float64[] = max(x) {axes=[0]}\n"
                                            "%1: float64[x.0] = subtract(x, max)\n"
                                            "%2: float64[x.0] = exp(%1)\n"
                                            "sum: float64[] = sum(%2) {axes=[0]}\n"
                                            "return (max, sum)\n");
    ASSERT_EQ(all.size(), 1U);
    ASSERT_TRUE(all[0].rest);
    const std::vector<Partials> behind = partials_of(*all[0].rest);
    ASSERT_EQ(behind.size(), 1U);
    EXPECT_FALSE(behind[0].rest);
    EXPECT_EQ(all[0].kept, std::vector<std::size_t>{0});
    EXPECT_EQ(behind[0].total.argument_order, std::vector<std::string>{"sum_parts"});
}

TEST(Partials, RowsMayBeResultsBesideReductions) {
    const std::vector<Partials> all = split("arg x: float64[x.0]\n"
                                            "sum: float64[] = sum(x) {axes=[0]}\n"
                                            "%1: float64[x.0] = sqrt(x)\n"
                                            "max: float64[] = max(x) {axes=[0]}\n"
                                            "return (float(sum), %1, max)\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].kept, (std::vector<std::size_t>{0, 2}));
    EXPECT_TRUE(all[0].handed.empty());
    EXPECT_EQ(all[0].total.conversions, (std::vector<std::string>{"float", ""}));
    EXPECT_EQ(print_program(*all[0].rest), "tilewright-program 1\nfunction f_rest\narg x: float64[x.0]\n"
                                           "%1: float64[x.0] = sqrt(x)\n"
                                           "return (%1,)\n");
    const std::vector<Partials> written = split("arg x: float64[x.0]\n"
                                                "sum: float64[] = sum(x) {axes=[0]}\n"
                                                "%1: float64[x.0] = sqrt(x)\n"
                                                "write x = %1\n"
                                                "return sum\n");
    ASSERT_EQ(written.size(), 1U);
    EXPECT_EQ(written[0].kept, std::vector<std::size_t>{0});
    EXPECT_EQ(written[0].rest->writes.size(), 1U);
    EXPECT_FALSE(written[0].rest->returns_tuple);
}

TEST(Partials, NothingIsWrittenBeforeTheChecks) {
    const std::vector<Partials> all = split("arg x: float64[x.0]\n"
                                            "sum: float64[] = sum(x) {axes=[0]}\n"
                                            "%1: bool[] = isfinite(sum)\n"
                                            "%2: float64[x.0] = subtract(x, sum)\n"
                                            "max: float64[] = max(%2) {axes=[0]}\n"
                                            "%3: bool[] = isfinite(max)\n"
                                            "%4: float64[x.0] = divide(%2, max)\n"
                                            "check %1 \"sum\"\n"
                                            "check %3 \"max\"\n"
                                            "write x = %4\n"
                                            "return none\n");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_TRUE(all[0].partial.checks.empty() && all[0].partial.writes.empty() && all[0].total.writes.empty());
    ASSERT_EQ(all[0].total.checks.size(), 1U);
    EXPECT_EQ(all[0].total.checks[0].text, "sum");
    const std::vector<Partials> behind = partials_of(*all[0].rest);
    ASSERT_EQ(behind.size(), 1U);
    ASSERT_EQ(behind[0].total.checks.size(), 1U);
    EXPECT_EQ(behind[0].total.checks[0].text, "max");
    EXPECT_TRUE(behind[0].rest->checks.empty());
    EXPECT_EQ(behind[0].rest->writes.size(), 1U);
}

TEST(Slices, PartsMayHaveToMeetGuards) {
    const auto rows_of = [](const std::string& guard, const std::string& end) {
        return sliced_arguments(read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\n"
                                             "scalar n: int64\nguard " +
                                             guard + " \"g\"\n%1: float64[x.0, x.1] = sqrt(x)\n" + end));
    };
    for (const char* guard : {"x.0 >= 1", "x.0 > 0", "x.0 != 0", "x.0 <= 9", "x.0 < 9", "x.1 >= 3"}) {
        EXPECT_EQ(rows_of(guard, "return %1\n"), std::vector<std::string>{"x"}) << guard;
        EXPECT_EQ(rows_of(guard, "write x = %1\nreturn none\n"), std::vector<std::string>{"x"}) << guard;
    }
    for (const char* guard : {"x.0 >= 2", "x.0 > 10", "x.0 != 7", "x.0*x.1 >= 1", "x.0 >= n"}) {
        EXPECT_EQ(rows_of(guard, "return %1\n"), std::vector<std::string>{"x"}) << guard;
        EXPECT_TRUE(rows_of(guard, "write x = %1\nreturn none\n").empty()) << guard; // some parts may be written
    }
    EXPECT_TRUE(rows_of("x.0 == n", "return %1\n").empty());
}

TEST(Partials, WhatNeedsMoreThanItsRowIsNotCut) {
    const std::string x = "arg x: float64[x.0, x.1]\n", sum = "sum: float64[x.1] = sum(x) {axes=[0]}\n";
    for (const std::string& body : {
             x + "%1: float64[x.0, x.1] = sqrt(x)\nreturn %1\n",      // slices do that
             x + "%1: float64[x.0] = sum(x) {axes=[1]}\nreturn %1\n", // likewise
             x + sum +
                 "%1: float64[x.0, x.1] = subtract(x, sum)\n"
                 "%2: float64[x.0, x.1] = index(%1) {index=[x.0 - 1:-1, 0:1]}\nreturn %2\n",
             x + sum +
                 "%1: float64[x.1] = index(x) {index=[0, 0:1]}\n"
                 "%2: float64[x.1] = subtract(%1, sum)\nreturn %2\n", // a certain row
             x + "%1: float64[x.0, x.1] = index(x) {index=[x.0 - 1:-1, 0:1]}\n"
                 "sum: float64[x.1] = sum(%1) {axes=[0]}\nreturn sum\n", // backwards
             x + "%1: float64[x.0*x.1] = reshape(x)\n"
                 "argmax: int64[] = argmax(%1) {axis=0}\nreturn argmax\n",
             x + sum + "return (sum, x)\n", // an argument
         })
        EXPECT_TRUE(split(body).empty()) << body;
}

} // namespace
