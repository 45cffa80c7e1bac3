// tests/translator/loops_test.cpp: the dependence test of pixelwise loops, and the stages that they become.
#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/model/algorithm_impl.h"
#include "translator/loop_report.h"
#include "translator/loops/pixelwise.h"
#include "translator/passes/passes.h"
#include "translator/translate.h"

namespace {

using namespace tilewright;
using namespace tilewright::translator;

/// A program whose loop carries A (n x m) and s (0-d) over `body`, and yields `yields`.
std::string program_of(const std::string& body, const std::string& yields, const std::string& range = "0, k, 1") {
    return "tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg v: float64[x.1]\narg w: float64[w.0]\n"
           "scalar k: int64\n%99: float64[] = const() {value=0.0} @2\n"
           "A_2: float64[x.0, x.1], s_2: float64[] = for t in range(" +
           range + ") carry (A: float64[x.0, x.1] = x, s: float64[] = %99) {\n" + body + "  yield " + yields +
           "\n} @3\nreturn (A_2, s_2)\n";
}

std::string why(const std::string& body, const std::string& yields, const std::string& range = "0, k, 1") {
    const Program program = read_program(program_of(body, yields, range));
    for (const Operation& operation : program.body.operations) {
        if (operation.op == Op::for_loop) return why_not_pixelwise(operation);
    }
    return "no loop";
}

TEST(Pixelwise, WhatNeedsItsOwnElementOnly) {
    EXPECT_EQ(why("  B: float64[x.0, x.1] = multiply(A, v) @4\n", "B, s"), "");
    EXPECT_EQ(why("  B: float64[x.0, x.1] = add(A, s) @4\n  u: float64[] = add(s, s) @5\n", "B, u"), "");
    EXPECT_EQ(why("  %1: float64[] = index(w) {index=[t]} @4\n  B: float64[x.0, x.1] = add(A, %1) @5\n", "B, s"), "");
    // There and back again.
    EXPECT_EQ(why("  %1: float64[x.1, x.0] = transpose(A) {axes=[1, 0]} @4\n"
                  "  B: float64[x.0, x.1] = transpose(%1) {axes=[1, 0]} @5\n",
                  "B, s"),
              "");
    EXPECT_EQ(why("  %1: float64[x.0, 1, x.1] = index(A) {index=[0:1, newaxis, 0:1]} @4\n"
                  "  B: float64[x.0, x.1] = index(%1) {index=[0:1, 0, 0:1]} @5\n",
                  "B, s"),
              "");
    // What no iteration changes may be read anywhere.
    EXPECT_EQ(why("  %1: float64[x.0, x.1] = index(x) {index=[x.0 - 1:-1, 0:1]} @4\n"
                  "  B: float64[x.0, x.1] = add(A, %1) @5\n",
                  "B, s"),
              "");
    EXPECT_EQ(why("  B: float64[x.0, x.1] = broadcast_to(s) @4\n", "B, s"), "");
}

TEST(Pixelwise, SaysWhichLineForbidsIt) {
    EXPECT_EQ(why("  B: float64[x.0, x.1] = index(A) {index=[x.0 - 1:-1, 0:1]} @4\n", "B, s"),
              "line 4 reads A at another element");
    EXPECT_EQ(why("  u: float64[] = index(A) {index=[0, t]} @7\n", "A, u"), "line 7 reads A at another element");
    EXPECT_EQ(why("  %1: float64[x.1] = sum(A) {axes=[0]} @5\n  B: float64[x.0, x.1] = add(A, %1) @6\n", "B, s"),
              "line 5 takes the sum of A");
    EXPECT_EQ(why("  %1: float64[] = sum(v) {axes=[0]} @5\n  B: float64[x.0, x.1] = add(A, %1) @6\n", "B, s"),
              "line 5 computes a sum in each iteration");
    EXPECT_EQ(why("  B: float64[x.0, x.1] = update(A, A) {index=[0:1, 0:1]} @5\n", "B, s"),
              "line 5 writes a part of A");
    EXPECT_EQ(why("  %1: float64[x.0 * x.1] = reshape(A) @5\n  B: float64[x.0, x.1] = reshape(%1) @6\n", "B, s"),
              "line 5 reads A at another element");
    EXPECT_EQ(why("", "A, s", "0, k, k"), "line 3 steps by k, whose sign is not known");
}

TEST(Pixelwise, NumbersThatEachElementWouldComputeAgain) {
    const auto chain = [](const std::string& operation, int count, const std::string& from) {
        std::string text, last = from;
        for (int k = 0; k < count; ++k) {
            const std::string next = "%" + std::to_string(k);
            text += "  " + next + ": float64[] = " + operation + "(" + last + ") @" + std::to_string(4 + k) + "\n";
            last = next;
        }
        return std::pair(text, last);
    };
    const auto [few, few_last] = chain("negative", 20, "s");
    const auto [many, last] = chain("sinh", 60, "s");
    const auto [beside, beside_last] = chain("sinh", 60, "%99"); // the same in each iteration
    EXPECT_EQ(why(few + "  B: float64[x.0, x.1] = add(A, " + few_last + ") @90\n", "B, " + few_last), "");
    EXPECT_EQ(why(many + "  B: float64[x.0, x.1] = add(A, " + last + ") @90\n", "B, " + last),
              "line 4 computes numbers from iteration to iteration, which each element would compute again");
    EXPECT_EQ(why(beside + "  B: float64[x.0, x.1] = add(A, " + beside_last + ") @90\n", "B, s"), "");
}

TEST(Pixelwise, SquareTransposesAreOtherElements) {
    const Program program = read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.0]\nscalar k: int64\n"
                                         "A_2: float64[x.0, x.0] = for t in range(0, k, 1) carry (A: float64[x.0, x.0] "
                                         "= x) {\n  B: float64[x.0, x.0] = transpose(A) {axes=[1, 0]} @4\n"
                                         "  C: float64[x.0, x.0] = add(A, B) @5\n  yield C\n} @3\nreturn A_2\n");
    EXPECT_EQ(why_not_pixelwise(program.body.operations[0]), "line 5 combines elements of A with other elements");
    const Program moved = read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.0]\nscalar k: int64\n"
                                       "A_2: float64[x.0, x.0] = for t in range(0, k, 1) carry (A: float64[x.0, x.0] = "
                                       "x) {\n  B: float64[x.0, x.0] = transpose(A) {axes=[1, 0]} @4\n  yield B\n} "
                                       "@3\nreturn A_2\n");
    EXPECT_EQ(why_not_pixelwise(moved.body.operations[0]), "line 3 moves elements of A");
}

