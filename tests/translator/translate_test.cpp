// tests/translator/translate_test.cpp: stages, loops, variants, plans and errors of translations, as data.
#include "translator/translate.h"

#include <gtest/gtest.h>

#include "dsl/base/error.h"
#include "dsl/model/algorithm_impl.h"
#include "program_cases.h"

namespace {

using namespace tilewright;
using namespace tilewright::translator;
using translator::harness::kKMeans;
using translator::harness::kSoftmax;

std::string loops(const std::vector<dsl::LoopInfo>& loops) {
    std::string out;
    for (const dsl::LoopInfo& loop : loops) {
        out += (out.empty() ? "" : " ") + loop.name + "<" + loop.extent + "=" + std::to_string(loop.extent_here) + ">" +
               (loop.ordered ? "!" : "");
    }
    return out;
}

std::string describe(const dsl::AlgorithmInfo& info) {
    std::string out;
    for (const dsl::StageInfo& stage : info.stages) {
        out += stage.name + (stage.output ? " (output)" : "") + ": " + loops(stage.pure.loops) + "\n";
        for (const dsl::DefinitionInfo& update : stage.updates)
            out += "  update: " + loops(update.loops) + "\n";
    }
    return out;
}

std::string variant_text(const std::vector<VariantInfo>& list) {
    std::string out;
    for (const VariantInfo& variant : list) {
        out += variant.name + ":";
        for (const std::string& option : variant.options)
            out += " " + option;
        out += "\n";
    }
    return out;
}

std::string sum_text(const std::string& dtype, const std::string& shape, const std::string& axes,
                     const std::string& result) {
    return "tilewright-program 1\nfunction f\narg x: " + dtype + "[" + shape + "]\ny: " + dtype + "[" + result +
           "] = sum(x) {axes=" + axes + "}\nreturn y\n";
}

/// Kernels end before a call, and what lies between calls fuses as before.
TEST(Translate, CallsAreStepsBetweenKernels) {
    const Program program = read_program(R"text(tilewright-program 1
function f "f.py"
arg x: float64[x.0]
%1: float64[x.0] = multiply(x, x) @2
%2: float64[x.0] = add(%1, x) @2
%3: float64[x.0] = call(%2) {callee="numpy.sort($0)"} @2
%4: float64[x.0] = subtract(%3, %1) @3
y: float64[x.0] = sqrt(%4) @3
return y
)text");
    TranslateOptions options;
    options.sizes_here = {{"x.0", 1000}};
    const dsl::Algorithm algorithm = translate(program, options);
    const runtime::Plan& plan = algorithm.impl().plan;
    std::string steps;
    for (const runtime::PlanStep& step : plan.versions.at(0).steps)
        steps += step.kind == runtime::StepKind::call    ? "kernel "
                 : step.kind == runtime::StepKind::stage ? step.message + " "
                                                         : "";
    EXPECT_EQ(steps, "kernel numpy.sort($0) kernel ");
    EXPECT_TRUE(plan.sliced.empty()) << "rows of a call's result need all rows of its operand";
}

/// The kernels, stages and copies of the first version of a plan.
std::string steps_of(const std::string& body, const TranslateOptions& options) {
    const Program program = read_program("tilewright-program 1\nfunction f\n" + body + "return none\n");
    const auto translated = translate(program, options);
    std::string steps;
    for (const runtime::PlanStep& step : translated.impl().plan.versions.at(0).steps)
        steps += step.kind == runtime::StepKind::call    ? "kernel "
                 : step.kind == runtime::StepKind::stage ? "stage "
                 : step.kind == runtime::StepKind::copy  ? "copy "
                                                         : "";
    return steps;
}

/// What is summed up of an argument is in memory before the argument is overwritten; with other elements of it there
/// is no way around a copy, nor where the sum takes a long computation that its reader needs too.
TEST(Translate, ArgumentsAreReplacedWhereTheyLie) {
    TranslateOptions options;
    options.sizes_here = {{"x.0", 300}, {"x.1", 300}};
    const std::string x = "arg x: float64[x.0, x.1]\n";
    EXPECT_EQ(steps_of(x + R"text(%1: float64[x.1] = sum(x) {axes=[0]}
%2: float64[x.0, x.1] = broadcast_to(%1)
%3: float64[x.0, x.1] = subtract(x, %2)
write x = %3
)text",
                       options),
              "kernel kernel ");
    EXPECT_EQ(steps_of(x + R"text(%1: float64[x.0, x.1] = call(x) {callee="numpy.linalg.cholesky($0)"}
%2: float64[x.0, x.1] = subtract(x, %1)
write x = %2
)text",
                       options),
              "stage kernel ");
    EXPECT_EQ(steps_of(x + R"text(%1: float64[x.0, x.1] = exp(x)
%2: float64[x.1] = sum(%1) {axes=[0]}
%3: float64[x.0, x.1] = broadcast_to(%2)
%4: float64[x.0, x.1] = subtract(%1, %3)
write x = %4
)text",
                       options),
              "kernel copy ");
}

