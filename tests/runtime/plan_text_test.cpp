// tests/runtime/plan_text_test.cpp: parsing, printing, composing and refusing plans; size expressions.
#include <gtest/gtest.h>

#include <random>

#include "dsl/base/error.h"
#include "dsl/runtime/compiled_size.h"
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
    CompiledSize compiled = CompiledSize::compile(parse_condition(text), [](const std::string&) { return 0; });
    std::int64_t result = 0;
    EXPECT_TRUE(compiled.evaluate(&n, result)) << text;
    return result;
}

TEST(PlanText, TheDocumentedPlanIsCanonical) {
    EXPECT_EQ(print_plan(parse_plan(kDocumented)), kDocumented);
}

TEST(PlanText, SlicesNameArraysWithAnAxis) {
    const std::string text = replaced(kDocumented, "result ", "slices (X, means)\nresult ");
    const Plan plan = parse_plan(text);
    EXPECT_EQ(plan.sliced, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(print_plan(plan), text);
    auto said = [&](const std::string& line) { return message_of(replaced(text, "slices (X, means)", line)); };
    EXPECT_NE(said("slices (X, a)").find("line 7: a is not an array argument with an axis."), std::string::npos);
    EXPECT_NE(said("slices (argmin)").find("line 7: argmin is not an array argument with an axis."), std::string::npos);
    EXPECT_NE(said("slices (X").find("line 7: "), std::string::npos);
    EXPECT_NE(said("slices ()").find("line 7: "), std::string::npos);
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
              "plan, line 1: expected 'tilewright-plan 1', found ''; this is not a plan, or a newer release wrote it." +
                  hint);
    EXPECT_EQ(message_of("tilewright-plan 2\n"), "plan, line 1: expected 'tilewright-plan 1', found 'tilewright-plan "
                                                 "2'; this is not a plan, or a newer release wrote it." +
                                                     hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "float64 2", "float63 2")),
              "plan of get_labels, line 3: dtype 'float63' is unknown." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "float64 2", "float64 9")),
              "plan of get_labels, line 3: rank 9 of X is not between 0 and 8." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "means.1 == X.1", "means.1 == X.2")),
              "plan of get_labels, line 6: 'X.2' is not a size of an argument." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "[X.0]", "[X.0")),
              "plan of get_labels, line 7: expected ']' at ''." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "return argmin", "return argmax")),
              "plan of get_labels, line 8: 'argmax' is neither a result nor an argument." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "isa x86-64-v4", "isa x86-64-v5")),
              "plan of get_labels, line 10: ISA level 'x86-64-v5' is unknown to this release." + hint);
    EXPECT_EQ(message_of(replaced(kDocumented, "layout X C", "layout Q C")),
              "plan of get_labels, line 11: 'Q' is not an array argument." + hint);
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

const std::string kLoops = R"(tilewright-plan 1
function f
arg A float64 2 written
arg Z complex64 1
scalar n int64
scalar flag bool
scalar z complex128
return None
version "driver"
require layout A C
temp u float64 [A.0, A.1]
temp v float64 [A.0, A.1]
temp c bool []
temp count int32 []
for t from 0 to n - 1 step 1 {
  call k0 in "k0" (t, z.real, z.imag, Z.real, Z.imag, A, u)
  for s from t to -1 step -2 {
    temp w float64 [s + 1]
    call k1 in "k1" (w, u, v)
    leave if c
    swap u v
  }
  if t % 2 == 0 and n >= 3 {
    library matmul (u, v, A)
  } else {
    if flag {
      leave
    }
  }
}
loop {
  call k2 in "k2" (u, c, count)
  leave unless c
  read m from count
  if m {
    temp w float64 [m]
    call k1 in "k1" (w, u, v)
  }
}
read m from count
temp w float64 [m]
copy u to A
copy Z.real to Z.real
call k3 in "k3" (m, w, v)
end
)";

