// tests/dsl/expression_test.cpp: arithmetic of schedules: Python's meaning, no undefined behaviour.
#include "dsl/language/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();

/// The condition of `where TEXT`, with ?a and ?b as holes.
Expression read(const std::string& text) {
    const Schedule space =
        parse_schedule("tilewright-space 1\nspace f for host\ns.split(i, j, k, ?a{1} + ?b{1})\nwhere " + text + "\n");
    return space.statements.back().condition;
}

std::optional<std::int64_t> value(const std::string& text, std::map<std::string, std::int64_t> names = {}) {
    return read(text).evaluate([&](const Expression& e) -> std::optional<std::int64_t> {
        const auto found = names.find(print_expression(e));
        return found == names.end() ? std::nullopt : std::optional(found->second);
    });
}

TEST(Expression, FloorsAsPython) {
    EXPECT_EQ(value("7 // 2"), 3);
    EXPECT_EQ(value("-7 // 2"), -4);
    EXPECT_EQ(value("7 // -2"), -4);
    EXPECT_EQ(value("-7 // -2"), 3);
    EXPECT_EQ(value("7 % 2"), 1);
    EXPECT_EQ(value("-7 % 2"), 1);
    EXPECT_EQ(value("7 % -2"), -1);
    EXPECT_EQ(value("-7 % -2"), -1);
    EXPECT_EQ(value("-8 % 4"), 0);
}

TEST(Expression, DivisionAndRemainderBelongTogether) {
    std::mt19937_64 rng(1);
    for (int n = 0; n < 20000; ++n) {
        const auto a = static_cast<std::int64_t>(rng()) >> (rng() % 64);
        const auto b = static_cast<std::int64_t>(rng()) >> (rng() % 64);
        const auto quotient =
            Expression::binary(Expression::Op::floordiv, Expression::integer(a), Expression::integer(b))
                .evaluate(no_environment);
        const auto remainder = Expression::binary(Expression::Op::mod, Expression::integer(a), Expression::integer(b))
                                   .evaluate(no_environment);
        if (b == 0) {
            EXPECT_FALSE(quotient || remainder);
            continue;
        }
        ASSERT_TRUE(remainder);
        if (!quotient) {
            EXPECT_TRUE(a == kLow && b == -1);
            continue;
        }
        EXPECT_EQ(static_cast<__int128>(*quotient) * b + *remainder, a);
        EXPECT_TRUE(*remainder == 0 || (*remainder < 0) == (b < 0));
        EXPECT_LT(*remainder < 0 ? -static_cast<__int128>(*remainder) : *remainder,
                  b < 0 ? -static_cast<__int128>(b) : b);
    }
}

TEST(Expression, OverflowAndDivisionByZeroHaveNoValue) {
    EXPECT_EQ(value("9223372036854775807 + 1"), std::nullopt);
    EXPECT_EQ(value("-9223372036854775808 - 1"), std::nullopt);
    EXPECT_EQ(value("4294967296 * 4294967296"), std::nullopt);
    EXPECT_EQ(value("-9223372036854775808 // -1"), std::nullopt);
    EXPECT_EQ(value("-9223372036854775808 % -1"), 0);
    EXPECT_EQ(value("-(-9223372036854775808)"), std::nullopt);
    EXPECT_EQ(value("1 // 0"), std::nullopt);
    EXPECT_EQ(value("1 % 0"), std::nullopt);
    EXPECT_EQ(value("-9223372036854775808"), kLow);
    EXPECT_EQ(value("9223372036854775807"), kHigh);
}

TEST(Expression, BooleansAreZeroAndOne) {
    EXPECT_EQ(value("3 < 4"), 1);
    EXPECT_EQ(value("3 >= 4"), 0);
    EXPECT_EQ(value("7 and 3"), 1);
    EXPECT_EQ(value("0 or 5"), 1);
    EXPECT_EQ(value("not 5"), 0);
    EXPECT_EQ(value("not 0 and 0"), 0);
    EXPECT_EQ(value("not (0 and 0)"), 1);
    EXPECT_EQ(value("1 or 0 and 0"), 1);
}

TEST(Expression, RightSideIsReadOnlyWhereTheLeftDoesNotDecide) {
    EXPECT_EQ(value("0 and unknown"), 0);
    EXPECT_EQ(value("1 or unknown"), 1);
    EXPECT_EQ(value("1 and unknown"), std::nullopt);
    EXPECT_EQ(value("unknown or 1"), std::nullopt);
    EXPECT_EQ(value("?a != 0 and 8 % ?a == 0", {{"?a", 0}}), 0);
}

TEST(Expression, NamesComeFromTheEnvironment) {
    EXPECT_EQ(value("X.0 // ?a", {{"X.0", 100}, {"?a", 8}}), 12);
    EXPECT_EQ(value("lanes(float64) * cores", {{"lanes(float64)", 8}, {"cores", 2}}), 16);
    EXPECT_EQ(value("stride(X, 0) == 1", {{"stride(X, 0)", 1}}), 1);
    EXPECT_EQ(value("max(min(?a, 7), ?b, 2)", {{"?a", 9}, {"?b", -1}}), 7);
    EXPECT_EQ(value("X.1", {{"X.0", 100}}), std::nullopt);
}

TEST(Expression, BindsAsPython) {
    for (const auto& [written, printed] : std::map<std::string, std::string>{
             {"1 + 2 * 3", "1 + 2 * 3"},
             {"(1 + 2) * 3", "(1 + 2) * 3"},
             {"1 - (2 - 3)", "1 - (2 - 3)"},
             {"(1 - 2) - 3", "1 - 2 - 3"},
             {"8 // (4 // 2)", "8 // (4 // 2)"},
             {"-?a * 2", "-?a * 2"},
             {"-(?a * 2)", "-(?a * 2)"},
             {"- 5", "-5"},
             {"-(5)", "-(5)"},
             {"--?a", "-(-?a)"},
             {"not ?a == 1", "not ?a == 1"},
             {"(not ?a) == 1", "(not ?a) == 1"},
             {"(?a < 1) == (?b < 2)", "(?a < 1) == (?b < 2)"},
             {"(?a or ?b) and 1", "(?a or ?b) and 1"},
             {"?a or ?b and 1", "?a or ?b and 1"},
             {"((?a))", "?a"},
             {"min ( 1,\n 2 )", "min(1, 2)"},
         }) {
        EXPECT_EQ(print_expression(read(written)), printed);
        EXPECT_EQ(read(printed), read(written)) << written;
    }
}

TEST(Expression, FillingHolesComputesWhatBecomesConstant) {
    const auto four = [](const std::string& name) {
        return name == "a" ? std::optional<std::int64_t>(4) : std::nullopt;
    };
    const auto filled = [&](const std::string& text) { return print_expression(fill_holes(read(text), four)); };
    EXPECT_EQ(filled("?a // 2"), "2");
    EXPECT_EQ(filled("?a * lanes(float64) + 2 * 3"), "4 * lanes(float64) + 2 * 3");
    EXPECT_EQ(filled("2 * 3"), "2 * 3");
    EXPECT_EQ(filled("?a + ?b"), "4 + ?b");
    EXPECT_EQ(filled("8 // (?a - 4)"), "8 // 0");
    EXPECT_EQ(filled("extent(k) == ?a"), "extent(k) == 4");
    EXPECT_EQ(filled("max(?a, 7)"), "7");
}

} // namespace
} // namespace tilewright::dsl