/// Beside a few rows a library copies a large matrix for little work; with more rows another version is the library's.
TEST(Translate, FewRowsTimesALargeMatrixReadItOnce) {
    const Program program = read_program(R"text(tilewright-program 1
function f
arg x: float32[x.0, x.1]
arg w: float32[x.1, w.1]
%1: float32[x.0, x.1] = maximum(x, x)
y: float32[x.0, w.1] = matmul(%1, w)
return y
)text");
    TranslateOptions options;
    const auto first = [&](int rows, int terms, int columns) {
        options.sizes_here = {{"x.0", rows}, {"x.1", terms}, {"w.1", columns}};
        return variants(program, options).at(0).options.at(0);
    };
    EXPECT_EQ(first(8, 30000, 10000), "rows");
    EXPECT_EQ(first(9, 30000, 10000), "blas");
    EXPECT_EQ(first(8, 3000, 1000), "blas");
    EXPECT_EQ(first(1, 30000, 10000), "blas");
    options.sizes_here = {{"x.0", 8}, {"x.1", 30000}, {"w.1", 10000}};
    const dsl::Algorithm algorithm = translate(program, options);
    EXPECT_NE(describe(algorithm.info()).find("y_of (output)"), std::string::npos) << describe(algorithm.info());
    const std::string plan = runtime::print_plan(algorithm.impl().plan);
    EXPECT_NE(plan.find("require x.0 <= 8\n"), std::string::npos) << plan;
}

/// (n + 2^30 - 1) // 2^30, which Halide would make of three levels that are rounded up, leaves 32 bits.
TEST(Translate, BlocksOfTheThirdLevelAreCountedWithinTheExtent) {
    TranslateOptions options;
    options.sizes_here = {{"x.0", (std::int64_t{1} << 30) + 5}};
    dsl::Algorithm algorithm = translate(read_program(sum_text("float32", "x.0", "[0]", "")), options);
    for (const dsl::StageInfo& stage : algorithm.info().stages) {
        if (stage.name != "y_block3") continue;
        EXPECT_EQ(loops(stage.pure.loops), "b<(((x.0 + 1023) // 1024 + 1023) // 1024 - 1) // 1024 + 1=2>");
    }
    EXPECT_EQ(algorithm.info().variant.at("y"), "lanes4");
}

TEST(Translate, KMeansHasTheStagesOfItsNames) {
    TranslateOptions options;
    options.sizes_here = {{"X.0", 1000}, {"X.1", 2}, {"means.0", 3}};
    dsl::Algorithm algorithm = translate(read_program(kKMeans), options);
    EXPECT_EQ(describe(algorithm.info()), "norm: i<means.0=3> j<X.0=1000>\n"
                                          "  update: i<means.0=3> j<X.0=1000> r<X.1=2>!\n"
                                          "argmin_best: i<X.0=1000>\n"
                                          "  update: i<X.0=1000> r<means.0=3>!\n"
                                          "argmin (output): i<X.0=1000>\n");
    EXPECT_EQ(algorithm.info().stages[0].line, 8);
    EXPECT_EQ(algorithm.info().stages[0].source, "sum(%3) {axes=[2]}");
    EXPECT_EQ(algorithm.info().stages[1].dtypes, (std::vector<std::string>{"float64", "int64"}));
    EXPECT_EQ(runtime::print_header(algorithm.impl().plan),
              "tilewright-plan 1\nfunction get_labels\narg X float64 2\narg means float64 2\n"
              "guard means.0 >= 1 \"attempt to get argmin of an empty sequence\"\n"
              "slices (X)\n"
              "result argmin int64 [X.0]\nreturn argmin\n");
    EXPECT_EQ(runtime::print_body(algorithm.impl().plan.versions[0]),
              "require X.1 <= 32\nrequire layout X C\nrequire layout means C\n"
              "call get_labels_k0 in \"get_labels_k0\" (X.0, X.1, means.0, X, means, argmin)\n");
}

