// tests/autotune/test_default_space.cpp: what the rules of the default space promise, and that every point of it is
// legal for the program it was made for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "autotune/space/default_space.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/space.h"
#include "space_programs.h"
#include "translator/ir/program.h"
#include "translator/translate.h"

namespace tilewright::autotune {
namespace {

using testing::HasSubstr;
using testing::Not;

using Sizes = std::map<std::string, std::int64_t>;

Machine machine_of(const std::string& isa, int cores) {
    Machine machine;
    machine.isa = isa;
    machine.cores = cores;
    return machine;
}

translator::TranslateOptions at(const Sizes& sizes) {
    translator::TranslateOptions options;
    options.sizes_here = sizes;
    return options;
}

dsl::Algorithm translated(const std::string& program, const translator::TranslateOptions& options) {
    return translator::translate(translator::read_program(program), options);
}

std::string space_of(const std::string& program, const Sizes& sizes, int cores = 8) {
    return dsl::print_schedule(default_space(translated(program, at(sizes)).info(), machine_of("x86-64-v3", cores)));
}

const Sizes kManyPoints{{"X.0", 1'000'000}, {"X.1", 2}, {"means.0", 3}};

TEST(DefaultSpace, ARootOfOneLoopIsSharedOutInTilesAndVectorized) {
    const std::string many = space_of(kExp, {{"x.0", 10'000'000}});
    EXPECT_THAT(many, HasSubstr("\ny.split(i, io, ii, ?y_tile{"));
    EXPECT_THAT(many, HasSubstr(").parallel(io).split(ii, iv, ix, ?y_vec{8, "));
    EXPECT_THAT(many, HasSubstr(").vectorize(ix)\n"));
    // One core, or too little work to wake another one: vectors alone.
    for (const std::string& few : {space_of(kExp, {{"x.0", 10'000'000}}, 1), space_of(kExp, {{"x.0", 100}})}) {
        EXPECT_THAT(few, HasSubstr("\ny.split(i, iv, ix, ?y_vec{8, ")) << few;
        EXPECT_THAT(few, Not(HasSubstr("parallel"))) << few;
    }
    EXPECT_THAT(space_of(kExp, {{"x.0", 1}}), Not(HasSubstr("vectorize")));
}

TEST(DefaultSpace, ATileHoldsAtLeastOneVector) {
    const std::string text = space_of(kColumnSums, {{"x.0", 100'000}, {"x.1", 64}});
    EXPECT_THAT(text, HasSubstr("\nwhere ?sum_tile >= ?sum_vec\n"));
    // Too few elements for a vector of the machine, however much each costs: a narrower one, and no tiles.
    EXPECT_THAT(space_of(kColumnSums, {{"x.0", 100'000'000}, {"x.1", 3}}), Not(HasSubstr("sum_tile")));
    EXPECT_THAT(space_of(kColumnSums, {{"x.0", 100'000'000}, {"x.1", 3}}), HasSubstr("?sum_vec{2}"));
}

TEST(DefaultSpace, ChainsOfElementaryFunctionsTakeTwoVectorsAtATime) {
    EXPECT_THAT(space_of(kExp, {{"x.0", 10'000'000}}), HasSubstr("?y_vec{8, 4, 16"));
    EXPECT_THAT(space_of(kLaplace, {{"x.0", 2000}, {"x.1", 2000}}), HasSubstr("?y_vec{4, 2, 8"));
    // The terms of a reduction are no chain.
    EXPECT_THAT(space_of(kKmeans, kManyPoints), HasSubstr("?argmin_vec{4, 2, 8"));
}

TEST(DefaultSpace, ARootOfRowsSharesThemOutAndVectorizesTheContiguousAxis) {
    const std::string text = space_of(kLaplace, {{"x.0", 2000}, {"x.1", 2000}});
    EXPECT_THAT(text, HasSubstr("\ny.split(i, io, ii, ?y_rows{"));
    EXPECT_THAT(text, HasSubstr(").parallel(io).split(j, jv, jx, ?y_vec{"));
    // Rows too few for the cores are fused with the next axis.
    EXPECT_THAT(space_of(kReadByAnUpdate, {{"a.0", 3}, {"a.1", 2000}}), HasSubstr("y.fuse(j, i, ij)"));
}

TEST(DefaultSpace, VectorsGoAcrossRowsThatAreTooShortForOne) {
    const std::string many = space_of(kScaledRows, {{"x.0", 1'000'000}, {"x.1", 3}});
    EXPECT_THAT(many, HasSubstr("\ny.split(i, io, ii, ?y_rows{"));
    EXPECT_THAT(many, HasSubstr(").parallel(io).split(ii, iv, ix, ?y_vec{4, "));
    EXPECT_THAT(many, HasSubstr(").vectorize(ix).reorder(ix, j, iv, io)\n"));
    EXPECT_THAT(many, HasSubstr("\nwhere ?y_rows >= ?y_vec\n"));
    // Of a known length, rows are loaded without gaps.
    EXPECT_THAT(many, HasSubstr("\nchoose { y.specialize(extent(j) == 3) { unroll(j) } | }\n"));
    EXPECT_THAT(space_of(kScaledRows, {{"x.0", 100}, {"x.1", 1}}), HasSubstr(".vectorize(ix).reorder(ix, j, iv)\n"));
    // Rows that fill a vector, and too few rows for one.
    EXPECT_THAT(space_of(kScaledRows, {{"x.0", 100}, {"x.1", 8}}), HasSubstr(".vectorize(jx)\n"));
    EXPECT_THAT(space_of(kScaledRows, {{"x.0", 3}, {"x.1", 3}}), HasSubstr(".vectorize(jx)\n"));
}

TEST(DefaultSpace, TasksShareOutTheAxisThatVectorsGoAlongWhereTheOthersAreShort) {
    EXPECT_THAT(space_of(kScaledColours, {{"x.0", 2}, {"x.1", 1'000'000}, {"x.2", 3}}),
                HasSubstr(").vectorize(jx).reorder(jx, k, jv, i, jo)\n"));
    const std::string picture = space_of(kScaledColours, {{"x.0", 1000}, {"x.1", 1000}, {"x.2", 3}});
    EXPECT_THAT(picture, HasSubstr("\ny.split(i, io, ii, ?y_rows{"));
    EXPECT_THAT(picture, HasSubstr(").vectorize(jx).reorder(jx, k, jv)\n"));
    // Stacks of small matrices: their places are too few for a vector.
    EXPECT_THAT(space_of(kScaledColours, {{"x.0", 1000}, {"x.1", 3}, {"x.2", 3}}, 1),
                HasSubstr(").vectorize(ix).reorder(ix, k, j, iv)\n"));
}

TEST(DefaultSpace, ASumOfAShortRowRunsForTheVectorThatGoesAcrossIt) {
    const std::string text = space_of(kUnitRows, {{"x.0", 1'000'000}, {"x.1", 3}});
    EXPECT_THAT(text, HasSubstr("\nsum.compute_at(y, iv).vectorize(i, ?y_vec)\n"
                                "sum.update(0).reorder(i, r).vectorize(i, ?y_vec)\n"));
    // Rows that lie far apart, where vectors along the results would do as well.
    EXPECT_THAT(space_of(kSumOfProducts, {{"a.0", 1000}, {"a.1", 30}, {"b.1", 4}}), HasSubstr(".reorder(ix, j, iv"));
    EXPECT_THAT(space_of(kSumOfProducts, {{"a.0", 1000}, {"a.1", 300}, {"b.1", 4}}), Not(HasSubstr("vectorize(ix)")));
}

TEST(DefaultSpace, AColumnThatIsWrittenIntoAnArrayHasNoVectors) {
    const std::string text = space_of(kWrittenRows, {{"x.0", 1000}, {"x.1", 3}}, 1);
    // The products lie in the array that is written.
    EXPECT_THAT(text, HasSubstr("\nx_2.split(i, iv, ix, ?x_2_vec{4, "));
    // The loops of the column stay as they are: no statement has its stage.
    EXPECT_THAT(text, Not(HasSubstr("x_2.update")));
}

TEST(DefaultSpace, VectorsAreNoWiderThanTheAxisOfACallThatIsTuned) {
    const Sizes pairs{{"x.0", 2000}, {"x.1", 6}};
    EXPECT_THAT(space_of(kLaplace, pairs), HasSubstr("?y_vec{4, 2}"));
    // A version for other calls too is as narrow, but asks for no elements.
    const auto info = translated(kLaplace, at(pairs)).info();
    EXPECT_THAT(dsl::print_schedule(default_schedule(info, machine_of("x86-64-v4", 8), Widths::of_machine)),
                HasSubstr("jx, 4, guard_with_if)"));
}

TEST(DefaultSpace, AReductionRunsInsideItsReadersReduction) {
    const std::string text = space_of(kKmeans, kManyPoints);
    EXPECT_THAT(text, HasSubstr("\nargmin_best.compute_at(argmin, iv).vectorize(i, ?argmin_vec)\n"
                                "argmin_best.update(0).reorder(i, r).vectorize(i, ?argmin_vec)\n"));
    EXPECT_THAT(text, HasSubstr("\nnorm.compute_at(argmin_best, r).vectorize(j, ?argmin_vec)\n"
                                "norm.update(0).reorder(j, r).vectorize(j, ?argmin_vec)\n"));
}

TEST(DefaultSpace, SumsOfSeveralRowsRunSideBySide) {
    const std::string text = space_of(kSumOfProducts, {{"a.0", 100}, {"a.1", 30}, {"b.1", 8}}, 1);
    EXPECT_THAT(text,
                HasSubstr("\nsum.split(i, ig, iu, ?sum_group{8, 1, 2, 3, 4, 6, 12}).split(j, jv, jx, ?sum_vec{8, 4})"
                          ".vectorize(jx).reorder(jx, iu, jv, ig)\n"));
    EXPECT_THAT(text, HasSubstr("\nsum_all.compute_at(sum, jv).vectorize(j, ?sum_vec).unroll(i, ?sum_group)\n"));
    EXPECT_THAT(text, HasSubstr("\nsum_all.update(0).reorder(j, i, r).vectorize(j, ?sum_vec).unroll(i, ?sum_group)\n"));
    EXPECT_THAT(space_of(kSumOfProducts, {{"a.0", 1}, {"a.1", 30}, {"b.1", 8}}), Not(HasSubstr("_group")));
}

TEST(DefaultSpace, BetweenStepsOfOneThreadSmallArraysAreOneTask) {
    const Sizes small{{"A.0", 150}, {"A.1", 150}, {"k", 10}}, large{{"A.0", 2000}, {"A.1", 2000}, {"k", 10}};
    const std::string one_task = ", guard_with_if).parallel(io)";
    EXPECT_THAT(space_of(kSteps, small), HasSubstr(one_task));
    EXPECT_THAT(space_of(kSteps, large), HasSubstr(").parallel(io)"));
    EXPECT_THAT(space_of(kSteps, large), Not(HasSubstr("guard_with_if")));
}

TEST(DefaultSpace, WhatIsTheSameForEveryElementIsComputedOnce) {
    EXPECT_THAT(space_of(kTable, {{"X.0", 1'000'000}, {"m.0", 50}, {"m.1", 20}}), HasSubstr("\nw.compute_root()\n"));
}

TEST(DefaultSpace, AShortReducedAxisMayHaveALoopOfItsLength) {
    EXPECT_THAT(space_of(kKmeans, kManyPoints),
                HasSubstr("choose { norm.update(0).specialize(extent(r) == 2) { unroll(r) } | }"));
    EXPECT_THAT(space_of(kKmeans, {{"X.0", 1'000'000}, {"X.1", 8}, {"means.0", 3}}), HasSubstr("extent(r) == 8"));
    EXPECT_THAT(space_of(kKmeans, {{"X.0", 1'000'000}, {"X.1", 9}, {"means.0", 30}}), Not(HasSubstr("specialize")));
}

TEST(DefaultSpace, AnAxisThatIsPartOfASizeHasNone) {
    EXPECT_THAT(space_of(kHalfAnAxis, {{"a.0", 13}, {"a.1", 700}}), Not(HasSubstr("specialize")));
}

TEST(DefaultSpace, WhatARowReadsAgainIsKeptForTheRow) {
    const std::string text = space_of(kSoftmax, {{"x.0", 4096}, {"x.1", 4096}});
    EXPECT_THAT(text, HasSubstr("choose { e.compute_at(divide, ii).vectorize(j, ?e_vec{"));
    // Their lanes are computed inside of them, so they are not inlined.
    EXPECT_THAT(text, HasSubstr("\nmax.compute_at(divide, ii)\nmax_lanes.compute_at(max, i).vectorize(u, "
                                "?max_lanes_vec{8, 16, 32, 64})\n"));
    EXPECT_THAT(
        text,
        HasSubstr("\nsum.compute_at(divide, ii)\nsum_lanes2.compute_at(sum, i).vectorize(u, ?sum_lanes2_vec{8, 16, 32, "
                  "64})\n"));
}

TEST(DefaultSpace, CheapStagesAreInlinedAndDearOnesMayBeKept) {
    // Halide inlines what no line names.
    EXPECT_THAT(space_of(kLaplace, {{"x.0", 2000}, {"x.1", 2000}}), Not(HasSubstr("compute_")));
    EXPECT_THAT(space_of(kTwice, {{"x.0", 500}}),
                HasSubstr("choose { e.inline() | e.compute_at(y, iv).vectorize(i, ?y_vec) }"));
    EXPECT_THAT(space_of(kTwice, {{"x.0", 1'000'000}}), HasSubstr("choose { e.compute_at(y, io).vectorize(i, "));
}

TEST(DefaultSpace, StepsOfAStencilThatVectorsWouldRepeatAreInlined) {
    const Sizes many{{"u.0", 2000}, {"u.1", 2000}};
    const std::string text = space_of(kStencilSteps, many);
    EXPECT_THAT(text, HasSubstr("choose { step.inline() | step.compute_at(y, jv)"));
    // Where each reads one place of it, it is computed once, and twelve roots are too dear to be computed four times.
    std::string once = kStencilSteps, dear = kStencilSteps;
    once.replace(once.find("index=[1:1, 0:1]}\nup"), 16, "index=[0:1, 0:1]");
    EXPECT_THAT(space_of(once, many), HasSubstr("choose { step.compute_at(y, jv)"));
    std::string roots;
    for (int k = 10; k < 22; ++k)
        roots += "%" + std::to_string(k) + ": float64[u.0 - 2, u.1] = sqrt(%" +
                 (k == 10 ? "6" : std::to_string(k - 1)) + ")\n";
    dear.replace(dear.find("step: "), 0, roots);
    dear.replace(dear.find("multiply(%6, %6)"), 16, "multiply(%21, %6)");
    EXPECT_THAT(space_of(dear, many), HasSubstr("choose { step.compute_at(y, io)"));
}

TEST(DefaultSpace, DearStepsOfAStencilAreKeptForATask) {
    EXPECT_THAT(space_of(kDearFluxes, {{"u.0", 2000}, {"u.1", 2000}}),
                HasSubstr("choose { flux.compute_at(y, io).vectorize(j, "));
    // Without tasks, with few rows in one, and with more in one than L2 holds, in the expressions.
    for (const Sizes& sizes :
         {Sizes{{"u.0", 20}, {"u.1", 20}}, Sizes{{"u.0", 40}, {"u.1", 2000}}, Sizes{{"u.0", 2000}, {"u.1", 200'000}}})
        EXPECT_THAT(space_of(kDearFluxes, sizes), Not(HasSubstr("flux.compute_at(y, io)"))) << sizes.at("u.0");
    // Of a step of four operations, and of one that is read at one place, there is little to save.
    EXPECT_THAT(space_of(kStencilSteps, {{"u.0", 2000}, {"u.1", 2000}}), Not(HasSubstr("compute_at(y, io)")));
    std::string once = kDearFluxes;
    once.replace(once.find("index=[1:1, 0:1]}\ny"), 16, "index=[0:1, 0:1]");
    EXPECT_THAT(space_of(once, {{"u.0", 2000}, {"u.1", 2000}}), Not(HasSubstr("compute_at(y, io)")));
}

TEST(DefaultSpace, VectorsOfHalfACacheLineAreForStencilsOfLittleWork) {
    const auto schedule_of = [](const std::string& step, const std::string& result) {
        const dsl::AlgorithmInfo info =
            translated("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\nguard x.1 >= 4 \"columns\"\n"
                       "%1: float64[x.0, x.1 - 2] = index(x) {index=[0:1, 0:1]}\n"
                       "%2: float64[x.0, x.1 - 2] = index(x) {index=[0:1, 1:1]}\n"
                       "%3: float64[x.0, x.1 - 2] = index(x) {index=[0:1, 2:1]}\n"
                       "%4: float64[x.0, x.1 - 2] = multiply(%1, %2)\n" +
                           step + result + "return y\n",
                       at({{"x.0", 2000}, {"x.1", 2000}}))
                .info();
        return dsl::print_schedule(default_schedule(info, machine_of("x86-64-v4", 8)));
    };
    EXPECT_THAT(schedule_of("", "y: float64[x.0, x.1 - 2] = add(%4, %3)\n"), HasSubstr("split(j, jv, jx, 4)"));
    // A step that is computed for three places of each element.
    EXPECT_THAT(schedule_of("%5: float64[x.0, x.1 - 2] = multiply(%4, %3)\n%6: float64[x.0, x.1 - 2] = add(%5, %1)\n"
                            "%7: float64[x.0, x.1 - 2] = add(%6, %2)\n%8: float64[x.0, x.1 - 2] = add(%7, %3)\n"
                            "d: float64[x.0, x.1 - 2] = multiply(%8, %8)\n"
                            "%9: float64[x.0, x.1 - 4] = index(d) {index=[0:1, 0:1]}\n"
                            "%10: float64[x.0, x.1 - 4] = index(d) {index=[0:1, 1:1]}\n"
                            "%11: float64[x.0, x.1 - 4] = index(d) {index=[0:1, 2:1]}\n",
                            "%12: float64[x.0, x.1 - 4] = add(%9, %10)\ny: float64[x.0, x.1 - 4] = add(%12, %11)\n"),
                HasSubstr("split(j, jv, jx, 8)"));
}

TEST(DefaultSpace, ALongSearchOneByOneTakesTwoVectorsAtATime) {
    const std::string text = space_of(kNearest, {{"q.0", 4000}, {"p.0", 3000}});
    EXPECT_THAT(text, HasSubstr("?nearest_vec{8, 4, 16"));
    EXPECT_THAT(text, HasSubstr("\nnearest_best.compute_at(nearest, iv).vectorize(i, ?nearest_vec)\n"));
    EXPECT_THAT(text, HasSubstr("\nd.compute_at(nearest_best, r).vectorize(i, ?nearest_vec)\n"));
    EXPECT_THAT(space_of(kNearest, {{"q.0", 4000}, {"p.0", 5}}), HasSubstr("?nearest_vec{4, 2, 8"));
}

TEST(DefaultSpace, BlocksOfASumAreSharedOutAndItsLanesAreVectors) {
    const std::string text = space_of(kTotal, {{"x.0", 10'000'000}});
    EXPECT_THAT(text, HasSubstr("\nsum_block.compute_root()\nsum_block.split(b, bo, bi, ?sum_block_tile{"));
    // Native vectors first, each with a separate accumulator.
    EXPECT_THAT(
        text,
        HasSubstr(").parallel(bo)\nsum_lanes.compute_at(sum_block, bi).vectorize(u, ?sum_lanes_vec{4, 8, 16, 32})\n"));
    // Rows of a block stay a loop, and so do blocks: copies of either are compile time alone.
    EXPECT_THAT(text, HasSubstr("\nsum_lanes.update(0).reorder(u, r).vectorize(u, ?sum_lanes_vec).unroll(u)\n"
                                "sum_lanes.update(1).reorder(u, r).vectorize(u, ?sum_lanes_vec)\n"
                                "sum_block.partition(bi, never)\n"));
    EXPECT_THAT(space_of(kColumnSums, {{"x.0", 100'000}, {"x.1", 64}}),
                HasSubstr("\nsum_rows.compute_root()\nsum_rows.split(b, bo, bi, "));
}

TEST(DefaultSpace, ColumnsOfALargeMatrixAreAddedUpAlongItsRows) {
    const std::string large = space_of(kColumnSums, {{"x.0", 500}, {"x.1", 4000}});
    EXPECT_THAT(large, HasSubstr("\nsum.split(i, io, ii, ?sum_tile{504, "));
    EXPECT_THAT(large, HasSubstr("\nsum_all.compute_at(sum, io).vectorize(i, ?sum_all_vec{"));
    EXPECT_THAT(
        large,
        HasSubstr(".split(r, ro, ri, ?sum_all_rows{8, 1, 2, 4}).reorder(ix, ri, iv, ro).vectorize(ix).unroll(ri)"));
    // What a cache holds, or a few columns: a vector of sums in registers.
    for (const auto& [rows, columns] : {std::pair{40, 400}, std::pair{500, 40}})
        EXPECT_THAT(space_of(kColumnSums, {{"x.0", rows}, {"x.1", columns}}),
                    HasSubstr("\nsum_all.compute_at(sum, iv)"));
}

TEST(DefaultSpace, BlocksOfRowsOfOneVectorKeepTheirSumsInRegisters) {
    // A sum is loaded and stored once for eight rows.
    const std::string by_rows = "sum_rows.update(0).split(i, iv, ix, ?sum_rows_vec)"
                                ".split(r, ro, ri, ?sum_rows_at_once{8, 1, 2, 4})"
                                ".reorder(ix, ri, iv, ro).vectorize(ix).unroll(ri).parallel(b)";
    const std::string by_columns = "sum_rows.update(0).reorder(r, i).vectorize(i, ?sum_rows_vec).parallel(b)";
    EXPECT_THAT(space_of(kColumnSums, {{"x.0", 100'000}, {"x.1", 64}}),
                HasSubstr("\nchoose {\n    " + by_rows + "\n|\n    " + by_columns + "\n}\n"));
    EXPECT_THAT(space_of(kColumnSums, {{"x.0", 100'000}, {"x.1", 4}}),
                HasSubstr("\nchoose {\n    " + by_columns + "\n|\n    " + by_rows + "\n}\n"));
}

TEST(DefaultSpace, AMatrixThatNoCacheHoldsIsReadOnceForTwoSums) {
    const auto of = [](std::int64_t rows, std::int64_t columns, int cores = 2) {
        return space_of(kWeighedRows, {{"X.0", rows}, {"X.1", columns}}, cores);
    };
    EXPECT_THAT(of(4000, 5000), HasSubstr("\np.compute_at(total_rows, ro)\ndot.compute_at(p, i)\n"));
    EXPECT_THAT(of(4000, 5000), Not(HasSubstr("reorder(r, i)")));
    // Few columns, few blocks for the cores, more than a cache holds, less than it holds.
    for (const std::string& text : {of(100'000, 40), of(500, 5000), of(4000, 5000, 64), of(4000, 50'000), of(400, 300)})
        EXPECT_THAT(text, Not(HasSubstr("compute_at(total_rows"))) << text;
    // What others read as well is computed for all.
    std::string shared = kWeighedRows;
    shared.replace(shared.find("return total"), 12, "mean: float64[] = sum(p) {axes=[0]}\nreturn (total, mean)");
    EXPECT_THAT(space_of(shared, {{"X.0", 4000}, {"X.1", 5000}}, 2), Not(HasSubstr("compute_at(total_rows")));
}

TEST(DefaultSpace, WhatAnUpdateOfARootReadsStaysOutsideOfLoopsThatItLacks) {
    EXPECT_THAT(space_of(kReadByAnUpdate, {{"a.0", 5}, {"a.1", 300}}), HasSubstr("\nprod.compute_root()\n"));
    EXPECT_THAT(space_of(kStdIntoParts, {{"a.0", 31}, {"a.1", 300}}), HasSubstr("\nstd.compute_root()\n"));
}

TEST(DefaultSpace, WhatNoCacheHoldsMayBeFetchedAheadAndWrittenPastThem) {
    const std::string kmeans = space_of(kKmeans, kManyPoints);
    EXPECT_THAT(kmeans, HasSubstr("choose { argmin.prefetch_lines(io, ?argmin_ahead{4096, 1024, 2048, 8192}) | }\n"));
    EXPECT_THAT(kmeans, HasSubstr("choose { argmin.store_nontemporal(4194304) | }\n"));
    // 4 MiB and more, of arguments and of results each on their own.
    EXPECT_THAT(space_of(kLaplace, {{"x.0", 700}, {"x.1", 700}}), Not(HasSubstr("nontemporal")));
    const std::string total = space_of(kTotal, {{"x.0", 10'000'000}});
    EXPECT_THAT(total, HasSubstr("choose { sum_block.prefetch_lines(bo, "));
    EXPECT_THAT(total, Not(HasSubstr("nontemporal")));
    EXPECT_THAT(space_of(kTotal, {{"x.0", 100'000}}), Not(HasSubstr("prefetch_lines")));
}

TEST(DefaultSpace, AResultThatTheKernelReadsAgainIsNotWrittenPastTheCaches) {
    const std::string text = space_of(kTwoResults, {{"x.0", 10'000'000}});
    EXPECT_THAT(text, Not(HasSubstr("v.store_nontemporal")));
    EXPECT_THAT(text, HasSubstr("choose { w.store_nontemporal(4194304) | }\n"));
}

TEST(DefaultSpace, TheDefaultScheduleIsItsFirstPoint) {
    const dsl::Algorithm algorithm = translated(kKmeans, at(kManyPoints));
    const Machine machine = machine_of("x86-64-v3", 8);
    const dsl::Space space(default_space(algorithm.info(), machine));
    EXPECT_EQ(dsl::print_schedule(default_schedule(algorithm.info(), machine)),
              dsl::print_schedule(space.at(space.first_point())));
}

/// Every point of the space, or `limit` drawn ones where there are more.
std::vector<dsl::Point> points_of(const dsl::Space& space, const dsl::Environment& environment, std::size_t limit) {
    std::vector<dsl::Point> open{{}}, done;
    std::size_t whole = 0;
    while (!open.empty() && whole <= limit) {
        dsl::Point point = open.back();
        open.pop_back();
        const auto decisions = space.active(point);
        auto next = std::find_if(decisions.begin(), decisions.end(), [&](const auto& d) { return !point.count(d.id); });
        if (next == decisions.end()) {
            ++whole;
            if (!space.violated(point, environment)) done.push_back(point);
            continue;
        }
        for (std::size_t option = 0; option < next->options.size(); ++option) {
            point[next->id] = static_cast<int>(option);
            open.push_back(point);
        }
    }
    if (whole <= limit) return done;
    std::mt19937_64 rng(7);
    done = {space.first_point()};
    while (done.size() < limit)
        done.push_back(space.random_point(rng, environment).value());
    return done;
}

struct Legal {
    const char* name;
    const char* program;
    std::vector<Sizes> sizes;
};

class EveryPoint : public testing::TestWithParam<Legal> {};

TEST_P(EveryPoint, ChecksAndApplies) {
    const translator::Program program = translator::read_program(GetParam().program);
    std::size_t tried = 0;
    for (const Sizes& sizes : GetParam().sizes)
        for (const auto& [isa, cores] : {std::pair{"x86-64", 1}, {"x86-64-v3", 8}, {"x86-64-v4", 2}}) {
            std::vector<translator::TranslateOptions> all{at(sizes)};
            for (const translator::VariantInfo& variant : translator::variants(program, at(sizes)))
                for (const std::string& option : variant.options) {
                    all.push_back(at(sizes));
                    all.back().variant[variant.name] = option;
                }
            for (const translator::TranslateOptions& options : all) {
                const dsl::AlgorithmInfo info = translator::translate(program, options).info();
                const Machine machine = machine_of(isa, cores);
                const dsl::Space space(default_space(info, machine));
                const auto points = points_of(space, make_environment(info, machine), 40);
                ASSERT_FALSE(points.empty()) << dsl::print_schedule(space.text());
                for (std::size_t k = 0; k < points.size(); ++k) {
                    const dsl::Schedule schedule = space.at(points[k]);
                    const auto violations = dsl::check(info, schedule);
                    ASSERT_TRUE(violations.empty()) << violations.front().text() << "\n"
                                                    << dsl::print_schedule(schedule);
                    // To apply takes longer than to check.
                    if (k % 8 != 0) continue;
                    dsl::Algorithm fresh = translator::translate(program, options);
                    ASSERT_NO_THROW(dsl::apply(fresh, schedule)) << dsl::print_schedule(schedule);
                    ++tried;
                }
            }
        }
    EXPECT_GT(tried, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    DefaultSpace, EveryPoint,
    testing::Values(
        Legal{"kmeans",
              kKmeans,
              {kManyPoints, {{"X.0", 100}, {"X.1", 2}, {"means.0", 2}}, {{"X.0", 5}, {"X.1", 300}, {"means.0", 40}}}},
        Legal{"exp", kExp, {{{"x.0", 10'000'000}}, {{"x.0", 3}}}},
        Legal{"laplace", kLaplace, {{{"x.0", 2000}, {"x.1", 2000}}, {{"x.0", 4}, {"x.1", 100'000}}}},
        Legal{"stencil_steps", kStencilSteps, {{{"u.0", 2000}, {"u.1", 2000}}, {{"u.0", 5}, {"u.1", 7}}}},
        Legal{"dear_fluxes", kDearFluxes, {{{"u.0", 2000}, {"u.1", 2000}}, {{"u.0", 5}, {"u.1", 7}}}},
        Legal{"dear_of_sums", kDearOfSums, {{{"u.0", 700}, {"u.1", 2000}}, {{"u.0", 700}, {"u.1", 40}}}},
        Legal{"nearest", kNearest, {{{"q.0", 4000}, {"p.0", 3000}}, {{"q.0", 3}, {"p.0", 500}}}},
        Legal{"softmax",
              kSoftmax,
              {{{"x.0", 4096}, {"x.1", 4096}}, {{"x.0", 2}, {"x.1", 10}}, {{"x.0", 1}, {"x.1", 1'000'000}}}},
        Legal{"two_results", kTwoResults, {{{"x.0", 10'000'000}}, {{"x.0", 7}}}},
        Legal{"mandelbrot",
              kMandelbrot,
              {{{"x.0", 1000}, {"y.0", 833}, {"maxiter", 200}}, {{"x.0", 5}, {"y.0", 100'000}, {"maxiter", 3}}}},
        Legal{"recurrence", kRecurrence, {{{"x.0", 1'000'000}, {"k", 100}}, {{"x.0", 3}, {"k", 2}}}},
        Legal{"twice", kTwice, {{{"x.0", 1'000'000}}}},
        Legal{"column_sums",
              kColumnSums,
              {{{"x.0", 100'000}, {"x.1", 64}}, {{"x.0", 10}, {"x.1", 100'000}}, {{"x.0", 3000}, {"x.1", 3000}}}},
        Legal{"weighed_rows",
              kWeighedRows,
              {{{"X.0", 4000}, {"X.1", 5000}}, {{"X.0", 100'000}, {"X.1", 300}}, {{"X.0", 3}, {"X.1", 7}}}},
        Legal{"total", kTotal, {{{"x.0", 10'000'000}}, {{"x.0", 1000}}, {{"x.0", 7}}}},
        Legal{
            "table", kTable, {{{"X.0", 1'000'000}, {"m.0", 50}, {"m.1", 20}}, {{"X.0", 3}, {"m.0", 5}, {"m.1", 2000}}}},
        Legal{"sum_of_products",
              kSumOfProducts,
              {{{"a.0", 100}, {"a.1", 30}, {"b.1", 8}},
               {{"a.0", 3}, {"a.1", 5}, {"b.1", 100}},
               {{"a.0", 100}, {"a.1", 30}, {"b.1", 3}},
               {{"a.0", 1000}, {"a.1", 40}, {"b.1", 600}}}},
        Legal{"scaled_rows",
              kScaledRows,
              {{{"x.0", 1'000'000}, {"x.1", 3}},
               {{"x.0", 100}, {"x.1", 7}},
               {{"x.0", 1'000'000}, {"x.1", 1}},
               {{"x.0", 0}, {"x.1", 2}}}},
        Legal{"scaled_colours",
              kScaledColours,
              {{{"x.0", 2}, {"x.1", 1'000'000}, {"x.2", 3}},
               {{"x.0", 1000}, {"x.1", 1000}, {"x.2", 3}},
               {{"x.0", 100'000}, {"x.1", 3}, {"x.2", 3}}}},
        Legal{"unit_rows", kUnitRows, {{{"x.0", 1'000'000}, {"x.1", 3}}, {{"x.0", 50}, {"x.1", 2}}}},
        Legal{"written_rows", kWrittenRows, {{{"x.0", 1'000'000}, {"x.1", 3}}, {{"x.0", 50}, {"x.1", 1}}}},
        Legal{"steps", kSteps, {{{"A.0", 150}, {"A.1", 150}, {"k", 10}}, {{"A.0", 2000}, {"A.1", 2000}, {"k", 2}}}},
        Legal{"half_an_axis", kHalfAnAxis, {{{"a.0", 13}, {"a.1", 7}}, {{"a.0", 13}, {"a.1", 100'000}}}},
        Legal{"read_by_an_update", kReadByAnUpdate, {{{"a.0", 5}, {"a.1", 3}}, {{"a.0", 300}, {"a.1", 400}}}},
        Legal{"std_into_parts", kStdIntoParts, {{{"a.0", 31}, {"a.1", 3}}, {{"a.0", 5000}, {"a.1", 640}}}}),
    [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace tilewright::autotune
