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
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/object_symbols.h"
#include "dsl/language/schedule_text.h"
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

TEST(GpuEmit, VectorsClaimNoAlignment) {
    const EmittedKernel kernel =
        build(gemm(), "out.split(j, jo, ji, 4).vectorize(ji).gpu_tile(jo, i, jb, ib, jt, it, 16, 8)\n"
                      "product.compute_at(out, jt).vectorize(j, 4)\nproduct.update(0).reorder(j, r).vectorize(j, 4)\n");
    EXPECT_EQ(lines_with(kernel.device_code, "\\.v[24]\\.|b128"), "");
}

TEST(GpuEmit, SharedMemoryOfATileIsConstant) {
    const EmittedKernel kernel = build(chain(), "c.gpu_tile(j, i, jo, io, ji, ii, 16, 4)\n"
                                                "a.compute_at(c, jo).gpu_threads(j, i)\n"
                                                "b.compute_at(c, jo).gpu_threads(j, i).store_in(gpu_shared)\n");
    EXPECT_EQ(kernel.shared_bytes, 2 * 16 * 4 * 8);
    EXPECT_NE(lines_with(kernel.device_code, "bar\\.sync|barrier"), "");
    EXPECT_NE(lines_with(kernel.device_code, "st\\.shared"), "");
    EXPECT_EQ(kernel.lowered.find("shared_size"), std::string::npos) << kernel.lowered;
}

TEST(GpuEmit, TemporariesAreAllocatedAndCheckedOnTheDevice) {
    const EmittedKernel kernel =
        build(chain(), "c.gpu_tile(i, io, ii, 16)\nb.compute_root().gpu_tile(j, i, ji, ii, 32, 4)\n");
    EXPECT_EQ(kernel.device_kernels, 2);
    EXPECT_EQ(kernel.requires_, std::vector<std::string>{"(X.0 + 3) // 4 <= 65535"});
    EXPECT_NE(kernel.lowered.find("halide_device_malloc_result"), std::string::npos);
    EXPECT_EQ(undefined_symbols(kernel.object),
              (std::set<std::string>{"halide_cuda_device_interface", "halide_cuda_finalize_kernels",
                                     "halide_cuda_initialize_kernels", "halide_cuda_run", "halide_device_free",
                                     "halide_device_free_as_destructor", "halide_device_malloc"}));
}

TEST(GpuEmit, TheAssemblerKnowsHowManyThreadsShareTheRegisters) {
    const std::string small = build(pointwise(), "out.gpu_tile(i, io, ii, 256)\n").device_code;
    EXPECT_EQ(lines_with(small, "maxntid"), "");
    const std::string large = build(pointwise(), "out.gpu_tile(i, io, ii, 1024)\n").device_code;
    EXPECT_NE(large.find(")\n.maxntid 1024\n{"), std::string::npos) << large;
}

TEST(GpuEmit, TheScheduleHasToBeForTheTarget) {
    Algorithm algorithm = pointwise();
    const Schedule text = schedule("out.gpu_tile(i, io, ii, 16)\n");
    apply(algorithm, text);
    EmitOptions options;
    options.isa = "x86-64-v3";
    try {
        emit(std::move(algorithm), text, options);
        FAIL();
    } catch (const ScheduleError& error) {
        EXPECT_EQ(std::string(error.what()),
                  "the schedule is for cuda, and it is built for x86-64-v3. A CUDA device and a CPU need "
                  "different schedules: write the target in the second line.");
    }
}

// ---- rules ----------------------------------------------------------------------------------------------------------

std::string complaint(const Algorithm& algorithm, const std::string& body) {
    const auto violations = check(algorithm.info(), schedule(body));
    return violations.empty() ? "" : violations.front().text();
}

TEST(GpuCheck, SaysWhatIsWrongAndWhatToWrite) {
    const struct {
        Algorithm (*make)();
        const char* body;
        const char* expected;
    } mistakes[] = {
        {pointwise, "", "runs on the host, and a kernel for cuda has its arrays on the device"},
        {pointwise, "out.parallel(i)\n",
         "parallel is for CPUs, and this schedule is for cuda. Use gpu_blocks and gpu_threads"},
        {pointwise, "out.gpu_threads(j)\n", "runs over threads outside of every loop over blocks"},
        {pointwise, "out.gpu_blocks(i).gpu_threads(j)\n", "the number of threads has to be constant"},
        {pointwise, "out.gpu_tile(j, i, jo, io, ji, ii, 64, 32)\n", "2048 threads a block (64 x 32 x 1"},
        {pointwise, "out.gpu_tile(i, io, ii, 16, 8)\n", "gpu_tile takes one to three loops"},
        {pointwise, "out.gpu_tile(i, j, jo, 16)\n", "there already is a loop j"},
        {pointwise, "out.gpu_tile(i, io, ii, 16)\nout.prefetch_lines(j, 64)\n", "prefetch_lines is for CPUs"},
        {pointwise, "out.gpu_tile(i, io, ii, 16)\nout.gpu_blocks(j)\n",
         "lies inside out.ii, which is not a loop over blocks"},
        {pointwise, "out.gpu_tile(i, io, ii, 16).gpu_single_block(io)\n", "there already is a loop io"},
        {pointwise, "out.gpu_tile(i, io, ii, 16).gpu_single_thread()\n",
         "gpu_single_thread makes a kernel of one block"},
        {pointwise, "out.split(j, jo, ji, 64).gpu_lanes(ji).gpu_blocks(i)\n", "64 lanes; a warp has 32"},
        {chain, "c.gpu_tile(i, io, ii, 16)\nb.compute_root().gpu_tile(i, io, ii, 16).store_in(gpu_shared)\n",
         "stored outside of the kernels"},
        {chain, "c.gpu_tile(i, io, ii, 16)\nb.compute_at(c, io).store_in(register)\n", "each thread has its registers"},
        {chain, "c.gpu_tile(i, io, ii, 16)\nb.compute_at(c, ii).store_in(gpu_shared)\n",
         "stored inside a loop over threads"},
        {chain, "c.gpu_tile(j, i, jo, io, ji, ii, 16, 4)\nb.compute_at(c, io)\n", "lies between loops over blocks"},
        {chain, "c.gpu_tile(i, io, ii, 16)\nb.compute_at(c, io).gpu_blocks(i)\n",
         "has loops over blocks and is computed inside"},
        {output_update, "out.gpu_tile(i, io, ii, 16)\n", "out.update(0): runs on the host"},
        {gemm,
         "out.gpu_tile(i, io, ii, 16)\nproduct.compute_root().gpu_tile(i, io, ii, 8)\n"
         "product.update(0).gpu_blocks(i).gpu_threads(r)\n",
         "cannot run over threads: iterations of a reduction write the same element"},
    };
    for (const auto& mistake : mistakes) {
        const std::string text = complaint(mistake.make(), mistake.body);
        EXPECT_NE(text.find(mistake.expected), std::string::npos) << mistake.body << text;
    }
    EXPECT_EQ(complaint(pointwise(), "out.gpu_blocks(i).split(j, jo, ji, 32).gpu_lanes(ji)\n"), "");
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
    for (int k = 0; k < (count ? std::atoi(count) : 4); ++k) {
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