TEST(Translate, ReadsSayWhichLoopMovesThem) {
    dsl::Algorithm algorithm = translate(read_program(kKMeans), {{{"norm", "serial"}}, {}, {}, "numpy"});
    const dsl::StageInfo& norm = algorithm.info().stages[0];
    ASSERT_EQ(norm.reads.size(), 2U);
    EXPECT_EQ(norm.reads[0].from, "X");
    EXPECT_EQ(norm.reads[0].innermost, "r");
    EXPECT_TRUE(norm.reads[0].broadcast);
    EXPECT_EQ(norm.reads[0].definition, 0);
    EXPECT_EQ(norm.reads[0].axes, (std::vector<std::string>{"j", "r"}));
    EXPECT_EQ(norm.reads[1].from, "means");
    EXPECT_EQ(norm.reads[1].axes, (std::vector<std::string>{"i", "r"}));
    const dsl::StageInfo& best = algorithm.info().stages[1];
    EXPECT_EQ(best.reads[0].axes, (std::vector<std::string>{"r", "i"}));
    EXPECT_EQ(best.reads[0].innermost, "i");
    EXPECT_FALSE(best.reads[0].broadcast);
}

TEST(Translate, ADeviceAddsBlocksOfManyRowsInBlocks) {
    const Program column = read_program(sum_text("float32", "x.0, x.1", "[0]", "x.1"));
    const auto of = [&](std::int64_t rows) {
        TranslateOptions options;
        options.device = true;
        options.sizes_here = {{"x.0", rows}, {"x.1", 5}};
        return variant_text(variants(column, options));
    };
    EXPECT_EQ(of(131071), "y: rows serial\n");
    EXPECT_EQ(of(131328), "y: rows2 serial\n");
    EXPECT_EQ(of(100000000), "y: rows3 serial\n");
}

TEST(Translate, ASearchAmongWhatAStageGivesRunsOneByOne) {
    for (const bool device : {false, true}) {
        TranslateOptions options;
        options.device = device;
        options.sizes_here = {{"X.0", 10000}, {"X.1", 2}, {"means.0", 2000}};
        EXPECT_EQ(variant_text(variants(read_program(kKMeans), options)), "norm: serial\nargmin: serial\n");
    }
}

TEST(Translate, ASearchOfManyRowsMayRunInBlocksOfThem) {
    const auto of = [&](std::int64_t rows, std::int64_t columns, bool device) {
        TranslateOptions options;
        options.device = device;
        options.sizes_here = {{"x.0", rows}, {"x.1", columns}};
        return variant_text(variants(read_program("tilewright-program 1\nfunction f\narg x: float32[x.0, x.1]\n"
                                                  "y: int64[x.1] = argmax(x) {axis=0}\nreturn y\n"),
                                     options));
    };
    EXPECT_EQ(of(512, 5, false), "y: serial\n");
    EXPECT_EQ(of(1000, 5, false), "y: serial rows\n");
    EXPECT_EQ(of(20000, 1000, false), "y: rows serial\n");
    EXPECT_EQ(of(20000, 1000, true), "y: rows serial\n");
    EXPECT_EQ(of(200000, 1000, true), "y: rows2 serial\n");
    EXPECT_EQ(of(20000, 100000, true), "y: serial rows\n");
}

