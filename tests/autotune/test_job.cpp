// tests/autotune/test_job.cpp: a job survives its JSON; a damaged one is named.
#include <cmath>
#include <gtest/gtest.h>

#include "autotune/job.h"
#include "dsl/base/error.h"

namespace tilewright::autotune {
namespace {

Job example() {
    Job job;
    job.program = "tilewright-program 1\n";
    job.function = "f";
    job.layouts = {{"X", "c"}};
    job.sizes = {{"X.0", 7}, {"X.1", 3}};
    job.seed = 0xffffffffffffffffULL;
    job.starts = {"a", "b"};
    job.reserved_s = 2.5;
    job.flops = {1, 2, 3, 4};
    job.tolerance = {1e-6, 0, 1e-4, 0.02};
    JobDataSet set;
    set.kind = "recorded";
    JobArgument x;
    x.name = "X";
    x.dtype = "float64";
    x.shape = {7, 3};
    x.strides_bytes = {-24, 0};
    x.file = "/dev/null";
    x.offset_bytes = 144;
    x.is_written = true;
    x.after = "/dev/zero";
    JobArgument s;
    s.name = "a";
    s.dtype = "float64";
    s.is_scalar = true;
    s.real = -std::numeric_limits<double>::infinity();
    JobArgument n;
    n.name = "n";
    n.dtype = "int64";
    n.is_scalar = true;
    n.integer = std::numeric_limits<std::int64_t>::min();
    set.arguments = {x, s, n};
    set.expected = {{"int64", {7}, "/dev/null"}};
    job.datasets = {set};
    return job;
}

TEST(Job, SurvivesItsText) {
    const Job job = example();
    const std::string text = print_job(job);
    const Job again = read_job(text);
    EXPECT_EQ(print_job(again), text);
    EXPECT_EQ(again.seed, job.seed);
    EXPECT_EQ(again.reserved_s, 2.5);
    EXPECT_EQ(again.flops.total(), 10);
    EXPECT_EQ(again.flops.float64_products, 4);
    EXPECT_EQ(again.datasets[0].arguments[0].strides_bytes, (std::vector<std::int64_t>{-24, 0}));
    EXPECT_TRUE(again.datasets[0].arguments[0].is_written);
    EXPECT_EQ(again.datasets[0].arguments[0].after, "/dev/zero");
    EXPECT_EQ(again.tolerance.float_mismatch_fraction, 0.02);
    EXPECT_TRUE(std::isinf(again.datasets[0].arguments[1].real));
    EXPECT_EQ(again.datasets[0].arguments[2].integer, std::numeric_limits<std::int64_t>::min());
    EXPECT_FALSE(again.space);
}

TEST(Job, CountsBytesOnce) {
    const Job job = example();
    EXPECT_EQ(job.argument_bytes(), 7 * 8) << "the broadcast axis is read from the same memory";
    EXPECT_EQ(job.result_bytes(), 7 * 8);
}

void expect_refused(const std::string& text, const std::string& words) {
    try {
        read_job(text);
        FAIL() << text;
    } catch (const InternalError& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

TEST(Job, NamesWhatIsWrong) {
    expect_refused("", "not a JSON object");
    expect_refused("[]", "not a JSON object");
    expect_refused("{}", "no field program");
    expect_refused(R"({"program": 3, "function": "f"})", "job.program");
    expect_refused(R"({"program": "", "function": "f", "datasets": [{"arguments": [{"name": "X", "dtype": "float64",
                      "shape": [2], "strides_bytes": [8, 8], "file": ""}]}]})",
                   "1 extents but 2 strides");
    expect_refused(R"({"program": "", "function": "f", "datasets": [{"arguments": [{"name": "X", "dtype": "object",
                      "shape": [2], "strides_bytes": [8], "file": ""}]}]})",
                   "dtype object");
    expect_refused(R"({"program": "", "function": "f", "datasets": [{"arguments": [{"name": "X", "dtype": "int8",
                      "shape": [-2], "strides_bytes": [8], "file": ""}]}]})",
                   "negative extent");
}

} // namespace
} // namespace tilewright::autotune