TEST(Pixelwise, IterationsCountAsPythonDoes) {
    const std::map<std::string, std::int64_t> no_symbols;
    for (std::int64_t start : {-3, 0, 5}) {
        for (std::int64_t stop : {-4, 0, 1, 5, 6, 17}) {
            for (std::int64_t step : {-7, -1, 1, 2, 5}) {
                std::int64_t count = 0;
                for (std::int64_t t = start; step > 0 ? t < stop : t > stop; t += step)
                    ++count;
                Operation loop;
                loop.attributes = {attr::start(Size::integer(start)), attr::stop(Size::integer(stop)),
                                   attr::step(Size::integer(step))};
                EXPECT_EQ(evaluate(iterations_of(loop), no_symbols), count) << start << " " << stop << " " << step;
            }
        }
    }
}

std::string exit_of(const std::string& body, const std::string& yields) {
    const Program program = read_program(program_of(body, yields));
    for (const Operation& operation : program.body.operations) {
        if (operation.op != Op::for_loop) continue;
        const auto exit = exit_condition(operation, {0, 1});
        return exit ? (exit->alive_if ? "" : "not ") + exit->value : "none";
    }
    return "no loop";
}

TEST(Pixelwise, LeavesWhereNothingChangesAnyMore) {
    const std::string test = "  I: bool[x.0, x.1] = less(A, v) @4\n  D: float64[x.0, x.1] = add(A, A) @5\n";
    EXPECT_EQ(exit_of(test + "  B: float64[x.0, x.1] = where(I, D, A) @6\n", "B, s"), "I");
    EXPECT_EQ(exit_of(test + "  B: float64[x.0, x.1] = where(I, A, D) @6\n", "B, s"), "not I");
    // Two conditions: the conjunction is what keeps an element alive, and each of its parts ends it.
    EXPECT_EQ(exit_of(test + "  J: bool[x.0, x.1] = greater(A, s) @6\n  K: bool[x.0, x.1] = logical_and(I, J) @7\n"
                             "  B: float64[x.0, x.1] = where(K, D, A) @8\n",
                      "B, s"),
              "I");
    // The other carried value goes on.
    EXPECT_EQ(exit_of(test + "  B: float64[x.0, x.1] = where(I, D, A) @6\n  u: float64[] = add(s, s) @7\n", "B, u"),
              "none");
    // The condition may come true again.
    EXPECT_EQ(exit_of("  %1: float64[] = index(w) {index=[t]} @4\n  I: bool[x.0, x.1] = less(A, %1) @4\n"
                      "  D: float64[x.0, x.1] = add(A, A) @5\n  B: float64[x.0, x.1] = where(I, D, A) @6\n",
                      "B, s"),
              "none");
    // -0.0 + 0.0 is 0.0: adding a zero of floats changes them.
    EXPECT_EQ(exit_of("  I: bool[x.0, x.1] = less(A, v) @4\n  %1: float64[x.0, x.1] = cast(I) @5\n"
                      "  B: float64[x.0, x.1] = add(A, %1) @6\n",
                      "B, s"),
              "none");
}

