// tests/dsl/size_expression_test.cpp: size expressions: reading, printing, folding, evaluating, comparing.
#include "dsl/base/size_expression.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <stdexcept>

#include "dsl/base/size_polynomial.h"

namespace tilewright {
namespace {

using Op = SizeExpression::Op;
using Sizes = std::map<std::string, std::int64_t>;

std::optional<std::int64_t> value_of(const SizeExpression& size, const Sizes& sizes) {
    return size.evaluate([&](const SizeExpression& symbol) {
        const auto found = sizes.find(symbol.name());
        return found == sizes.end() ? std::nullopt : std::optional(found->second);
    });
}

std::string canonical(const std::string& text) {
    return parse_size(text).text();
}

TEST(SizeExpression, PrintsWithTheFewestParentheses) {
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

TEST(SizeExpression, RefusesWhatIsNone) {
    for (const char* text :
         {"", "X.", "1 +", "(X.0", "X.0)", "X..0", "2X", "min(X.0)", "X.0 / 2", "99999999999999999999", "a b"}) {
        std::string why;
        EXPECT_FALSE(try_parse_size(text, &why).has_value()) << text;
        EXPECT_FALSE(why.empty()) << text;
    }
    EXPECT_FALSE(try_parse_size(std::string(100000, '(')).has_value());
    EXPECT_FALSE(try_parse_size(std::string(100000, '-') + "1").has_value());
}

TEST(SizeExpression, FloorsAsPython) {
    EXPECT_EQ(parse_size("-7 // 2").constant(), -4);
    EXPECT_EQ(parse_size("-7 % 2").constant(), 1);
    EXPECT_EQ(parse_size("7 % -2").constant(), -1);
    EXPECT_EQ(value_of(parse_size("(X.0 + 1023) // 1024"), {{"X.0", 2049}}), 3);
    EXPECT_EQ(value_of(parse_size("X.0 // n"), {{"X.0", 5}, {"n", 0}}), std::nullopt);
    EXPECT_EQ(value_of(parse_size("X.0 + n"), {{"X.0", 5}}), std::nullopt);
    EXPECT_EQ(value_of(parse_size("n * n"), {{"n", INT64_MAX}}), std::nullopt);
}

TEST(SizeExpression, ComparesAsPolynomials) {
    auto same = [](const char* a, const char* b) {
        const bool forms = normal_form(parse_size(a)) == normal_form(parse_size(b));
        EXPECT_EQ(same_size(parse_size(a), parse_size(b)), forms) << a << ", " << b;
        return forms;
    };
    EXPECT_TRUE(same("X.0 * (X.1 + 2)", "2 * X.0 + X.1 * X.0"));
    EXPECT_TRUE(same("(X.0 + 1) // 2", "(1 + X.0) // 2"));
    EXPECT_TRUE(same("X.0 - X.0", "0"));
    EXPECT_TRUE(same("min(a, b)", "min(b, a)"));
    EXPECT_FALSE(same("X.0 // 2 * 2", "X.0"));
    EXPECT_EQ(constant_difference(parse_size("X.0 + 3"), parse_size("X.0")), 3);
    EXPECT_EQ(constant_difference(parse_size("X.0 // 2"), parse_size("X.0 // 2 + 1")), -1);
    EXPECT_EQ(constant_difference(parse_size("n"), parse_size("X.0")), std::nullopt);
    EXPECT_FALSE(same("X.0", "X.1"));
}

TEST(SizeExpression, RandomExpressionsReadBackAndKeepTheirValue) {
    std::mt19937_64 rng(7);
    auto pick = [&](int count) { return static_cast<int>(rng() % static_cast<std::uint64_t>(count)); };
    std::function<SizeExpression(int)> make = [&](int depth) -> SizeExpression {
        if (depth == 0 || pick(4) == 0) {
            if (pick(2) == 0) return SizeExpression::integer(pick(9) - 3);
            const char* names[] = {"X.0", "X.1", "n"};
            return SizeExpression::symbol(names[pick(3)]);
        }
        const Op operators[] = {Op::add, Op::sub, Op::mul, Op::floordiv, Op::mod, pick(2) == 0 ? Op::min : Op::max};
        const Op op = operators[pick(6)];
        SizeExpression a = make(depth - 1);
        SizeExpression b = make(depth - 1);
        return SizeExpression::folded(op, a, b);
    };
    for (int round = 0; round < 5000; ++round) {
        SizeExpression tree = make(5);
        SizeExpression again = parse_size(tree.text());
        EXPECT_EQ(again.text(), tree.text());
        for (int k = 0; k < 3; ++k) {
            const Sizes sizes{{"X.0", pick(20)}, {"X.1", pick(20)}, {"n", pick(20)}};
            EXPECT_EQ(value_of(again, sizes), value_of(tree, sizes)) << tree.text();
        }
    }
}

TEST(SizeExpression, MultipliesOutWhatIsAPolynomial) {
    auto text = [](const char* size) {
        const auto out = multiplied_out(parse_size(size));
        return out ? out->text() : "opaque";
    };
    EXPECT_EQ(text("(i + 2) * 3 - i * 3"), "6");
    EXPECT_EQ(text("(i + 1) * (i + n)"), "i + i * i + i * n + n");
    EXPECT_EQ(text("n - 2 * n"), "(-1) * n");
    EXPECT_EQ(text("n - n"), "0");
    EXPECT_EQ(text("i // 2"), "opaque");
    EXPECT_EQ(text("i // 2 - i // 2"), "0");
}

TEST(SizeExpression, ConditionsPrintAsPlansWriteThem) {
    for (const char* text : {"X.0 + 1", "(X.0 + 1)*2", "a - (b - c)", "a - b - c", "a // b // c", "a // (b // c)",
                             "-(a + b)", "a*(-3)", "(a < b) == (c < d)", "not (a and b)", "max(a + 1, min(b, 2)) % 16",
                             "a and (b or c)", "not a == b", "android or notable"})
        EXPECT_EQ(parse_condition(text).text(SizeStyle::plan), text);
}

TEST(SizeExpression, ConditionsAreRefusedWithWhatWasFound) {
    auto why = [](const std::string& text) -> std::string {
        try {
            return parse_condition(text).text();
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    };
    EXPECT_EQ(why("a < b < c"), "'< c' after the expression");
    EXPECT_EQ(why("not a == b == c"), "'== c' after the expression");
    EXPECT_EQ(why("a == not b"), "'b' after the expression");
    EXPECT_EQ(why("a +"), "the end where a size is expected");
    EXPECT_EQ(why("a < [2]"), "found '[' where a size is expected");
    EXPECT_EQ(why("min(a)"), "no comma in min(a, b)");
    EXPECT_EQ(why("(a"), "no closing parenthesis");
    EXPECT_EQ(why(std::string(1000, '(')), "an expression nested too deeply");
    std::string sum = "n";
    for (int k = 0; k < 5000; ++k)
        sum += " + n";
    EXPECT_EQ(why(sum), "an expression of too many operators");
    EXPECT_FALSE(try_parse_size("a < b").has_value());
}

TEST(SizeExpression, TheRightSideOfAConditionCountsOnlyWhereTheLeftDoesNotDecide) {
    EXPECT_EQ(value_of(parse_condition("0 and unknown"), {}), 0);
    EXPECT_EQ(value_of(parse_condition("1 or unknown"), {}), 1);
    EXPECT_EQ(value_of(parse_condition("1 and unknown"), {}), std::nullopt);
    EXPECT_EQ(value_of(parse_condition("n != 0 and 8 % n == 0"), {{"n", 0}}), 0);
    EXPECT_EQ(value_of(parse_condition("not n"), {{"n", 3}}), 0);
    EXPECT_EQ(value_of(parse_condition("-n"), {{"n", INT64_MIN}}), std::nullopt);
}

} // namespace
} // namespace tilewright
