// tests/translator/batching_test.cpp: which loops become axes, and as what.
#include <gtest/gtest.h>

#include "translator/passes/passes.h"
#include "translator/passes/pipeline.h"

namespace {

using namespace tilewright::translator;

/// A loop over the rows of x that carries A and b, and yields `yields`.
Program program_of(const std::string& body, const std::string& yields, const std::string& range = "0, x.0, 1") {
    return read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg w: float64[x.1]\n"
                        "arg A0: float64[x.0, x.1]\narg b0: float64[x.0]\narg k: int64[x.0]\nguard x.0 >= 3 \"\"\n"
                        "A: float64[x.0, x.1], b: float64[x.0] = for i in range(" +
                        range + ") carry (A1: float64[x.0, x.1] = A0, b1: float64[x.0] = b0) {\n" + body + "  yield " +
                        yields + "\n} @2\nt: float64[x.0] = add(b, b) @9\nreturn (A, t)\n");
}

/// The program behind batching, where that runs.
std::string behind(const Program& program, const TranslateOptions& options) {
    std::string text = print_program(program);
    prepare(program, options, [&](const Pass& pass, const Program&, const Program& after) {
        if (pass.run == batching) text = print_program(after);
    });
    return text;
}

std::string made(const Program& program) {
    TranslateOptions options;
    options.device = true;
    const std::string text = behind(program, options);
    translate(program, options);
    return text;
}

std::string why(const std::string& body, const std::string& yields, const std::string& range = "0, x.0, 1") {
    const Program program = program_of(body, yields, range);
    for (const Operation& operation : program.body.operations)
        if (operation.op == Op::for_loop) return why_no_axis(program, operation);
    return "no loop";
}

constexpr const char* kRow = "  %1: float64[x.1] = index(x) {index=[i, 0:1]} @3\n";

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Batching, RowsAreWrittenAtOnce) {
    const std::string text =
        made(program_of(std::string(kRow) + "  %2: float64[x.1] = multiply(%1, w) @3\n"
                                            "  A2: float64[x.0, x.1] = update(A1, %2) {index=[i, 0:1]} @3\n",
                        "A2, b1"));
    EXPECT_EQ(text.find("for "), std::string::npos) << text;
    EXPECT_HAS(text, "index(x) {index=[0:1, 0:1]}");
    EXPECT_HAS(text, "A2: float64[x.0, x.1] = cast(%2)");
}

TEST(Batching, OtherIterationsThanAllWriteAPart) {
    const std::string body = std::string(kRow) + "  %2: float64[] = index(%1) {index=[0]} @3\n"
                                                 "  b2: float64[x.0] = update(b1, %2) {index=[i]} @3\n";
    EXPECT_HAS(made(program_of(body, "A1, b2", "1, x.0 - 1, 1")), "update(b0, %2) {index=[1:1]}");
    EXPECT_HAS(made(program_of(body, "A1, b2", "0, x.0, 2")), "update(b0, %2) {index=[0:2]}");
    EXPECT_HAS(made(program_of(body, "A1, b2", "x.0 - 1, -1, -1")), "index(x) {index=[x.0 - 1:-1, 0:1]}");
}

TEST(Batching, SlicesThatMoveAreWindows) {
    const std::string text =
        made(program_of("  %1: float64[3] = index(w) {index=[2*i + 1:2]} @3\n  s: float64[] = sum(%1) {axes=[0]} @3\n"
                        "  b2: float64[x.0] = update(b1, s) {index=[i]} @3\n",
                        "A1, b2"));
    EXPECT_HAS(text, "float64[x.0, 3] = windows(w) {axis=0, start=1, step=2, stride=2}");
    EXPECT_HAS(text, "s: float64[x.0] = sum(%axis2) {axes=[1], order=1c}");
}