constexpr const char* kMandelbrot =
    "tilewright-program 1\nfunction mandelbrot\narg x: float32[x.0]\narg y: float32[y.0, 1]\nscalar maxiter: int64\n"
    "%1: int64[] = const() {value=0} @2\n%2: int64[y.0, x.0] = broadcast_to(%1) @2\n"
    "%3: float32[] = const() {value=0.0} @3\n%4: float32[y.0, x.0] = broadcast_to(%3) @3\n"
    "%5: float32[] = const() {value=16.0} @3\n"
    "N: int64[y.0, x.0], A: float32[y.0, x.0], B: float32[y.0, x.0] = for n in range(0, maxiter, 1) carry (N_2: "
    "int64[y.0, x.0] = %2, A_2: float32[y.0, x.0] = %4, B_2: float32[y.0, x.0] = %4) {\n"
    "  a2: float32[y.0, x.0] = multiply(A_2, A_2) @5\n  b2: float32[y.0, x.0] = multiply(B_2, B_2) @5\n"
    "  %6: float32[y.0, x.0] = add(a2, b2) @5\n  I: bool[y.0, x.0] = less(%6, %5) @5\n"
    "  %7: int64[] = scalar_size() {size=n} @6\n  N_3: int64[y.0, x.0] = where(I, %7, N_2) @6\n"
    "  %8: float32[y.0, x.0] = subtract(a2, b2) @7\n  %9: float32[y.0, x.0] = add(%8, x) @7\n"
    "  A_3: float32[y.0, x.0] = where(I, %9, A_2) @7\n  %10: float32[y.0, x.0] = multiply(A_2, B_2) @8\n"
    "  %11: float32[y.0, x.0] = add(%10, %10) @8\n  %12: float32[y.0, x.0] = add(%11, y) @8\n"
    "  B_3: float32[y.0, x.0] = where(I, %12, B_2) @8\n  yield N_3, A_3, B_3\n} @4\n";

std::string stages_of(const std::string& text) {
    dsl::Algorithm algorithm = translate(read_program(text), {});
    std::string out;
    for (const dsl::StageInfo& stage : algorithm.info().stages) {
        out += stage.name + (stage.output ? " output" : "") + (stage.part == dsl::StagePart::whole ? "" : " ") +
               dsl::part_name(stage.part) + ":";
        for (const std::string& dtype : stage.dtypes)
            out += " " + dtype;
        out += "\n";
    }
    return out + runtime::print_body(algorithm.impl().plan.versions[0]);
}

TEST(PixelwiseStages, ResultsAreOneTupleAndTheCountIsNarrow) {
    EXPECT_EQ(stages_of(std::string(kMandelbrot) + "return (A, B, N)\n"),
              "loop_n loop: int32 float32 float32\nA_B_N output: float32 float32 int64\n"
              "require layout x C\nrequire layout y C\n"
              "call mandelbrot_k0 in \"mandelbrot_k0\" (x.0, y.0, maxiter, x, y, A, B, N)\n");
}

TEST(PixelwiseStages, OneReaderGetsTheLoopInsideItsLoops) {
    EXPECT_EQ(stages_of(std::string(kMandelbrot) + "%20: int64[y.0, x.0] = add(N, N) @9\nreturn %20\n"),
              "loop_n loop: int32 float32 float32\nresult output: int64\n"
              "require layout x C\nrequire layout y C\n"
              "call mandelbrot_k0 in \"mandelbrot_k0\" (x.0, y.0, maxiter, x, y, result)\n");
}

