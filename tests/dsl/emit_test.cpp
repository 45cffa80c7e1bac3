// tests/dsl/emit_test.cpp: objects: their symbols, instructions, bytes and stack.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "algorithms.h"
#include "dsl/base/error.h"
#include "dsl/base/targets.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/isa.h"
#include "dsl/code/object_symbols.h"
#include "dsl/language/schedule_text.h"
#include "kernel_runner.h"

namespace tilewright::dsl::test {
namespace {

Schedule schedule(const std::string& body) {
    return parse_schedule("tilewright-schedule 1\nschedule f for x86-64-v3\n" + body);
}

Emitted build(Algorithm algorithm, const std::string& body, EmitOptions options = {}) {
    const Schedule text = schedule(body);
    apply(algorithm, text, options.guard_tails);
    return emit(std::move(algorithm), text, options);
}

const char* const kKmeans = "labels.split(i, io, ii, 65536).parallel(io).vectorize(ii, 16)\n"
                            "nearest.compute_at(labels, ii).vectorize(i)\n"
                            "nearest.update(0).reorder(i, k).vectorize(i).specialize(extent(k) == 2) { unroll(k) }\n"
                            "norm.compute_at(nearest, k).vectorize(i)\n"
                            "norm.update(0).reorder(i, r).vectorize(i).specialize(X.1 == 2) { unroll(r) }\n";

TEST(Emit, ImportsNothingButLoopsAndMemory) {
    const Emitted emitted = build(kmeans(), kKmeans);
    ASSERT_EQ(emitted.kernels.size(), 1U);
    EXPECT_EQ(emitted.kernels[0].name, "kmeans_k0");
    EXPECT_EQ(emitted.kernels[0].requires_, std::vector<std::string>{"X.0 >= 65536"});
    EXPECT_EQ(emitted.plan.function, "kmeans");
    const std::set<std::string> allowed = {"halide_do_par_for", "memset", "memcpy", "halide_malloc", "halide_free"};
    const auto symbols = undefined_symbols(emitted.kernels[0].object);
    EXPECT_TRUE(symbols.count("halide_do_par_for"));
    for (const std::string& symbol : symbols)
        EXPECT_TRUE(allowed.count(symbol)) << symbol;
}

TEST(Emit, ProtectedTupleUpdatesLeaveNoTrace) {
    EmitOptions options;
    options.assembly = true;
    const Emitted emitted = build(kmeans(), kKmeans, options);
    EXPECT_EQ(emitted.kernels[0].lowered.find("tw_never"), std::string::npos);
    EXPECT_EQ(emitted.kernels[0].lowered.find("= (uint1)0"), std::string::npos);
}

TEST(Emit, EveryLevelUsesItsOwnRegistersAndNoFusedMultiplyAdd) {
    for (const std::string& isa : host_targets()) {
        EmitOptions options;
        options.isa = isa;
        options.assembly = true;
        const std::string code = build(gemm(),
                                       "out.vectorize(j, 16)\nproduct.compute_at(out, j).vectorize(j, 16)\n"
                                       "product.update(0).reorder(j, r).vectorize(j, 16)\n",
                                       options)
                                     .kernels[0]
                                     .assembly;
        EXPECT_EQ(code.find("zmm") != std::string::npos, isa == "x86-64-v4") << isa;
        EXPECT_EQ(code.find("ymm") != std::string::npos, isa == "x86-64-v3") << isa;
        EXPECT_EQ(code.find("vfmadd"), std::string::npos) << isa;
        EXPECT_NE(code.find("mulps"), std::string::npos) << isa;
        if (isa == "x86-64") {
            // The baseline is SSE2: nothing that came later.
            for (const char* later : {"pshufb", "blendv", "roundps", "pmulld", "ptest", "pinsrd", "pextrd"}) {
                EXPECT_EQ(code.find(later), std::string::npos) << later;
            }
        }
    }
    EmitOptions fast;
    fast.isa = "x86-64-v3";
    fast.assembly = true;
    fast.contract = "fast";
    const Emitted contracted = build(gemm(),
                                     "out.vectorize(j, 16)\nproduct.compute_at(out, j).vectorize(j, 16)\n"
                                     "product.update(0).reorder(j, r).vectorize(j, 16)\n",
                                     fast);
    EXPECT_NE(contracted.kernels[0].assembly.find("vfmadd"), std::string::npos);
}

TEST(Emit, SameInputSameBytes) {
    const std::string first = build(kmeans(), kKmeans).kernels[0].object;
    for (int k = 0; k < 12; ++k) {
        const Emitted between = build(softmax(), "powers.compute_root()\n");
        EXPECT_TRUE(build(kmeans(), kKmeans).kernels[0].object == first) << k;
    }
    EXPECT_EQ(first.find("/proc/self"), std::string::npos);
    EXPECT_EQ(first.find("/tmp"), std::string::npos);
}

TEST(Emit, TextOnRequest) {
    EmitOptions options;
    EXPECT_EQ(build(chain(), "", options).kernels[0].assembly, "");
    options.assembly = true;
    const Emitted emitted = build(chain(), "a.compute_root()\n", options);
    EXPECT_NE(emitted.kernels[0].assembly.find("chain_k0_argv"), std::string::npos);
    EXPECT_NE(emitted.kernels[0].lowered.find("produce"), std::string::npos);
}

std::string message(const std::function<Algorithm()>& make, const std::string& body) {
    try {
        build(make(), body);
    } catch (const ScheduleError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Emit, RefusesStacksThatWouldOverflow) {
    const std::string body = "a.compute_at(c, i).store_in(stack).bound(j, 0, 65536)\n";
    EXPECT_EQ(message(chain, body), "a: 524288 bytes on the stack, more than 262144. Use store_in(heap).");
    const Emitted heap = build(chain(), "a.compute_at(c, i).bound(j, 0, 65536)\n");
    EXPECT_TRUE(undefined_symbols(heap.kernels[0].object).count("halide_malloc"));
}

TEST(Emit, RefusesClaimsAboutStorageThatNeedACheck) {
    EXPECT_EQ(message(chain, "a.compute_at(c, j).store_root().fold_storage(i, 4)\n").substr(0, 60), "no error");
    EXPECT_EQ(message(chain, "a.compute_root().bound_storage(j, 8)\n"),
              "chain_k0: bound_storage: it cannot be proved that so little storage is enough. Take it away.");
}

TEST(Emit, RefusesWhatTheRuntimeLacks) {
    // An atomic update of a Tuple would need mutexes; a vectorized integer sum does not.
    EXPECT_EQ(message([] { return row_sums(true); }, "sums.compute_root()\nsums.update(0).atomic().vectorize(r, 8)\n"),
              "no error");
}

TEST(Emit, KnowsItsLevels) {
    EXPECT_EQ(resolve_isa("host"), host_isa());
    EXPECT_EQ(vector_lanes("x86-64", "float64"), 2);
    EXPECT_EQ(vector_lanes("x86-64-v3", "float32"), 8);
    EXPECT_EQ(vector_lanes("x86-64-v4", "bool"), 64);
    try {
        resolve_isa("x86-64-v5");
        FAIL();
    } catch (const ScheduleError& error) {
        EXPECT_STREQ(error.what(), "target x86-64-v5: unknown. Did you mean x86-64-v3?");
    }
}

TEST(ObjectSymbols, RefusesWhatIsNoObject) {
    EXPECT_THROW(undefined_symbols(""), InternalError);
    EXPECT_THROW(undefined_symbols(std::string(4096, 'x')), InternalError);
    const std::string whole = build(chain(), "").kernels[0].object;
    for (std::size_t length = 0; length < whole.size(); length += 37) {
        try {
            undefined_symbols(std::string_view(whole).substr(0, length));
        } catch (const InternalError&) {
            // a cut object may be refused, never read beyond its end
        }
    }
    EXPECT_TRUE(runtime_has("sinf"));
    EXPECT_TRUE(runtime_has("sincos"));
    EXPECT_TRUE(runtime_has("sincosf"));
    EXPECT_TRUE(runtime_has("halide_do_par_for"));
    EXPECT_FALSE(runtime_has("halide_error_out_of_memory"));
    EXPECT_FALSE(runtime_has("f"));
}

} // namespace
} // namespace tilewright::dsl::test
