// tests/translator/size_test.cpp: size expressions: reading, printing, folding, evaluating, comparing.
#include "translator/size.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace {

using namespace tilewright::translator;

std::string canonical(const std::string& text) {
    return parse_size(text).text();
}

TEST(Size, PrintsWithTheFewestParentheses) {
    EXPECT_EQ(canonical("( X.0+1 ) // 2"), "(X.0 + 1) // 2");
    EXPECT_EQ(canonical("X.0 + (1 // 2 * X.1)"), "X.0");
    EXPECT_EQ(canonical("X.0 - (X.1 - 2)"), "X.0 - (X.1 - 2)");
    EXPECT_EQ(canonical("(X.0 - X.1) - 2"), "X.0 - X.1 - 2");
    EXPECT_EQ(canonical("X.0 // (n * 2)"), "X.0 // (n * 2)");
    EXPECT_EQ(canonical("min(X.0, max( 3 ,n))"), "min(X.0, max(3, n))");
    EXPECT_EQ(canonical("-1"), "-1");
    EXPECT_EQ(canonical("X.0 * -1"), "X.0 * (-1)");
    EXPECT_EQ(canonical("2 * 3 + X.0 * 1"), "6 + X.0");
}

TEST(Size, RefusesWhatIsNone) {
    for (const char* text :
         {"", "X.", "1 +", "(X.0", "X.0)", "X..0", "2X", "min(X.0)", "X.0 / 2", "99999999999999999999", "a b"}) {
        std::string why;
        EXPECT_FALSE(try_parse_size(text, &why).has_value()) << text;
        EXPECT_FALSE(why.empty()) << text;
    }
    EXPECT_FALSE(try_parse_size(std::string(100000, '(')).has_value());
    EXPECT_FALSE(try_parse_size(std::string(100000, '-') + "1").has_value());
}

TEST(Size, FloorsAsPython) {
    EXPECT_EQ(parse_size("-7 // 2").constant(), -4);
    EXPECT_EQ(parse_size("-7 % 2").constant(), 1);
    EXPECT_EQ(parse_size("7 % -2").constant(), -1);
    EXPECT_EQ(parse_size("(X.0 + 1023) // 1024").evaluate({{"X.0", 2049}}), 3);
    EXPECT_EQ(parse_size("X.0 // n").evaluate({{"X.0", 5}, {"n", 0}}), std::nullopt);
    EXPECT_EQ(parse_size("X.0 + n").evaluate({{"X.0", 5}}), std::nullopt);
    EXPECT_EQ(parse_size("n * n").evaluate({{"n", INT64_MAX}}), std::nullopt);
}

TEST(Size, ComparesAsPolynomials) {
    auto same = [](const char* a, const char* b) { return normal_form(parse_size(a)) == normal_form(parse_size(b)); };
    EXPECT_TRUE(same("X.0 * (X.1 + 2)", "2 * X.0 + X.1 * X.0"));
    EXPECT_TRUE(same("(X.0 + 1) // 2", "(1 + X.0) // 2"));
    EXPECT_TRUE(same("X.0 - X.0", "0"));
    EXPECT_TRUE(same("min(a, b)", "min(b, a)"));
    EXPECT_FALSE(same("X.0 // 2 * 2", "X.0"));
    EXPECT_FALSE(same("X.0", "X.1"));
}

TEST(Size, RandomExpressionsReadBackAndKeepTheirValue) {
    std::mt19937_64 rng(7);
    auto pick = [&](int count) { return static_cast<int>(rng() % static_cast<std::uint64_t>(count)); };
    std::function<SizeTree(int)> make = [&](int depth) -> SizeTree {
        if (depth == 0 || pick(4) == 0) {
            if (pick(2) == 0) return SizeTree::integer(pick(9) - 3);
            const char* names[] = {"X.0", "X.1", "n"};
            return SizeTree::symbol(names[pick(3)]);
        }
        const char* operators[] = {"+", "-", "*", "//", "%"};
        int which = pick(6);
        SizeTree a = make(depth - 1);
        SizeTree b = make(depth - 1);
        return which == 5 ? SizeTree::call(pick(2) == 0 ? "min" : "max", {a, b})
                          : SizeTree::binary(operators[which], a, b);
    };
    for (int round = 0; round < 5000; ++round) {
        SizeTree tree = make(5);
        SizeTree again = parse_size(tree.text());
        EXPECT_EQ(again.text(), tree.text());
        for (int k = 0; k < 3; ++k) {
            std::map<std::string, std::int64_t> sizes{{"X.0", pick(20)}, {"X.1", pick(20)}, {"n", pick(20)}};
            EXPECT_EQ(again.evaluate(sizes), tree.evaluate(sizes)) << tree.text();
        }
    }
}

} // namespace
