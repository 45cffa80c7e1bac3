// tests/runtime/plan_text_test.cpp: parsing, printing, composing and refusing plans; size expressions.
#include <gtest/gtest.h>

#include <random>

#include "dsl/base/error.h"
#include "dsl/runtime/compose_plan.h"
#include "dsl/runtime/plan.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

const std::string kDocumented = R"(tilewright-plan 1
function get_labels
arg X float64 2
arg means float64 2
scalar a float64
guard means.1 == X.1 "means.shape[1] must equal X.shape[1]"
result argmin int64 [X.0]
return argmin
version "x86-64-v4, tuned"
require isa x86-64-v4
require layout X C
require layout means C
require X.0 >= 65536
temp t0 float64 [means.0, X.0]
call get_labels_k0 in "get_labels.v4" (X.0, X.1, means.0, a, X, means, t0)
library matmul (X, means, t0)
call get_labels_k1 in "get_labels.v4" (X.0, t0, argmin)
end
)";

std::string message_of(const std::string& text) {
    try {
        parse_plan(text);
    } catch (const ExportError& e) {
        return e.what();
    }
    return "accepted";
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

std::int64_t value_of(const std::string& text, std::int64_t n = 0) {
    CompiledSize compiled = CompiledSize::compile(parse_size(text), [](const std::string&) { return 0; });
    std::int64_t result = 0;
    EXPECT_TRUE(compiled.evaluate(&n, result)) << text;
    return result;
}

TEST(PlanText, TheDocumentedPlanIsCanonical) {
    EXPECT_EQ(print_plan(parse_plan(kDocumented)), kDocumented);
}

TEST(PlanText, CommentsBlanksAndIndentationDoNotMatter) {
    std::string text = "# made by hand\n\n  " + replaced(kDocumented, "end", "   end # of the version");
    EXPECT_EQ(print_plan(parse_plan(text)), kDocumented);
    EXPECT_EQ(parse_plan(replaced(kDocumented, "must equal", "\\\"must\\\" # equal")).guards[0].message,
              "means.shape[1] \"must\" # equal X.shape[1]");
}

TEST(PlanText, AConditionMayBeginWithAParenthesis) {
    for (const char* condition : {"(X.0 + 1) // 2 >= 16", "-X.0 + 100 >= X.1", "not (X.0 == 3 and X.1 == 2)"}) {
        std::string text = replaced(kDocumented, "require X.0 >= 65536", std::string("require ") + condition);
        EXPECT_EQ(print_plan(parse_plan(text)), text);
    }
}

TEST(PlanText, ReturnsOfOneOfATupleOfOneAndOfTwo) {
    EXPECT_FALSE(parse_plan(kDocumented).returns_tuple);
    for (const char* line : {"return (argmin,)", "return (argmin, X)"}) {
        std::string text = replaced(kDocumented, "return argmin", line);
        EXPECT_TRUE(parse_plan(text).returns_tuple);
        EXPECT_EQ(print_plan(parse_plan(text)), text);
    }
}

TEST(PlanText, DamageIsNamedWithItsLine) {
    const std::string hint = " Export or tune the function again.";
    EXPECT_EQ(message_of(""),
              "plan, line 1: expected 'tilewright-plan 1', found ''; this is no plan, or one of a newer release." +
                  hint);
    EXPECT_EQ(message_of("tilewright-plan 2\n"), "plan, line 1: expected 'tilewright-plan 1', found 'tilewright-plan "
                                                 "2'; this is no plan, or one of a newer release." +
                                                     hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "float64 2", "float63 2")),
              "plan of get_labels, line 3: dtype 'float63' is none that plans know." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "float64 2", "float64 9")),
              "plan of get_labels, line 3: rank 9 of X is not between 0 and 8." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "means.1 == X.1", "means.1 == X.2")),
              "plan of get_labels, line 6: 'X.2' is no size of an argument." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "[X.0]", "[X.0")),
              "plan of get_labels, line 7: expected ']' at ''." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "return argmin", "return argmax")),
              "plan of get_labels, line 8: 'argmax' is neither a result nor an argument." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "isa x86-64-v4", "isa x86-64-v5")),
              "plan of get_labels, line 10: ISA level 'x86-64-v5' is none that this release knows." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "layout X C", "layout Q C")),
              "plan of get_labels, line 11: 'Q' is no array argument." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "matmul (X, means, t0)", "matmul (X, means)")),
              "plan of get_labels, line 16: matmul takes three arrays, not 2." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "t0, argmin)", "t0)")),
              "plan of get_labels, line 18: no step of version \"x86-64-v4, tuned\" writes result argmin." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "\nend", "")),
              "plan of get_labels, line 18: the text ends inside version \"x86-64-v4, tuned\"; the file is truncated." +
                  hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "scalar a", "scalar X")),
              "plan of get_labels, line 5: 'X' is declared twice." + hint);
}

TEST(PlanText, EveryTruncationAndRandomDamageIsRefusedOrParsesBack) {
    for (std::size_t n = 0; n + 1 < kDocumented.size(); ++n)
        EXPECT_NE(message_of(kDocumented.substr(0, n)), "accepted") << n;
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        std::string text = kDocumented;
        for (int k = 0; k < 3; ++k)
            text[random() % text.size()] =
                static_cast<char>(random() % 4 ? "()[],.\" \n0X+*%/-"[random() % 16] : random());
        try {
            std::string printed = print_plan(parse_plan(text));
            EXPECT_EQ(print_plan(parse_plan(printed)), printed);
        } catch (const ExportError&) {
        }
    }
}

