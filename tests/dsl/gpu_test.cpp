// tests/dsl/gpu_test.cpp: schedules for CUDA devices: their rules, the PTX that they give, and its arithmetic. No
// device is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "algorithms.h"
#include "dsl/base/error.h"
#include "dsl/check.h"
#include "dsl/emit.h"
#include "dsl/object_symbols.h"
#include "dsl/schedule_text.h"
#include "random_directives.h"

namespace tilewright::dsl::test {
namespace {

Schedule schedule(const std::string& body, const std::string& target = "cuda") {
    return parse_schedule("tilewright-schedule 1\nschedule f for " + target + "\n" + body);
}

EmittedKernel build(Algorithm algorithm, const std::string& body, EmitOptions options = {}) {
    const Schedule text = schedule(body);
    options.isa = "cuda";
    options.assembly = true;
    apply(algorithm, text, options.guard_tails);
    return emit(std::move(algorithm), text, options).kernels.at(0);
}

const char* const kKmeans = "labels.gpu_tile(i, io, ii, 128)\n"
                            "nearest.compute_at(labels, ii)\n"
                            "nearest.update(0).specialize(extent(k) == 2) { unroll(k) }\n"
                            "norm.compute_at(nearest, k)\n"
                            "norm.update(0).specialize(X.1 == 2) { unroll(r) }\n";

/// Lines of PTX that match, for messages.
std::string lines_with(const std::string& code, const std::string& pattern) {
    std::string found;
    std::istringstream lines(code);
    const std::regex wanted(pattern);
    for (std::string line; std::getline(lines, line);)
        if (std::regex_search(line, wanted)) found += line + "\n";
    return found;
}

TEST(GpuEmit, KmeansIsOneKernelOfPtx) {
    const EmittedKernel kernel = build(kmeans(), kKmeans);
    EXPECT_EQ(kernel.device_kernels, 1);
    EXPECT_EQ(kernel.shared_bytes, 0);
    EXPECT_TRUE(kernel.requires_.empty());
    EXPECT_NE(kernel.device_code.find(".target sm_80"), std::string::npos);
    EXPECT_NE(kernel.device_code.find(".entry kmeans_k0_device0("), std::string::npos);
    EXPECT_NE(kernel.object.find(kernel.device_code), std::string::npos);
    EXPECT_EQ(kernel.assembly, kernel.device_code);
    EXPECT_NE(kernel.lowered.find("gpu_block"), std::string::npos);
    // Arguments that the kernel does not write are read past the caches that keep writes in order.
    EXPECT_NE(kernel.device_code.find("ld.global.nc.b64"), std::string::npos);
    EXPECT_EQ(lines_with(kernel.device_code, "\\bfma\\b|\\.ftz|\\.approx|(add|sub|mul)\\.f(32|64)|//"), "");
    EXPECT_EQ(
        undefined_symbols(kernel.object),
        (std::set<std::string>{"halide_cuda_finalize_kernels", "halide_cuda_initialize_kernels", "halide_cuda_run"}));
}

TEST(GpuEmit, FastIsHalidesOwn) {
    EmitOptions options;
    options.contract = "fast";
    EXPECT_NE(lines_with(build(kmeans(), kKmeans, options).device_code, "\\bfma\\.rn\\.f64"), "");
}

TEST(GpuEmit, EqualInputEqualBytes) {
    const EmittedKernel first =
        build(softmax(), "out.gpu_tile(i, io, ii, 32)\ntotal.compute_at(out, ii)\ntop.compute_at(out, ii)\n");
    const EmittedKernel second =
        build(softmax(), "out.gpu_tile(i, io, ii, 32)\ntotal.compute_at(out, ii)\ntop.compute_at(out, ii)\n");
    EXPECT_EQ(first.object, second.object);
    EXPECT_EQ(first.device_code, second.device_code);
}

// ---- random schedules -----------------------------------------------------------------------------------------------

struct Case {
    const char* name;
    Algorithm (*make)();
    const char* seed; ///< a legal schedule to begin with
};

const std::vector<Case>& cases() {
    static const std::vector<Case> list = {
        {"pointwise", pointwise, "out.gpu_tile(i, io, ii, 16)\n"},
        {"chain", chain,
         "c.gpu_tile(j, i, jo, io, ji, ii, 16, 4)\na.compute_at(c, jo)\nb.compute_at(c, jo).gpu_threads(j)\n"},
        {"row_sums", [] { return row_sums(true); }, "out.gpu_tile(i, io, ii, 16)\n"},
        {"row_argmin", row_argmin, "out.gpu_tile(i, io, ii, 16)\n"},
        {"softmax", softmax, "out.gpu_tile(i, io, ii, 4)\n"},
        {"kmeans", kmeans, "labels.gpu_tile(i, io, ii, 64)\n"},
        {"output_update", output_update, "out.gpu_tile(i, io, ii, 16)\nout.update(0).gpu_tile(i, io, ii, 16)\n"},
        {"at_root", chain,
         "c.gpu_tile(i, io, ii, 16)\nb.compute_root().gpu_single_thread()\na.compute_root().gpu_tile(i, ii, 8)\n"},
    };
    return list;
}

/// Extents that follow from regions which the model does not decide, and what lanes keep in registers.
bool only_lowering_finds(const std::string& message) {
    static const std::regex known("Can only (unroll|vectorize) for loops over a constant extent|"
                                  "Can only vectorize loops over a constant extent|"
                                  "its size is not constant, as that of registers|"
                                  "the number of threads of a block is not constant|"
                                  "does not meet the requirements for its store_at location|"
                                  "32-bit|lanes");
    return std::regex_search(message, known);
}

class RandomGpuSchedules : public ::testing::TestWithParam<int> {};

TEST_P(RandomGpuSchedules, WhatCheckAcceptsBuilds) {
    const Case& test = cases()[GetParam()];
    const Algorithm described = test.make();
    const char* seed = std::getenv("TW_SEED");
    const char* count = std::getenv("TW_RANDOM_SCHEDULES");
    std::mt19937_64 rng(seed ? std::atoi(seed) : 515 + GetParam());
    for (int k = 0; k < (count ? std::atoi(count) : 10); ++k) {
        const Schedule text =
            random_legal_schedule(described.info(), rng, 1 + static_cast<int>(rng() % 6), "cuda", test.seed);
        if (std::getenv("TW_VERBOSE")) std::fprintf(stderr, "%s\n", print_schedule(text).c_str());
        EmitOptions options;
        options.isa = "cuda";
        options.guard_tails = k % 4 == 0;
        try {
            Algorithm algorithm = test.make();
            apply(algorithm, text, options.guard_tails);
            const EmittedKernel kernel = emit(std::move(algorithm), text, options).kernels.at(0);
            EXPECT_GE(kernel.device_kernels, 1);
            EXPECT_EQ(lines_with(kernel.device_code, "\\bfma\\.rn\\.f64|\\.ftz"), "");
        } catch (const Error& error) {
            if (only_lowering_finds(error.what())) continue;
            ADD_FAILURE() << error.what() << "\n" << print_schedule(text);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, RandomGpuSchedules, ::testing::Range(0, static_cast<int>(8)),
                         [](const auto& test) { return cases()[test.param].name; });

} // namespace
} // namespace tilewright::dsl::test
