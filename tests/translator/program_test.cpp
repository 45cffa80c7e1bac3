// tests/translator/program_test.cpp: reading, printing, digesting and verifying programs.
#include "translator/ir/program.h"

#include <gtest/gtest.h>

#include "dsl/base/error.h"
#include "program_cases.h"

namespace {

using namespace tilewright::translator;
using harness::kCalls;
using harness::kFromData;
using harness::kKMeans;
using harness::kRegions;
using harness::kSoftmax;
using harness::kWrites;

std::string read_error(const std::string& text) {
    try {
        read_program(text);
    } catch (const tilewright::TranslateError& error) {
        return error.what();
    }
    return "no error";
}

std::string verify_error(const std::string& text) {
    Program program = read_program(text);
    try {
        verify_program(program);
    } catch (const tilewright::InternalError& error) {
        return error.what();
    }
    return "no error";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Program, CanonicalTextPrintsAsItReads) {
    for (const char* text : {kKMeans, kSoftmax, kCalls, kRegions, kWrites, kFromData}) {
        Program program = read_program(text);
        EXPECT_EQ(print_program(program), text);
        EXPECT_NO_THROW(verify_program(program));
    }
}

TEST(Program, LayoutOfTheTextDoesNotMatter) {
    std::string loose = std::string("# a comment\n\n") + kKMeans;
    loose = replaced(loose, "float64[X.0, X.1]", "  float64[ X.0 ,(X.1) ]");
    loose = replaced(loose, "{axes=[2]}", "{ axes = [ 2 ] }");
    loose = replaced(loose, "\n%2", "\r\n%2");
    loose.pop_back();
    EXPECT_EQ(print_program(read_program(loose)), kKMeans);
}

TEST(Program, DigestIgnoresFileAndLinesOnly) {
    const std::string digest = program_digest(read_program(kKMeans));
    EXPECT_EQ(digest.size(), 32U);
    EXPECT_EQ(program_digest(read_program(replaced(replaced(kKMeans, "@8", "@80"), "kmeans.py", "other.py"))), digest);
    EXPECT_NE(program_digest(read_program(replaced(kKMeans, "subtract", "add"))), digest);
}

TEST(Program, ErrorsNameLineAndColumn) {
    EXPECT_EQ(read_error(""), "program:1:1: expected 'tilewright-program 1', found the end of the text.");
    EXPECT_EQ(read_error("tilewright-program 2\n"), "program:1:21: format version 2; this release reads version 1.");
    EXPECT_EQ(read_error(replaced(kKMeans, "%3: float64[means.0, X.0, X.1] = multiply(%2, %2)", "%3: float64[means.0")),
              "program:8:23: 'means.0 @8' is no size expression: '@8' after the expression.");
    EXPECT_EQ(read_error(replaced(kKMeans, "means.0 >= 1", "means.0 1")),
              "program:5:17: 'means.0 1' is no size expression: '1' after the expression.");
    EXPECT_EQ(read_error(replaced(kKMeans, "{axes=[2]}", "{axis=[2]}")),
              "program:9:48: attribute axis: '[2]' is no size expression: found '[' where a size is expected.");
    EXPECT_EQ(read_error(replaced(kKMeans, "{axes=[2]}", "{sort=[2]}")), "program:9:48: unknown attribute 'sort'.");
    EXPECT_EQ(read_error(replaced(kKMeans, "{axes=[2]}", "{order=2c}")), "program:9:48: unknown attribute 'order'.");
    EXPECT_EQ(read_error(replaced(kKMeans, "{axis=0}", "{axis=X.0}")),
              "program:11:42: attribute axis: 'X.0' is no axis.");
    EXPECT_EQ(read_error(replaced(kKMeans, "= sqrt(", "= square_root(")),
              "program:10:28: there is no operation 'square_root'.");
    EXPECT_EQ(read_error(replaced(kKMeans, "return argmin", "return argmin x")),
              "program:12:15: expected the end of the line, found 'x'.");
    EXPECT_EQ(read_error(std::string(kKMeans) + "x: float64[] = sqrt(x)\n"), "program:13:1: something after 'return'.");
    EXPECT_EQ(read_error(replaced(kRegions, "  yield Z3, N1\n", "")),
              "program:15:2: a region that does not end in 'yield'.");
    EXPECT_EQ(read_error(replaced(kWrites, "return ()", "s: float64[] = sqrt(s)")),
              "program:29:1: expected 'write' or 'return' after a write, found 's: float64[] = sqrt('.");
}

TEST(Program, CallsAreTextAndOperands) {
    const Program program = read_program(kCalls);
    EXPECT_EQ(program.conversions, (std::vector<std::string>{"held", ""}));
    const std::string digest = program_digest(program);
    EXPECT_NE(program_digest(read_program(replaced(kCalls, "numpy.unique", "numpy.sort"))), digest)
        << "a record in the store is of these callees";
    EXPECT_EQ(read_error(replaced(kCalls, "\"r1.eigenvalues\"", "r1.eigenvalues")),
              "program:6:53: attribute callee: 'r1.eigenvalues' is no text in quotes.");
    EXPECT_EQ(read_error(replaced(kCalls, "\"r1.eigenvalues\"", "\"r1.eigenvalues\" 3")),
              "program:6:57: attribute callee: more than a text in quotes.");
    EXPECT_EQ(read_error(replaced(kCalls, "held(unique)", "kept(unique)")),
              "program:10:14: expected int, float, bool or held before '(', found 'kept'.");
    EXPECT_EQ(verify_error(replaced(kCalls, "call(eigh)", "call()")),
              "program spectrum, %1 (line 2) = call: has operands.");
    EXPECT_EQ(verify_error(replaced(kCalls, "\"r1.eigenvalues\"", "\"\"")),
              "program spectrum, %1 (line 2) = call: names its callee.");
    EXPECT_EQ(verify_error(replaced(kCalls, " {callee=\"r1.eigenvalues\"}", "")),
              "program spectrum, %1 (line 2) = call: the attribute callee is missing.");
    EXPECT_EQ(verify_error(replaced(kCalls, "held(unique)", "held(y)")),
              "program spectrum, return held: y is float64[a.0], not int64[].");
}

TEST(Program, VerifierStatesTheSpecification) {
    EXPECT_EQ(verify_error(kKMeans), "no error");
    EXPECT_EQ(verify_error(replaced(kKMeans, "subtract(X, %1)", "subtract(X, %9)")),
              "program get_labels, %2 (line 8) = subtract: the operand %9 is not defined before.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "%4: float64", "norm: float64")),
              "program get_labels, norm: is defined twice.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "norm: float64[means.0, X.0]", "norm: float64[X.0, means.0]")),
              "program get_labels, norm (line 8) = sum: the result's shape is [X.0, means.0], not [means.0, X.0].");
    EXPECT_EQ(verify_error(replaced(kKMeans, "argmin: int64", "argmin: int32")),
              "program get_labels, argmin (line 8) = argmin: gives int64, not int32.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "{axes=[2]}", "{axes=[3]}")),
              "program get_labels, norm (line 8) = sum: axis 3 of 3.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "sum(%3)", "sum(%3, %3)")),
              "program get_labels, norm (line 8) = sum: takes 1 operands, not 2.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "multiply(%2, %2)", "multiply(%2)")),
              "program get_labels, %3 (line 8) = multiply: takes 2 operands, not 1.");
    EXPECT_EQ(verify_error(replaced(kKMeans, "means.0 >= 1", "n >= 1")),
              "program get_labels, guard n >= 1: the size 'n' is not known here.");
    EXPECT_EQ(verify_error(replaced(kSoftmax, "arg B: float32", "arg B: float64")),
              "program softmax, z (line 2) = matmul: takes and gives one dtype.");
    EXPECT_EQ(verify_error(replaced(kRegions, "yield Z3, N1", "yield Z3")),
              "program mandel, Z2 (line 2) = for: yields 1 values, not 2.");
    EXPECT_EQ(verify_error(replaced(kRegions, "return (x2, N2)", "return (x2, Z3)")),
              "program mandel, return: Z3 is not defined.");
    EXPECT_EQ(verify_error(replaced(kRegions, "range(0, maxiter, 1)", "range(0, maxiter, 0)")),
              "program mandel, Z2 (line 2) = for: the step is 0.");
    EXPECT_EQ(verify_error(replaced(kRegions, "less(Z1, Z1)", "less(Z1, i)")),
              "program mandel, %1 (line 3) = less: the operand i is not defined before.");
    EXPECT_EQ(verify_error(replaced(kRegions, "return (x2", "%8: int64[] = scalar_size() {size=i}\nreturn (x2")),
              "program mandel, %8 = scalar_size: the size 'i' is not known here.");
}

TEST(Program, VerifierKnowsWritesAndComplexNumbers) {
    EXPECT_EQ(verify_error(kWrites), "no error");
    EXPECT_EQ(verify_error(replaced(kWrites, "write Z = Z_2", "write Z = Z_3")),
              "program step, write Z: Z_3 is not defined.");
    EXPECT_EQ(verify_error(replaced(kWrites, "write Z = Z_2", "write N = N_2")),
              "program step, write N: is written twice.");
    EXPECT_EQ(verify_error(replaced(kWrites, "write Z = Z_2", "write Z = sum")),
              "program step, write Z: the value sum is complex128[C.0], not complex128[C.0, C.1].");
    EXPECT_EQ(verify_error(replaced(kWrites, "write Z = Z_2", "write maxiter = Z_2")),
              "program step, write maxiter: is no array argument.");
    EXPECT_EQ(
        verify_error(replaced(kWrites, "%3: float64[C.0, C.1] = absolute", "%3: complex128[C.0, C.1] = absolute")),
        "program step, %3 (line 3) = absolute: gives float64, not complex128.");
    EXPECT_EQ(verify_error(replaced(kWrites, "= conjugate(", "= real(")),
              "program step, %7 (line 5) = real: the result is complex128[C.0, C.1], not float64[C.0, C.1].");
    EXPECT_EQ(verify_error(replaced(kWrites, "= conjugate(", "= floor(")),
              "program step, %7 (line 5) = floor: does not take complex numbers.");
    EXPECT_EQ(verify_error(replaced(kWrites, "value=0.0-1.0j", "value=0.0-1.0i")),
              "program step, %1 = const: 0.0-1.0i is no complex128.");
}

TEST(Program, ChecksAndPythonNumbersAreRead) {
    const Program program = read_program(kFromData);
    EXPECT_EQ(program.checks.size(), 1U);
    EXPECT_EQ(program.checks[0].text, "line 9: an index \"out of bounds\" for axis 0");
    EXPECT_EQ(program.conversions, (std::vector<std::string>{"", "int"}));
    EXPECT_EQ(print_program(read_program(replaced(kFromData, "return (y, int(%7))", "return bool(inside)"))),
              replaced(kFromData, "return (y, int(%7))", "return bool(inside)"));
    EXPECT_NE(program_digest(read_program(replaced(kFromData, "max=columns.0", "max=rows.0"))),
              program_digest(program));
    EXPECT_EQ(read_error(replaced(kFromData, "int(%7)", "str(%7)")),
              "program:25:16: expected int, float, bool or held before '(', found 'str'.");
    EXPECT_EQ(read_error(replaced(kFromData, "n: size = read", "n: size = add")),
              "program:15:16: a size is the result of a read.");
    EXPECT_EQ(read_error(replaced(kFromData, "n: size = read", "n: int64[] = read")),
              "program:15:20: a read gives a size.");
    EXPECT_EQ(read_error(replaced(kFromData, "write x = x\n", "%8: bool[] = all(%3) {axes=[0]}\n")),
              "program:24:1: expected 'check', 'write' or 'return' after a check, found '%8: bool[] = all(%3)'.");
}

TEST(Program, VerifierKnowsSizesFromData) {
    EXPECT_EQ(verify_error(replaced(kFromData, "{min=0, max=columns.0}", "{max=columns.0}")),
              "program spmv, n (line 8) = read: has both limits or none.");
    EXPECT_EQ(verify_error(replaced(kFromData, "read(%5)", "read(zero)")),
              "program spmv, n (line 8) = read: what it reads is float64[], not int64[].");
    EXPECT_EQ(verify_error(replaced(kFromData, "%7: int64[] = index(rows) {index=[0]}",
                                    "%7: int64[] = index(rows) {index=[n]}")),
              "program spmv, %7 = index: the size 'n' is not known here.");
    EXPECT_EQ(verify_error(replaced(kFromData, "take(x, %6) {axis=0}", "take(x, %6) {axis=1}")),
              "program spmv, part (line 9) = take: axis=1 is no axis of float64[x.0].");
    EXPECT_EQ(verify_error(replaced(kFromData, "take(x, %6)", "take(%6, x)")),
              "program spmv, part (line 9) = take: the positions are float64, not int64.");
    EXPECT_EQ(verify_error(replaced(kFromData, "part: float64[n]", "part: float64[x.0]")),
              "program spmv, part (line 9) = take: the result is float64[x.0], not float64[n].");
    EXPECT_EQ(verify_error(replaced(kFromData, "check inside", "check %3")),
              "program spmv, check %3: the value is bool[columns.0], not bool[].");
    EXPECT_EQ(verify_error(replaced(kFromData, "int(%7)", "float(%7)")),
              "program spmv, return float: %7 is int64[], not float64[].");
}

} // namespace
