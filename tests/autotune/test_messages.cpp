// tests/autotune/test_messages.cpp: what a worker says of an algorithm reaches the search whole.
#include <gtest/gtest.h>

#include "autotune/measure/messages.h"

namespace tilewright::autotune {
namespace {

TEST(Messages, EveryFieldOfAStageArrives) {
    dsl::AlgorithmInfo info;
    info.function = "f";
    info.variant = {{"sums", "lanes2"}};
    info.sizes = {{"X.0", 7}};
    dsl::StageInfo stage;
    stage.name = "s";
    stage.dtypes = {"float64", "int32"};
    stage.pure.loops = {{"i", true, true, "X.0", 7, true}};
    stage.updates = {stage.pure};
    stage.reads = {{"X", "i", true, 1, {"i", ""}}};
    stage.output = true;
    stage.inlinable = false;
    stage.guarded = true;
    stage.repeats = 12.5;
    stage.scans = true;
    stage.in_parallel = true;
    stage.rows_together = 8;
    stage.reads_neighbours = true;
    stage.operations = 3;
    stage.line = 9;
    stage.source = "np.sum";
    stage.kernel = 2;
    stage.part = "lanes";
    info.stages = {stage};
    const dsl::AlgorithmInfo back = algorithm_info_from_json(algorithm_info_to_json(info));
    ASSERT_EQ(back.stages.size(), 1u);
    // One name a field: a new one does not compile here until it is sent too.
    const auto& [name, dtypes, pure, updates, reads, output, inlinable, guarded, repeats, scans, in_parallel,
                 rows_together, reads_neighbours, operations, line, source, kernel, part] = back.stages[0];
    EXPECT_EQ(name, stage.name);
    EXPECT_EQ(dtypes, stage.dtypes);
    ASSERT_EQ(pure.loops.size(), 1u);
    EXPECT_EQ(pure.loops[0].extent, "X.0");
    EXPECT_EQ(pure.loops[0].extent_here, 7);
    EXPECT_TRUE(pure.loops[0].reduced && pure.loops[0].ordered && pure.loops[0].racing);
    EXPECT_EQ(updates.size(), 1u);
    ASSERT_EQ(reads.size(), 1u);
    EXPECT_EQ(reads[0].axes, stage.reads[0].axes);
    EXPECT_TRUE(output && guarded && scans && in_parallel && reads_neighbours && !inlinable);
    EXPECT_EQ(repeats, stage.repeats);
    EXPECT_EQ(rows_together, stage.rows_together);
    EXPECT_EQ(operations, stage.operations);
    EXPECT_EQ(line, stage.line);
    EXPECT_EQ(source, stage.source);
    EXPECT_EQ(kernel, stage.kernel);
    EXPECT_EQ(part, stage.part);
    EXPECT_EQ(back.function, info.function);
    EXPECT_EQ(back.variant, info.variant);
    ASSERT_EQ(back.sizes.size(), 1u);
    EXPECT_EQ(back.sizes[0].here, 7);
}

TEST(Messages, EveryFieldOfARequestArrives) {
    MeasureRequest request{"a", "b", 0.5, 4, 70, 3.5, 1.25};
    EXPECT_EQ(measure_request_from_json(measure_request_to_json(request)), request);
}

} // namespace
} // namespace tilewright::autotune