TEST(PlanText, LoopsAreCanonical) {
    std::string text = replaced(kLoops, "copy Z.real to Z.real\n", "");
    EXPECT_EQ(print_plan(parse_plan(text)), text);
    std::string flat;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != ' ' || i == 0 || (text[i - 1] != ' ' && text[i - 1] != '\n')) flat += text[i];
    EXPECT_EQ(print_plan(parse_plan(flat)), text);
    const std::string turned = replaced(text, "matmul (u, v, A)", "matmul (u, v^10, A)");
    EXPECT_EQ(print_plan(parse_plan(turned)), turned);
    Plan plan = parse_plan(text);
    EXPECT_TRUE(plan.arguments[0].written && !plan.arguments[1].written && plan.returns.empty());
}

TEST(PlanText, LoopsThatContradictThemselvesAreNamed) {
    const std::string text = replaced(kLoops, "copy Z.real to Z.real\n", "");
    auto message = [&](const std::string& what, const std::string& by) {
        std::string found = message_of(replaced(text, what, by));
        const std::string front = "plan of f, line ", hint = " Export or tune the function again.";
        if (found.rfind(front, 0) != 0 || found.size() < front.size() + hint.size()) return found;
        return found.substr(front.size(), found.size() - front.size() - hint.size());
    };
    EXPECT_EQ(message_of(kLoops), "plan of f, line 43: 'Z' is an argument that is not written. Export or tune the "
                                  "function again.");
    EXPECT_EQ(message("complex64 1", "complex64 1 writen"), "4: unexpected 'writen' at the end of the line.");
    EXPECT_EQ(message("flag bool", "flag bool written"), "6: unexpected 'written' at the end of the line.");
    EXPECT_EQ(message("return None", "return Nothing"), "8: 'Nothing' is neither a result nor an argument.");
    EXPECT_EQ(message("return None", "return None, A"), "8: 'None' is neither a result nor an argument.");
    EXPECT_EQ(message("[A.0, A.1]", "[A.0, t]"), "11: 't' is not a size of an argument.");
    EXPECT_EQ(message("for t from 0 to n - 1", "for n from 0 to n - 1"), "15: 'n' is declared twice.");
    EXPECT_EQ(message("for t from 0 to n - 1", "for u from 0 to n - 1"), "15: 'u' is declared twice.");
    EXPECT_EQ(message("for t from 0 to n - 1", "for t from t to n - 1"), "15: 't' is not a size of an argument.");
    EXPECT_EQ(message("to n - 1 step 1", "to n - 1 step 0"), "15: the step is 0.");
    EXPECT_EQ(message("to n - 1 step 1", "to n - 1"), "15: expected 'step' at '{'.");
    EXPECT_EQ(message("step 1 {", "step 1"), "15: expected '{' at ''.");
    EXPECT_EQ(message("Z.real, Z.imag", "Z.real, A.imag"), "16: 'A.imag': it is not complex.");
    EXPECT_EQ(message("z.real, z.imag", "z.real, n.imag"), "16: 'n.imag': it is not complex.");
    EXPECT_EQ(message("Z.real, Z.imag", "Z.real, Q.imag"), "16: 'Q.imag' is not a size of an argument.");
    EXPECT_EQ(message("temp w float64", "temp w.real float64"),
              "18: 'w.real' is how the half of a complex array is called.");
    EXPECT_EQ(message("leave if c", "leave if count"), "20: 'count' is not a condition: it is not bool, or it has "
                                                       "dimensions.");
    EXPECT_EQ(message("leave if c", "leave if u"), "20: 'u' is not a condition: it is not bool, or it has dimensions.");
    EXPECT_EQ(message("leave if c", "leave if z"), "20: 'z' is not a condition: it is not bool, or it has dimensions.");
    EXPECT_EQ(message("leave if c", "leave if q"), "20: 'q' is not a size of an argument.");
    EXPECT_EQ(message("swap u v", "swap u A"), "21: swap takes two temporaries, and 'A' is not one.");
    EXPECT_EQ(message("swap u v", "swap u w"), "21: swap takes temporaries of one dtype and shape; w has another.");
    EXPECT_EQ(message("swap u v", "swap u c"), "21: swap takes temporaries of one dtype and shape; c has another.");
    EXPECT_EQ(message("swap u v", "swap u u"), "21: 'u' is swapped with itself.");
    EXPECT_EQ(message("swap u v", "save A in u"), "21: 'save' stands in a block.");
    EXPECT_EQ(message("swap u v", "save u in v"), "21: save takes an argument that is written, and 'u' is none.");
    EXPECT_EQ(message("swap u v", "save A in A"), "21: save takes a temporary, and 'A' is not one.");
    EXPECT_EQ(message("swap u v", "save A in w"), "21: save takes arrays of one dtype and rank; w has another.");
    EXPECT_EQ(message("matmul (u, v, A)", "matmul (u, A, Z)"),
              "24: matmul takes arrays of rank 2 or more; Z has rank 1.");
    EXPECT_EQ(message("matmul (u, v, A)", "matmul (u, v^n10, A)"),
              "24: matmul gives an array of rank 3 here; A has rank 2.");
    for (const std::string axes : {"11", "1", "12", "1x0"})
        EXPECT_EQ(message("matmul (u, v, A)", "matmul (u, v^" + axes + ", A)"),
                  "24: v^" + axes + ": '" + axes + "' are not the axes of an array of rank 2.");
    EXPECT_EQ(message("matmul (u, v, A)", "matmul (u, v, A^10)"),
              "24: matmul takes three arrays, and 'A^10' is not one.");
    EXPECT_EQ(message("require layout A C\n", ""),
              "23: matmul writes in C order; the version does not require 'layout A C'.");
    EXPECT_EQ(message("  if t % 2 == 0 and n >= 3 {", "  loop {\nleave"), "26: 'else' follows no 'if'.");
    EXPECT_EQ(message("      leave\n", "      leave always\n"), "27: unexpected 'always' at the end of the line.");
    EXPECT_EQ(message("  leave unless c\n", ""), "38: nothing leaves the loop of line 31.");
    EXPECT_EQ(message("read m from count", "read m from u"),
              "34: read takes an integer array of no dimensions, and u is not one.");
    EXPECT_EQ(message("read m from count", "read m from c"),
              "34: read takes an integer array of no dimensions, and c is not one.");
    EXPECT_EQ(message("read m from count", "read m from n"), "34: read takes arrays, and 'n' is not one.");
    EXPECT_EQ(message("}\nread m from count\n", "}\n"),
              "40: 'm' is known only in the block that defines it, which has ended.");
    EXPECT_EQ(message("}\nread m from count\ntemp w float64 [m]", "}\nread m from count"),
              "42: 'w' is known only in the block that defines it, which has ended.");
    EXPECT_EQ(message("}\nread m from count", "}\nleave\nread m from count"), "40: 'leave' stands in no loop.");
    EXPECT_EQ(message("}\nread m from count", "}\n}\nread m from count"), "40: there is no block that '}' could end.");
    EXPECT_EQ(message("}\nread m from count", "}\nrequire n > 3\nread m from count"),
              "40: 'require' stands before the steps of a version.");
    EXPECT_EQ(message("temp w float64 [m]\ncopy", "require n > 3\ncopy"),
              "41: 'require' stands before the steps of a version.");
    EXPECT_EQ(message("copy u to A", "copy u to Z"), "42: 'Z' is an argument that is not written.");
    EXPECT_EQ(message("copy u to A", "copy w to A"), "42: copy takes arrays of one dtype and rank; A has another.");
    EXPECT_EQ(message("copy u to A", "copy n to A"), "42: copy takes arrays, and 'n' is not one.");
    EXPECT_EQ(message("copy u to A", "copy A to A"), "42: 'A' is copied to itself.");
    EXPECT_EQ(message("copy u to A", "copy u A"), "42: expected 'to' at 'A'.");
    EXPECT_EQ(message("(m, w, v)\nend", "(m, w, v)\nif n > 1 {\nend"),
              "45: the version ends, but the block of line 44 does not.");
    // What a function puts back it has written all the same, without a step that does so.
    std::string unwritten = replaced(replaced(replaced(text, "copy u to A\n", ""), "A, u)", "u)"), "v, A)", "v, u)");
    EXPECT_EQ(message_of(unwritten), "accepted");
}