TEST(Translate, VariantsFollowTheSizes) {
    auto of = [](const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
        TranslateOptions options;
        options.sizes_here = sizes;
        return variant_text(variants(read_program(text), options));
    };
    const std::string row = sum_text("float32", "x.0, x.1", "[1]", "x.0");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 32}}), "y: serial\n");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 33}}), "y: narrow1 lanes1\n");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 192}}), "y: narrow1 lanes1\n");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 193}}), "y: lanes1 narrow1\n");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 257}}), "y: lanes1\n");
    EXPECT_EQ(of(row, {{"x.0", 5}, {"x.1", 1025}}), "y: lanes2\n");
    EXPECT_EQ(of(row, {}), "y: lanes3\n");
    const std::string column = sum_text("float32", "x.0, x.1", "[0]", "x.1");
    EXPECT_EQ(of(column, {{"x.0", 100}, {"x.1", 5}}), "y: serial\n");
    EXPECT_EQ(of(column, {{"x.0", 100000}, {"x.1", 5}}), "y: rows serial\n");
    EXPECT_EQ(of(column, {{"x.0", 100000000}, {"x.1", 5}}), "y: rows serial\n");
    EXPECT_EQ(of(column, {{"x.0", 100000}, {"x.1", 5000}}), "y: serial rows\n");
    EXPECT_EQ(of(column, {{"x.0", 20000}, {"x.1", 5000}}), "y: rows serial\n");
    EXPECT_EQ(of(column, {{"x.0", 1023}, {"x.1", 5000}}), "y: serial rows\n");
    EXPECT_EQ(of(sum_text("int64", "x.0", "[0]", ""), {{"x.0", 100000}}), "y: lanes2 serial\n");
    EXPECT_EQ(of(sum_text("float64", "x.0, x.1", "[0, 1]", ""), {{"x.0", 200'000'000}, {"x.1", 10}}), "y: lanes4\n");
    EXPECT_EQ(of(kSoftmax, {{"A.0", 2}, {"A.1", 60}, {"B.1", 64}}),
              "z: loops blas\nmax: narrow1 lanes1 serial\nsum: narrow1 lanes1\n");
    EXPECT_EQ(of(kSoftmax, {{"A.0", 2}, {"A.1", 64}, {"B.1", 64}}),
              "z: blas loops\nmax: narrow1 lanes1 serial\nsum: narrow1 lanes1\n");
    TranslateOptions reproducible;
    reproducible.contract = "reproducible";
    EXPECT_EQ(variants(read_program(kSoftmax), reproducible)[0].options, std::vector<std::string>{"loops"});
}

TEST(Translate, SearchesAmongComputedTermsRunOneByOneForManyResults) {
    auto of = [](const std::string& terms, std::int64_t queries, std::int64_t points) {
        TranslateOptions options;
        options.sizes_here = {{"q.0", queries}, {"p.0", points}};
        return variant_text(variants(read_program("tilewright-program 1\nfunction f\n"
                                                  "arg q: float64[q.0, 1]\n"
                                                  "arg p: float64[p.0]\n"
                                                  "arg m: float64[q.0, p.0]\n"
                                                  "guard p.0 >= 1 \"empty\"\n"
                                                  "d: float64[q.0, p.0] = subtract(q, p)\n" +
                                                  terms),
                                     options));
    };
    const std::string nearest = "%1: float64[q.0, p.0] = absolute(d)\ny: int64[q.0] = argmin(%1) {axis=1}\nreturn y\n";
    EXPECT_EQ(of(nearest, 4000, 3000), "y: serial lanes1\n");
    EXPECT_EQ(of("y: float64[q.0] = max(d) {axes=[1]}\nreturn y\n", 4000, 3000), "y: serial lanes1\n");
    // What is no result has a loop to itself, and its terms lie in memory.
    EXPECT_EQ(of("%1: float64[q.0] = max(d) {axes=[1]}\nz: float64[q.0] = sqrt(%1)\nreturn z\n", 4000, 3000),
              "max: lanes1 serial\n");
    // Few results have no vectors for all cores.
    EXPECT_EQ(of(nearest, 60, 3000), "y: lanes1 serial\n");
    // Elements of a matrix lie beside each other along its rows, and so do terms that somebody else reads too.
    EXPECT_EQ(of("y: int64[q.0] = argmin(m) {axis=1}\nreturn y\n", 4000, 3000), "y: lanes1 serial\n");
    EXPECT_EQ(of("%1: float64[q.0, p.0] = multiply(d, m)\ny: int64[q.0] = argmin(%1) {axis=1}\nreturn y\n", 4000, 3000),
              "y: lanes1 serial\n");
    EXPECT_EQ(of("y: int64[q.0] = argmin(d) {axis=1}\nreturn (y, d)\n", 4000, 3000), "y: lanes1 serial\n");
}

TEST(Translate, LayoutDecidesWhatIsContiguous) {
    TranslateOptions options;
    options.sizes_here = {{"x.0", 1000}, {"x.1", 1000}};
    options.layouts = {{"x", Layout::f}};
    EXPECT_EQ(variant_text(variants(read_program(sum_text("float32", "x.0, x.1", "[0]", "x.1")), options)),
              "y: lanes1\n");
    EXPECT_EQ(variant_text(variants(read_program(sum_text("float32", "x.0, x.1", "[1]", "x.0")), options)),
              "y: serial rows\n");
}