TEST(PixelwiseStages, WhatReadsAtOtherElementsReadsMemory) {
    const std::string stages = stages_of(std::string(kMandelbrot) +
                                         "M: int64[y.0] = max(N) {axes=[1]} @9\nK: int64[y.0, x.0] = multiply(N, N) "
                                         "@10\nreturn (M, K)\n");
    EXPECT_NE(stages.find("K_N_kept output: int64 int64\n"), std::string::npos) << stages;
    EXPECT_NE(stages.find("temp N_kept int64 [y.0, x.0]\n"), std::string::npos) << stages;
}

TEST(PixelwiseStages, ReportsNameTheKindAndTheReason) {
    const auto reports = loop_reports(read_program(std::string(kMandelbrot) + "return A\n"));
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].line, 4);
    EXPECT_EQ(reports[0].source, "for n in range(0, maxiter, 1)");
    EXPECT_EQ(reports[0].kind, "pixelwise");
    EXPECT_EQ(reports[0].exit, "an element is done once I is false");
    const auto refused = loop_reports(
        read_program(program_of("  B: float64[x.0, x.1] = index(A) {index=[x.0 - 1:-1, 0:1]} @4\n", "B, s")));
    EXPECT_EQ(refused[0].kind,
              "serial: line 4 writes B, whose parts iterations share (not pixelwise: line 4 reads A at "
              "another element)");
}

/// The outermost loop of the one group that a program over x (written, n x m), a (n x m) and w (int64) becomes.
runtime::InGroup outermost(const std::string& body, const std::string& yields = "B") {
    const Program program = read_program(
        "tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg a: float64[x.0, x.1]\narg w: int64[x.0]\n"
        "C: float64[x.0, x.1] = for i in range(1, x.0, 1) carry (A: float64[x.0, x.1] = x) {\n" +
        body + "  yield " + yields + "\n} @3\nwrite x = C\nreturn none\n");
    const dsl::Algorithm algorithm = translate(program, {});
    const auto& groups = algorithm.impl().groups;
    EXPECT_EQ(groups.size(), 1U) << runtime::print_body(algorithm.impl().plan.versions[0]);
    if (groups.empty()) return {};
    EXPECT_EQ(groups[0].steps.size(), 1U);
    EXPECT_EQ(std::count(groups[0].argument_names.begin(), groups[0].argument_names.end(), "x"), 1);
    return groups[0].steps[0].in_group.value();
}

const char* const kRow = "  %1: float64[x.1] = index(a) {index=[i, 0:1]} @4\n";

TEST(Groups, IterationsThatKeepToARowOfTheirOwnRunInParallel) {
    const runtime::InGroup loop =
        outermost(std::string(kRow) + "  D: float64[x.0, x.1] = update(A, %1) {index=[i, 0:1]} @4\n"
                                      "  %2: float64[x.1] = index(D) {index=[i, 0:1]} @5\n"
                                      "  %3: float64[x.1] = multiply(%2, %2) @5\n"
                                      "  B: float64[x.0, x.1] = update(D, %3) {index=[i, 0:1]} @5\n");
    EXPECT_TRUE(loop.parallel);
    EXPECT_TRUE(loop.own.empty());
}

TEST(Groups, WhatOneIterationHandsToAnotherIsSerial) {
    // The row above.
    EXPECT_FALSE(outermost("  %1: float64[x.1] = index(A) {index=[i - 1, 0:1]} @4\n"
                           "  B: float64[x.0, x.1] = update(A, %1) {index=[i, 0:1]} @4\n")
                     .parallel);
    // Every iteration writes the same row.
    EXPECT_FALSE(
        outermost(std::string(kRow) + "  B: float64[x.0, x.1] = update(A, %1) {index=[0, 0:1]} @4\n").parallel);
    // Rows of an inner loop that iterations share.
    EXPECT_FALSE(outermost(std::string(kRow) +
                           "  B: float64[x.0, x.1] = for k in range(0, x.0 - i, 1) carry (E: float64[x.0, x.1] = A) {\n"
                           "    F: float64[x.0, x.1] = update(E, %1) {index=[i + k, 0:1]} @5\n    yield F\n  } @4\n")
                     .parallel);
}

TEST(Groups, ASizeThatAnIterationReadsIsItsOwn) {
    const runtime::InGroup loop =
        outermost("  %1: int64[] = index(w) {index=[i]} @4\n  n: int64[] = minimum(%1, %1) @4\n"
                  "  m: size = read(n) {min=0, max=x.1 - 1} @4\n"
                  "  %2: float64[] = index(a) {index=[i, m]} @4\n"
                  "  B: float64[x.0, x.1] = update(A, %2) {index=[i, 0]} @4\n");
    EXPECT_TRUE(loop.parallel);
    ASSERT_EQ(loop.own.size(), 1U);
    EXPECT_EQ(loop.own[0], "n");
}