TEST(PlanText, BothHalvesOfAComplexResultAreWritten) {
    auto plan = [](const std::string& arguments) {
        return "tilewright-plan 1\nfunction f\narg X float64 1\nresult Z complex128 [X.0]\nreturn Z\nversion \"v\"\n"
               "call k in \"k\" (X, " +
               arguments + ")\nend\n";
    };
    EXPECT_EQ(message_of(plan("Z")), "accepted");
    EXPECT_EQ(message_of(plan("Z.real, Z.imag")), "accepted");
    EXPECT_EQ(message_of(plan("Z.real")), "plan of f, line 8: no step of version \"v\" writes result Z. Export or tune "
                                          "the function again.");
}

TEST(PlanText, EveryTruncationAndRandomDamageIsRefusedOrParsesBack) {
    for (std::size_t n = 0; n + 1 < kDocumented.size(); ++n)
        EXPECT_NE(message_of(kDocumented.substr(0, n)), "accepted") << n;
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 ? kDocumented : replaced(kLoops, "copy Z.real to Z.real\n", "");
        for (int k = 0; k < 3; ++k)
            text[random() % text.size()] =
                static_cast<char>(random() % 4 ? "()[],.\" \n0X+*%/-{}tcA"[random() % 21] : random());
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
    std::string loops;
    for (int i = 0; i < 100000; ++i)
        loops += "loop {\n";
    EXPECT_NE(message_of(replaced(kDocumented, "library matmul", loops + "library matmul"))
                  .find("more than 1000 blocks inside each other."),
              std::string::npos);
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

/// The one version of a plan.
PlanVersionBody version_of(const std::string& header, const std::string& body) {
    return parse_plan(header + "version \"\"\n" + body + "end\n").versions[0];
}

TEST(ComposePlan, PutsTheSuffixOnObjectsAlone) {
    using Kind = PlanRequirement::Kind;
    std::string header = "tilewright-plan 1\nfunction f\narg X float64 1\nresult y float64 []\nreturn y\n";
    const std::string call = "call f_k0 in \"f_k0\" (X.0, X, y)\n";
    const std::string own = "require X.0 >= 16\nrequire layout X C\nrequire X.0 <= 9\ntemp t float64 [X.0]\n"
                            "call f_k0 in \"f_k0\" (X.0, X, t, y)\n";
    Plan plan = parse_plan(header + "version \"\"\n" + call + "end\n");
    plan.versions = {under_terms(version_of(header, own), "v4", "v4",
                                 {{Kind::isa, "x86-64-v4", {}},
                                  {Kind::layout_c, "X", {}},
                                  {Kind::condition, "", parse_condition("X.0 >= 16")}}),
                     under_terms(version_of(header, call), "base", "", {})};
    const std::string text = print_plan(plan);
    EXPECT_EQ(text, header + "version \"v4\"\nrequire isa x86-64-v4\nrequire layout X C\nrequire X.0 >= 16\n"
                             "require X.0 <= 9\ntemp t float64 [X.0]\ncall f_k0 in \"f_k0.v4\" (X.0, X, t, y)\nend\n"
                             "version \"base\"\ncall f_k0 in \"f_k0\" (X.0, X, y)\nend\n");
    EXPECT_EQ(parse_plan(text).versions.size(), 2u);
}

TEST(ComposePlan, CallsInLoopsGetTheSuffixToo) {
    std::string body = "loop {\n  call k in \"k\" (X, c)\n  leave if c\n}\n",
                header = "tilewright-plan 1\nfunction f\n";
    header += "arg X float64 1 written\nreturn None\n";
    const PlanVersionBody version = under_terms(version_of(header, "temp c bool []\n" + body), "v4", "v4", {});
    EXPECT_EQ(version.label, "v4");
    EXPECT_NE(print_body(version).find("loop {\n  call k in \"k.v4\" (X, c)\n"), std::string::npos);
}

TEST(CompiledSize, FollowsPython) {
    EXPECT_EQ(value_of("-7 // 2"), -4);
    EXPECT_EQ(value_of("-7 % 2"), 1);
    EXPECT_EQ(value_of("7 % -2"), -1);
    EXPECT_EQ(value_of("2 + 3*4 - 1"), 13);
    EXPECT_EQ(value_of("min(n, 4) + max(n // 2, 1)", 9), 8);
    EXPECT_EQ(value_of("n % 16 == 0 and n >= 32 or not n != 5", 48), 1);
    EXPECT_EQ(value_of("not n != 5", 5), 1);
    EXPECT_EQ(value_of("n >= 65536", 65535), 0);
}

TEST(CompiledSize, OverflowAndDivisionByZeroAreNoValue) {
    for (const char* text : {"n // 0", "n % (n - n)", "n*9223372036854775807", "-(0 - 9223372036854775807 - n)"}) {
        CompiledSize compiled = CompiledSize::compile(parse_condition(text), [](const std::string&) { return 0; });
        std::int64_t n = 3, result = 0;
        EXPECT_FALSE(compiled.evaluate(&n, result)) << text;
    }
}

TEST(CompiledSize, ASumOfProductsThatIsComparedIsTheSameNumber) {
    const std::int64_t symbols[] = {5, 7};
    auto holds = [&](const std::string& text) {
        CompiledSize compiled =
            CompiledSize::compile(parse_condition(text), [](const std::string& name) { return name == "b"; });
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
        CompiledSize compiled = CompiledSize::compile(parse_condition(text), [](const std::string&) { return 0; });
        std::int64_t result = 0;
        EXPECT_FALSE(compiled.evaluate(&large, result)) << text;
    }
    std::string chain = "n";
    for (int k = 0; k < 50; ++k)
        chain += " + n";
    EXPECT_EQ(value_of(chain + " == 102", 2), 1);
}

} // namespace
TEST(PlanText, ChecksAndPythonNumbers) {
    const std::string header = "tilewright-plan 1\nfunction f\narg c bool 0\nscalar n int64\nresult y float64 []\n"
                               "result z float64 [n]\nreturn (float y, int n, bool c)\nversion \"v\"\n";
    const std::string text = header + "check c \"line 3: \\\"out\\\" of bounds\"\ncall k in \"k\" (y, z)\nend\n";
    const Plan plan = parse_plan(text);
    EXPECT_EQ(print_plan(plan), text);
    EXPECT_EQ(plan.numbers, (std::vector<std::string>{"float", "int", "bool"}));
    EXPECT_EQ(plan.versions[0].steps[0].message, "line 3: \"out\" of bounds");
    auto line = [&](const std::string& from, const std::string& to) { return message_of(replaced(text, from, to)); };
    EXPECT_NE(line("float y", "int y").find("'y' makes no int"), std::string::npos);
    EXPECT_NE(line("float y", "float z").find("'z' makes no float"), std::string::npos);
    EXPECT_NE(line("check c", "check y").find("'y' is not a condition"), std::string::npos);
    EXPECT_NE(line("bounds\"\n", "bounds\" c\n").find("at the end of the line"), std::string::npos);
}

} // namespace tilewright::runtime