TEST(Translate, LanesAreStagesWithAFixedOrder) {
    TranslateOptions options;
    options.sizes_here = {{"x.0", 5000}, {"x.1", 20}};
    dsl::Algorithm algorithm = translate(read_program(sum_text("float32", "x.0, x.1", "[0, 1]", "")), options);
    const std::string blocks = "(x.0 * x.1 + 1023) // 1024";
    EXPECT_EQ(describe(algorithm.info()), "y_lanes: b<" + blocks +
                                              "=98> u<64=64>\n"
                                              "  update: b<" +
                                              blocks +
                                              "=98> u<64=64> r<16=16>!\n"
                                              "  update: b<" +
                                              blocks +
                                              "=98> u<64=64> r<1=1>!\n"
                                              "y_block: b<" +
                                              blocks +
                                              "=98>\n"
                                              "y_lanes2: u<64=64>\n"
                                              "  update: u<64=64> r<" +
                                              blocks +
                                              " // 64=1>!\n"
                                              "  update: u<64=64> r<1=1>!\n"
                                              "y (output): \n");
    const std::string body = runtime::print_body(algorithm.impl().plan.versions[0]);
    EXPECT_EQ(body.substr(0, body.find('\n')), "require x.0 * x.1 <= 1048576");
    EXPECT_EQ(algorithm.info().stages[0].part, dsl::StagePart::lanes);
    EXPECT_EQ(algorithm.info().stages[1].part, dsl::StagePart::block);
}

TEST(Translate, LibraryProductsCutThePlan) {
    TranslateOptions options;
    options.variant = {{"z", "blas"}};
    dsl::Algorithm algorithm = translate(read_program(kSoftmax), options);
    EXPECT_EQ(runtime::print_body(algorithm.impl().plan.versions[0]),
              "require B.1 <= 1073741824\nrequire layout A C\nrequire layout B C\ntemp z float32 [A.0, B.1]\n"
              "library matmul (A, B, z)\n"
              "call softmax_k0 in \"softmax_k0\" (A.0, A.1, B.1, z, result)\n");
    // A library takes any strides: it needs a copy only of what is no whole array.
    options.layouts = {{"A", Layout::any}};
    EXPECT_EQ(runtime::print_body(translate(read_program(kSoftmax), options).impl().plan.versions[0]),
              "require B.1 <= 1073741824\nrequire layout B C\ntemp z float32 [A.0, B.1]\nlibrary matmul (A, B, z)\n"
              "call softmax_k0 in \"softmax_k0\" (A.0, A.1, B.1, z, result)\n");
    std::string sliced = kSoftmax;
    const std::string product = "z: float32[A.0, B.1] = matmul(A, B) @2\n";
    sliced.replace(sliced.find(product), product.size(),
                   "%0: float32[A.0, A.1] = index(A) {index=[A.0 - 1:-1, 0:1]} @2\n"
                   "z: float32[A.0, B.1] = matmul(%0, B) @2\n");
    dsl::Algorithm copied = translate(read_program(sliced), options);
    EXPECT_EQ(runtime::print_body(copied.impl().plan.versions[0]),
              "require B.1 <= 1073741824\nrequire layout B C\ntemp z_a float32 [A.0, A.1]\ntemp z float32 [A.0, B.1]\n"
              "call softmax_k0 in \"softmax_k0\" (A.0, A.1, B.1, A, z_a)\n"
              "library matmul (z_a, B, z)\n"
              "call softmax_k1 in \"softmax_k1\" (A.0, A.1, B.1, z, result)\n");
    ASSERT_EQ(copied.impl().kernels.size(), 2U);
    EXPECT_EQ(copied.impl().kernels[1].argument_names, (std::vector<std::string>{"A.0", "A.1", "B.1", "z"}));
    EXPECT_EQ(copied.impl().kernels[1].output_names, std::vector<std::string>{"result"});
}