TEST(Batching, ANestIsTwoAxes) {
    const std::string text =
        made(program_of("  A2: float64[x.0, x.1] = for j in range(0, x.1, 1) carry (A3: float64[x.0, x.1] = A1) {\n"
                        "    %1: float64[] = index(x) {index=[i, j]} @4\n    %2: int64[] = scalar_size() {size=j} @4\n"
                        "    %3: float64[] = cast(%2) @4\n    %4: float64[] = multiply(%1, %3) @4\n"
                        "    A4: float64[x.0, x.1] = update(A3, %4) {index=[i, j]} @4\n    yield A4\n  } @3\n",
                        "A2, b1"));
    EXPECT_EQ(text.find("for "), std::string::npos) << text;
    EXPECT_HAS(text, "A4: float64[x.0, x.1] = cast(");
    EXPECT_HAS(text, "int64[x.1] = iota()");
}

TEST(Batching, TheOrderOfASumIsThatOfTheLoop) {
    // One long axis in an iteration, since a row of x is whole in memory; t is such an array too, and no expression.
    const Program program = read_program(
        "tilewright-program 1\nfunction f\narg x: float64[x.0, x.1, x.2]\narg y: float64[x.1, x.2]\narg b0: "
        "float64[x.0]\nt: float64[x.1, x.2] = add(y, y) @1\nb: float64[x.0] = for i in range(0, x.0, 1) carry (b1: "
        "float64[x.0] = b0) {\n  %1: float64[x.1, x.2] = index(x) {index=[i, 0:1, 0:1]} @3\n  %2: float64[x.1, x.2] = "
        "multiply(%1, t) @3\n  s: float64[] = sum(t) {axes=[0, 1]} @3\n  r: float64[] = sum(%2) {axes=[0, 1]} @3\n"
        "  u: float64[] = add(r, s) @3\n  b2: float64[x.0] = update(b1, u) {index=[i]} @3\n  yield b2\n} @2\n"
        "return (b, t)\n");
    const std::string text = made(program);
    EXPECT_HAS(text, "sum(t) {axes=[0, 1], order=0cj2}");
    EXPECT_HAS(text, "sum(%2) {axes=[1, 2], order=1c}");
}

TEST(Batching, SaysWhatForbidsIt) {
    const std::string b2 = "  b2: float64[x.0] = update(b1, %9) {index=[i]} @3\n";
    EXPECT_EQ(why("  %9: float64[] = index(b1) {index=[i - 1]} @3\n" + b2, "A1, b2", "1, x.0, 1"),
              "line 3 is where other iterations write");
    EXPECT_EQ(why("  %9: float64[] = sum(b1) {axes=[0]} @3\n" + b2, "A1, b2"),
              "line 3 reads all of an array that iterations write");
    EXPECT_EQ(why("  %9: float64[] = index(x) {index=[i, i]} @3\n" + b2, "A1, b2"), "line 3 reads along a diagonal");
    EXPECT_EQ(why("  %9: float64[] = index(b0) {index=[i*i]} @3\n" + b2, "A1, b2"),
              "line 3 is at places that do not move evenly");
    EXPECT_EQ(
        why("  %1: float64[i] = index(w) {index=[0:1]} @3\n  %9: float64[] = sum(%1) {axes=[0]} @3\n" + b2, "A1, b2"),
        "line 3 has another size in each iteration");
    EXPECT_EQ(why("  %9: float64[] = index(b0) {index=[i]} @3\n  b2: float64[x.0] = update(b1, %9) {index=[0]} @3\n",
                  "A1, b2"),
              "line 3 writes where other iterations write");
    EXPECT_EQ(why("  b2: float64[x.0] = add(b1, b0) @3\n", "A1, b2"),
              "it carries b1, which iterations do not write in parts");
    const Program program = program_of("  %9: float64[] = index(x) {index=[i, i]} @3\n" + b2, "A1, b2");
    EXPECT_EQ(made(program), print_program(program));
}

TEST(Batching, OnACpuLoopsStay) {
    const Program program =
        program_of(std::string(kRow) + "  A2: float64[x.0, x.1] = update(A1, %1) {index=[i, 0:1]} @3\n", "A2, b1");
    EXPECT_EQ(behind(program, {}), print_program(program));
    TranslateOptions options;
    options.axes = true;
    EXPECT_NE(behind(program, options), print_program(program));
}

} // namespace