TEST(PlanText, DeepNestingIsRefusedNotOverflowed) {
    std::string open(100000, '('), minus(100000, '-'), chain;
    for (int i = 0; i < 100000; ++i)
        chain += "1+";
    for (const std::string& e : {open, minus, chain})
        EXPECT_NE(message_of(replaced(kDocumented, "X.0 >= 65536", e + "1 >= 2")), "accepted");
}

TEST(PlanText, ConditionsMayBeginWithABracketOrWithAnArgumentCalledAsAKeyword) {
    std::string text = replaced(replaced(kDocumented, "X.0 >= 65536", "(X.0 + 1) // 2 >= 8"), "scalar a float64\n",
                                "scalar a float64\nscalar isa int64\nscalar layout int64\n");
    text = replaced(text, "temp t0", "require isa >= 8\nrequire layout % 2 == 0\ntemp t0");
    Plan plan = parse_plan(text);
    EXPECT_EQ(print_plan(plan), text);
    std::size_t conditions = 0;
    for (const PlanRequirement& r : plan.versions[0].requirements)
        conditions += r.kind == PlanRequirement::Kind::condition;
    EXPECT_EQ(conditions, 3u);
}

TEST(ComposePlan, PutsTheSuffixOnObjectsAlone) {
    std::string header = "tilewright-plan 1\nfunction f\narg X float64 1\nresult y float64 []\nreturn y\n";
    std::string text = compose_plan(
        header,
        {{"v4", "v4", {"isa x86-64-v4", "X.0 >= 16"}, "temp t float64 [X.0]\ncall f_k0 in \"f_k0\" (X.0, X, t, y)\n"},
         {"base", "", {}, "call f_k0 in \"f_k0\" (X.0, X, y)"}});
    EXPECT_EQ(
        text,
        header +
            "version \"v4\"\nrequire isa x86-64-v4\nrequire X.0 >= 16\ntemp t float64 [X.0]\n"
            "call f_k0 in \"f_k0.v4\" (X.0, X, t, y)\nend\nversion \"base\"\ncall f_k0 in \"f_k0\" (X.0, X, y)\nend\n");
    EXPECT_EQ(parse_plan(text).versions.size(), 2u);
}

TEST(SizeExpression, FollowsPython) {
    EXPECT_EQ(value_of("-7 // 2"), -4);
    EXPECT_EQ(value_of("-7 % 2"), 1);
    EXPECT_EQ(value_of("7 % -2"), -1);
    EXPECT_EQ(value_of("2 + 3*4 - 1"), 13);
    EXPECT_EQ(value_of("min(n, 4) + max(n // 2, 1)", 9), 8);
    EXPECT_EQ(value_of("n % 16 == 0 and n >= 32 or not n != 5", 48), 1);
    EXPECT_EQ(value_of("not n != 5", 5), 1);
    EXPECT_EQ(value_of("n >= 65536", 65535), 0);
}

TEST(SizeExpression, OverflowAndDivisionByZeroAreNoValue) {
    for (const char* text : {"n // 0", "n % (n - n)", "n*9223372036854775807", "-(0 - 9223372036854775807 - n)"}) {
        CompiledSize compiled = CompiledSize::compile(parse_size(text), [](const std::string&) { return 0; });
        std::int64_t n = 3, result = 0;
        EXPECT_FALSE(compiled.evaluate(&n, result)) << text;
    }
}

TEST(SizeExpression, ASumOfProductsThatIsComparedIsTheSameNumber) {
    const std::int64_t symbols[] = {5, 7};
    auto holds = [&](const std::string& text) {
        CompiledSize compiled =
            CompiledSize::compile(parse_size(text), [](const std::string& name) { return name == "b"; });
        std::int64_t result = -1;
        EXPECT_TRUE(compiled.evaluate(symbols, result)) << text;
        return result == 1;
    };
    // 5 * 7 + 5 * 5 * 7 + 7 + 5 = 222; with a literal among its factors it takes the general way.
    for (const char* sum : {"a*b + a*a*b + b + a", "a*b + a*a*b + b + 1*a", "a + (b + a*b + a*a*b)"}) {
        for (const char* op : {"<", "<=", "==", ">=", ">", "!="}) {
            for (int bound : {221, 222, 223}) {
                const std::string text = std::string(sum) + " " + op + " " + std::to_string(bound);
                EXPECT_EQ(holds(text), holds("222 " + (op + (" " + std::to_string(bound))))) << text;
            }
        }
    }
    const std::int64_t large = std::int64_t{1} << 62;
    for (const char* text : {"n*n < 5", "n + n < 5"}) {
        CompiledSize compiled = CompiledSize::compile(parse_size(text), [](const std::string&) { return 0; });
        std::int64_t result = 0;
        EXPECT_FALSE(compiled.evaluate(&large, result)) << text;
    }
    std::string chain = "n";
    for (int k = 0; k < 50; ++k)
        chain += " + n";
    EXPECT_EQ(value_of(chain + " == 102", 2), 1);
}

TEST(SizeExpression, PrintsWhatItParses) {
    for (const char* text :
         {"X.0 + 1", "(X.0 + 1)*2", "a - (b - c)", "a - b - c", "a // b // c", "a // (b // c)", "-(a + b)", "a*(-3)",
          "(a < b) == (c < d)", "not (a and b)", "max(a + 1, min(b, 2)) % 16", "a and (b or c)"})
        EXPECT_EQ(print_size(parse_size(text)), text);
}

} // namespace
} // namespace tilewright::runtime