TEST(Groups, ANumberThatIterationsCarryBesideAnArrayIsCopied) {
    const Program program = read_program(
        "tilewright-program 1\nfunction f\narg x: float64[x.0]\narg w: int64[x.0]\nt: bool[] = const() "
        "{value=true}\nzero: int64[] = const() {value=0}\n"
        "ok: bool[], C: float64[x.0] = for i in range(0, x.0, 1) carry (o: bool[] = t, A: float64[x.0] = x) {\n"
        "  %1: int64[] = index(w) {index=[i]} @4\n  %2: bool[] = greater_equal(%1, zero) @4\n"
        "  p: bool[] = logical_and(o, %2) @4\n  n: int64[] = maximum(%1, zero) @4\n"
        "  m: size = read(n) {min=0, max=x.0 - 1} @4\n"
        "  %3: float64[] = index(A) {index=[m]} @4\n  %4: float64[] = multiply(%3, %3) @4\n"
        "  B: float64[x.0] = update(A, %4) {index=[m]} @4\n  yield p, B\n} @3\n"
        "check ok \"outside\"\nwrite x = C\nreturn none\n");
    const dsl::Algorithm algorithm = translate(program, {});
    EXPECT_EQ(algorithm.impl().groups.size(), 1U) << runtime::print_body(algorithm.impl().plan.versions[0]);
}

/// A loop that fills an array of its own by columns, and what happens to it afterwards.
std::string columns(const std::string& inside, const std::string& after, const std::string& returned) {
    return "tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg v: float64[x.1]\n"
           "guard x.0 >= 1 \"rows\"\nguard x.1 >= 1 \"columns\"\n"
           "%1: float64[] = const() {value=0.0}\n%2: float64[x.0, x.1] = broadcast_to(%1)\n"
           "p: float64[x.0, x.1] = for j in range(1, x.1, 1) carry (p_2: float64[x.0, x.1] = %2) {\n"
           "  %3: float64[x.0 - 1] = index(p_2) {index=[1:1, j - 1]}\n" +
           inside + "  p_3: float64[x.0, x.1] = update(p_2, %3) {index=[1:1, j]}\n  yield p_3\n}\n" + after +
           "return " + returned + "\n";
}

std::string turned_text(const std::string& program) {
    const Program read = read_program(program);
    verify_program(read);
    const Program out = transposed_layout(read);
    verify_program(out);
    return print_program(out);
}

const char* const kLastColumn = "%5: float64[x.0] = index(p) {index=[0:1, x.1 - 1]}\n";

TEST(Turned, AnArrayOfColumnsAloneIsStoredByColumns) {
    const std::string text = turned_text(columns("", kLastColumn, "%5"));
    EXPECT_NE(text.find("p: float64[x.1, x.0] = for j in range(1, x.1, 1) carry (p_2: float64[x.1, x.0] = %turned1) {"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("%turned1: float64[x.1, x.0] = broadcast_to(%1)"), std::string::npos) << text;
    EXPECT_NE(text.find("= index(p_2) {index=[j - 1, 1:1]}"), std::string::npos) << text;
    EXPECT_NE(text.find("p_3: float64[x.1, x.0] = update(p_2, %3) {index=[j, 1:1]}"), std::string::npos) << text;
    EXPECT_NE(text.find("%5: float64[x.0] = index(p) {index=[x.1 - 1, 0:1]}"), std::string::npos) << text;
}

TEST(Turned, WhatIsAlsoSeenInAnotherWayStays) {
    const std::string row = "  %4: float64[x.1] = index(p_2) {index=[0, 0:1]}\n";
    const std::string part = "%6: float64[x.0, x.1 - 1] = index(p) {index=[0:1, 1:1]}\n";
    for (const std::string& program :
         {columns(row, kLastColumn, "%5"), columns("", "", "p"), columns("", part, "%6"),
          columns("", "%6: float64[x.0, x.1] = add(p, x)\n", "%6"),
          columns("  w: float64[x.0, x.1] = update(p_2, v) {index=[0, 0:1]}\n", kLastColumn, "%5")})
        EXPECT_EQ(turned_text(program), print_program(read_program(program)));
    // Of an argument the caller decides.
    std::string given = columns("", kLastColumn, "%5");
    given.replace(given.find("= %2) {"), 6, "= x) ");
    EXPECT_EQ(turned_text(given), print_program(read_program(given)));
}

} // namespace