TEST(Translate, StacksOfMatricesAreCutIntoParts) {
    const auto slices = [](const std::string& types, const std::string& product) {
        const std::string header = runtime::print_header(
            translate(read_program("tilewright-program 1\nfunction f\n" + types + product + "return C\n"), {})
                .impl()
                .plan);
        const std::size_t at = header.find("slices");
        return at == std::string::npos ? "" : header.substr(at, header.find('\n', at) - at);
    };
    EXPECT_EQ(slices("arg A: float64[A.0, A.1, A.2]\narg B: float64[A.2, B.1]\n",
                     "C: float64[A.0, A.1, B.1] = matmul(A, B)\n"),
              "slices (A)");
    EXPECT_EQ(slices("arg A: float64[A.0, A.1, A.2]\narg B: float64[A.0, A.2, B.2]\n",
                     "C: float64[A.0, A.1, B.2] = matmul(A, B)\n"),
              "slices (A, B)");
    // Rows of the left matrices of a stack.
    EXPECT_EQ(slices("arg A: float64[A.0, A.1]\narg B: float64[B.0, A.1, B.2]\n",
                     "%1: float64[B.0, A.0, B.2] = matmul(A, B)\n"
                     "C: float64[A.0, B.0, B.2] = transpose(%1) {axes=[1, 0, 2]}\n"),
              "slices (A)");
    EXPECT_EQ(slices("arg A: float64[A.0, A.1, A.2]\narg B: float64[A.0, B.1]\n",
                     "%1: float64[A.1, A.2, A.0] = transpose(A) {axes=[1, 2, 0]}\n"
                     "C: float64[A.1, A.2, B.1] = matmul(%1, B)\n"),
              "");
}

TEST(Translate, LibrariesTakeViewsOfArrays) {
    TranslateOptions options;
    options.variant = {{"C", "blas"}, {"D", "blas"}};
    dsl::Algorithm algorithm =
        translate(read_program("tilewright-program 1\nfunction f\n"
                               "arg A: float64[A.0, A.1, A.2]\narg B: float64[B.0, A.1, A.2]\n"
                               "%1: float64[A.0, 1, A.1, A.2] = index(A) {index=[0:1, newaxis, 0:1, 0:1]}\n"
                               "%2: float64[B.0, A.2, A.1] = transpose(B) {axes=[0, 2, 1]}\n"
                               "C: float64[A.0, B.0, A.1, A.1] = matmul(%1, %2)\n"
                               "%3: float64[B.0, A.2, A.1] = add(%2, %2)\n"
                               "%4: float64[B.0, A.1, A.2] = transpose(%3) {axes=[0, 2, 1]}\n"
                               "D: float64[B.0, A.2, A.2] = matmul(%3, %4)\n"
                               "return (C, D)\n"),
                  options);
    EXPECT_EQ(runtime::print_body(algorithm.impl().plan.versions[0]),
              "require layout A C\nrequire layout B C\ntemp D_a float64 [B.0, A.2, A.1]\n"
              "library matmul (A^0n12, B^021, C)\n"
              "call f_k0 in \"f_k0\" (A.0, A.1, A.2, B.0, B, D_a)\n"
              "library matmul (D_a, D_a^021, D)\n");
}

TEST(Translate, TheSameProgramGivesTheSameNamesEachTime) {
    for (int round = 0; round < 3; ++round) {
        dsl::Algorithm algorithm = translate(read_program(kKMeans), {});
        EXPECT_EQ(algorithm.impl().stages.at("argmin").func.name(), "argmin");
    }
}

TEST(Translate, UnknownOptionsAreErrors) {
    auto error_of = [](const std::map<std::string, std::string>& variant) -> std::string {
        try {
            translate(read_program(kKMeans), {variant, {}, {}, "numpy"});
        } catch (const TranslateError& error) {
            return error.what();
        }
        return "no error";
    };
    EXPECT_EQ(
        error_of({{"norm", "inline"}}),
        "kmeans.py:8: norm = sum(%3) {axes=[2]}: variant norm = inline: no such option here. Take one of: lanes3.");
    EXPECT_EQ(error_of({{"nrom", "serial"}}),
              "get_labels: variant nrom = serial: the program has no such choice. Remove it.");
    EXPECT_EQ(error_of({{"norm", "lanes2"}}), "no error");
}

TEST(Translate, OptionsWithoutVerbAreKept) {
    dsl::Algorithm algorithm = translate(read_program(kKMeans), {{{"norm", "serial"}}, {}, {}, "numpy"});
    EXPECT_EQ(algorithm.info().variant, (std::map<std::string, std::string>{{"norm", "serial"}, {"argmin", "serial"}}));
}

} // namespace
