// tests/translator/reduction_recognition_test.cpp: which loops are reductions over their iterations, and as what.
#include <gtest/gtest.h>

#include "translator/loop_report.h"
#include "translator/passes/passes.h"

namespace {

using namespace tilewright::translator;

/// A loop over v that carries the int64 c and the truth t, and yields `yields`.
Program program_of(const std::string& body, const std::string& yields, const std::string& range = "0, v.0, 1") {
    return read_program(
        "tilewright-program 1\nfunction f\narg v: float64[v.0]\narg w: int64[w.0, v.0]\nscalar k: int64\n"
        "guard v.0 >= 1 \"\"\n%90: int64[] = const() {value=5} @1\n%91: bool[] = const() {value=true} @1\n"
        "c_2: int64[], t_2: bool[] = for i in range(" +
        range + ") carry (c: int64[] = %90, t: bool[] = %91) {\n" + body + "  yield " + yields +
        "\n} @3\nreturn (c_2, t_2)\n");
}

std::string why(const std::string& body, const std::string& yields, const std::string& range = "0, v.0, 1") {
    const Program program = program_of(body, yields, range);
    for (const Operation& operation : program.body.operations) {
        if (operation.op == Op::for_loop) return why_no_sum(program, operation);
    }
    return "no loop";
}

constexpr const char* kCount = "  %1: float64[] = index(v) {index=[i]} @4\n"
                               "  %2: float64[] = const() {value=0.5} @4\n"
                               "  %3: bool[] = less(%1, %2) @4\n";

TEST(ReductionRecognition, ACountBecomesASumOfAnArray) {
    const Program program = program_of(
        std::string(kCount) + "  c_3: int64[] = if %3 {\n    %4: int64[] = scalar_size() {size=i} @5\n"
                              "    %5: int64[] = add(c, %4) @5\n    yield %5\n  } else {\n    yield c\n  } @4\n",
        "c_3, t");
    const Program made = reduction_recognition(program);
    verify_program(made);
    const std::string text = print_program(made);
    EXPECT_EQ(text.find("for "), std::string::npos) << text;
    EXPECT_NE(text.find("index(v) {index=[0:1]}"), std::string::npos) << text;
    EXPECT_NE(text.find("sum("), std::string::npos) << text;
    EXPECT_NE(text.find("c_2: int64[] = add(%90, "), std::string::npos) << text;
    const auto reports = loop_reports(program);
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].kind, "reduction: sums of integers over the iterations, in any order");
}

TEST(ReductionRecognition, TruthsAreAllOrAny) {
    const std::string all = print_program(
        reduction_recognition(program_of(std::string(kCount) + "  t_3: bool[] = logical_and(t, %3) @5\n", "c, t_3")));
    EXPECT_NE(all.find("all("), std::string::npos) << all;
    const std::string any = print_program(
        reduction_recognition(program_of(std::string(kCount) + "  t_3: bool[] = logical_or(%3, t) @5\n", "c, t_3")));
    EXPECT_NE(any.find("any("), std::string::npos) << any;
}

TEST(ReductionRecognition, PlacesThatMoveEvenlyAreSlices) {
    const std::string body = "  %1: int64[] = index(w) {index=[2, 2*i + 1]} @4\n  %2: int64[] = subtract(c, %1) @4\n";
    const std::string text = print_program(reduction_recognition(program_of(body, "%2, t", "3, v.0, 4")));
    EXPECT_NE(text.find("{index=[2, 7:8]}"), std::string::npos) << text;
}

TEST(ReductionRecognition, SaysWhatForbidsIt) {
    EXPECT_EQ(why("  %1: int64[] = multiply(c, c) @4\n", "%1, t"), "line 4 makes c of its past by multiply");
    EXPECT_EQ(why("  %1: int64[] = subtract(%90, c) @4\n", "%1, t"), "line 4 makes c of its past by subtract");
    EXPECT_EQ(why("", "%90, t"), "it carries c, which an iteration sets to something else than a sum");
    EXPECT_EQ(why("  %1: int64[] = index(w) {index=[i, i]} @4\n  %2: int64[] = add(c, %1) @4\n", "%2, t"),
              "line 4 reads along a diagonal");
    EXPECT_EQ(why("  %1: int64[] = index(w) {index=[0, i*i]} @4\n  %2: int64[] = add(c, %1) @4\n", "%2, t"),
              "line 4 reads places that do not move evenly");
    // What one sum is, another one does not read.
    EXPECT_EQ(why("  %1: bool[] = less(c, %90) @4\n  %2: bool[] = logical_and(t, %1) @4\n", "c, %2"),
              "line 4 makes t of its past by logical_and");
    EXPECT_EQ(why(std::string(kCount) + "  %4: bool[] = logical_and(t, %3) @5\n  %5: bool[] = logical_or(%4, %3) @6\n",
                  "c, %5"),
              "line 5 mixes all and any");
}

TEST(ReductionRecognition, WhatReadsASizeOfThePastFollowsIt) {
    // The place k_2 is the count so far: whether it lies inside differs from iteration to iteration.
    const std::string body = std::string(kCount) +
                             "  k_2: size = read(c) {min=0, max=v.0} @5\n"
                             "  %4: int64[] = scalar_size() {size=k_2} @5\n  %5: int64[] = const() {value=7} @5\n"
                             "  %6: bool[] = less(%4, %5) @5\n  t_3: bool[] = logical_and(t, %6) @5\n"
                             "  %7: int64[] = const() {value=1} @5\n  %8: int64[] = const() {value=0} @5\n"
                             "  %9: int64[] = where(%3, %7, %8) @5\n  c_3: int64[] = add(c, %9) @5\n";
    const Program program = program_of(body, "c_3, t_3");
    const Program made = reduction_recognition(program);
    verify_program(made);
    EXPECT_NE(print_program(made).find("for "), std::string::npos);
    EXPECT_NE(why(body, "c_3, t_3"), "");
}

TEST(ReductionRecognition, FloatsKeepTheirOrder) {
    const Program program =
        read_program("tilewright-program 1\nfunction f\narg v: float64[v.0]\n%9: float64[] = const() {value=0.0} @1\n"
                     "s_2: float64[] = for i in range(0, v.0, 1) carry (s: float64[] = %9) {\n  %1: float64[] = "
                     "index(v) {index=[i]} @3\n"
                     "  %2: float64[] = add(s, %1) @3\n  yield %2\n} @2\nreturn s_2\n");
    EXPECT_EQ(print_program(reduction_recognition(program)), print_program(program));
    EXPECT_EQ(loop_reports(program)[0].kind, "pixelwise");
}

} // namespace
