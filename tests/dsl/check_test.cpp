// tests/dsl/check_test.cpp: what check() refuses, with whole texts, and that Halide alone would be no better.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "algorithms.h"
#include "dsl/base/halide_guard.h"
#include "dsl/check/check.h"
#include "dsl/code/lowering.h"
#include "dsl/directives/directives.h"
#include "dsl/language/directive_signature.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl::test {
namespace {

Algorithm float_sums() {
    return row_sums(false);
}
Algorithm int_sums() {
    return row_sums(true);
}

std::vector<std::string> texts(const std::function<Algorithm()>& make, const std::string& body) {
    const Algorithm algorithm = make();
    std::vector<std::string> result;
    for (const Violation& violation :
         check(algorithm.info(), parse_schedule("tilewright-schedule 1\nschedule f for x86-64-v3\n" + body))) {
        result.push_back(violation.message + (violation.hint.empty() ? "" : " " + violation.hint));
    }
    return result;
}

struct Refusal {
    std::function<Algorithm()> make;
    const char* body;
    const char* text;
};

TEST(Check, RefusesWithTheReasonAndSomethingThatWorks) {
    const std::vector<Refusal> refusals = {
        {float_sums, "sums.compute_root()\nsums.update(0).parallel(r)",
         "sums.update(0).r: cannot run in parallel: iterations of a reduction write the same element. Use a pure loop "
         "instead: i."},
        {float_sums, "sums.compute_root()\nsums.update(0).vectorize(r, 8)",
         "sums.update(0).r__v: cannot be vectorized: iterations of a reduction write the same element. Use a pure loop "
         "instead: i."},
        {int_sums, "sums.compute_root()\nsums.update(0).parallel(r)",
         "sums.update(0).r: cannot run in parallel: iterations of a reduction write the same element. Use a pure loop "
         "instead: i. Or write atomic() before it."},
        {float_sums, "sums.compute_root()\nsums.update(0).split(r, ro, ri, 8).reorder(ro, ri)",
         "sums.update(0): ro and ri cannot change places: both run over a reduction whose order decides its rounding. "
         "Keep ro outside ri; other loops may move freely."},
        {float_sums, "sums.compute_root()\nsums.update(0).split(r, ro, ri, 8).fuse(ro, ri, f)",
         "sums.update(0): fuse(ro, ri) would change the order of a reduction, and so its rounding. Name the inner loop "
         "first: fuse(ri, ro, f)."},
        {float_sums, "sums.update(0).split(r, ro, ri, 8).rfactor(ro, u) as part",
         "sums.update(0).ro: rfactor would add up in another order, which changes the rounding. Use a variant whose "
         "sum is written in blocks; its blocks are separate stages."},
        {int_sums, "sums.update(0).rfactor(r, u) as part",
         "sums.update(0): rfactor keeps every reduced loop, which leaves no reduction to divide. Split the loop first: "
         "split(r, ro, ri, 64).rfactor(ro, u)."},
        {float_sums, "sums.compute_root()\nsums.update(0).unroll(r)",
         "sums.update(0).r: cannot unroll a loop whose extent is not constant here. Split it: unroll(r, 4), or "
         "specialize(extent(r) == 2) { unroll(r) }."},
        {float_sums, "out.unroll(i, 2048)", "out: unrolls 2048 iterations, more than 1024. Use smaller factors."},
        {float_sums, "out.vectorize(i, 2048)", "out: vectors of 2048 values, more than 1024. Use smaller factors."},
        {float_sums, "out.vectorize(i, 5)",
         "out.i__v: vectors of 5 values, which is not a power of two. Use 4 or 8, or unroll the loop."},
        {float_sums, "out.specialize(X.0 == 4) { serial(i) }.vectorize(i, 4)",
         "out: vectorize after specialize does not reach the specialized copy. Write vectorize before specialize."},
        {float_sums, "sums.compute_root().split(i, io, ii, 8, round_up)",
         "sums.i: round_up would grow the region that a stage inside the kernel computes, and so read its inputs out "
         "of bounds. Use guard_with_if or predicate."},
        {output_update, "out.update(0).split(i, io, ii, 8, shift_inwards)",
         "out.update(0).i: shift_inwards would apply an update twice to some elements. Use guard_with_if or "
         "shift_inwards_and_blend."},
        {float_sums, "out.split(i, io, ii, 4).split(ii, a, b, 8, shift_inwards)",
         "out.ii: shift_inwards by 8 leaves the array: the extent is 4. Use guard_with_if, or a factor that divides "
         "the extent."},
        {float_sums, "out.split(i, io, io, 4)",
         "out: both parts of a split are called io. Give them different names, such as io and ii."},
        {pointwise, "out.split(i, j, ii, 4)", "out: there already is a loop j. Choose another name."},
        {pointwise, "out.split(i, io, ii, 4).parallel(i)",
         "out: there is no loop i any more (it was split, fused or renamed). Its loops are: io, ii, j."},
        {pointwise, "out.split(i, io, ii, 4).parallel(ioo)", "out: there is no loop ioo. Did you mean io?"},
        {pointwise, "out.split(i, io, ii, 0)",
         "out: the factor of split is 0, which is not a positive number below 2147483648. Write a power of two such as "
         "8."},
        {pointwise, "out.split(i, io, ii, 100000000)",
         "out.i: split by 100000000 may go more than 67108864 elements beyond the end, where indices no longer fit 32 "
         "bits. Use a smaller factor."},
        {pointwise, "out.split(i, io, ii, 65536).split(io, a, b, 2048)",
         "out.io: split by 2048 where each iteration stands for 65536 elements may go more than 67108864 elements "
         "beyond the end, where indices no longer fit 32 bits. Use a smaller factor."},
        {pointwise, "y3.compute_root()", "y3: there is no such stage. Did you mean y2?"},
        {pointwise, "y2.vectorize(i, 8)",
         "y2: vectorize needs a stage that has loops and storage, and this one is computed inline. Add "
         "y2.compute_root() or compute_at(...), or take the directive away."},
        {pointwise, "y2.compute_at(out, jj)",
         "y2: compute_at(out, jj) is not around every use of it. Legal places: compute_root(), compute_at(out, i), "
         "compute_at(out, j)."},
        {pointwise, "out.compute_at(y2, i)",
         "out: is an output of the kernel, so it is computed and stored at the root. Take the directive away."},
        {pointwise, "y2.compute_at(out, j).store_root()\nout.parallel(i)",
         "y2: stored outside the parallel or vectorized loop out.i, but computed inside it, so that iterations would "
         "overwrite each other. Store it at (out, i) or further in."},
        {pointwise, "y2.compute_at(out, i).store_at(out, j)",
         "y2: store_at(out, j) lies inside the loop where it is computed. Name that loop or one outside it."},
        {float_sums, "sums.inline()",
         "sums: cannot be inlined, because it has updates. Use compute_at(...) or compute_root()."},
        {float_sums, "sums.update(1).unroll(r, 2)",
         "sums.update(1): it has 1 update. Updates count from 0: update(0) is the last."},
        {float_sums, "sums.update(0).compute_root()",
         "sums.update(0): compute_root concerns the whole stage, not one update. Write sums.compute_root()."},
        {chain, "a.memoize()",
         "a: memoize needs a cache in the runtime, and kernels have none. Use compute_root(), so that it is computed "
         "once a call."},
        {chain, "c.gpu_blocks(i)",
         "c: gpu_blocks needs target cuda, and this schedule is for x86-64-v3. Use parallel and vectorize, or write "
         "'for cuda' in the second line."},
        {chain, "c.specialize(X.7 == 2) { unroll(j) }",
         "c: specialize(X.7 == 2): there is no size X.7. Did you mean X.1?"},
        {chain, "c.specialize(X.0) { unroll(j, 2) }",
         "c: specialize(X.0) is not a comparison. Write something like extent(i) == 2."},
        {chain, "a.compute_root()\nb.compute_root().compute_with(a, j)",
         "b: cannot be computed with a: one of them reads the other. Use compute_at(a, j)."},
        {chain, "a.in(b) as b", "a: there already is a stage or an argument b. Choose another name."},
        {chain, "c.in(a) as x", "a: does not read c. Nothing reads it."},
        {chain, "c.bound(i, 3, 4)", "c.i: bound with a minimum of 3: axes begin at 0. Write bound(i, 0, 4)."},
        {pointwise, "out.prefetch_lines(ij, 64)", "out: there is no loop ij. Did you mean i?"},
        {pointwise, "out.split(i, io, ii, 8).prefetch_lines(i, 64)",
         "out: there is no loop i any more (it was split, fused or renamed). Its loops are: io, ii, j."},
        {pointwise, "out.prefetch_lines(i, 100)",
         "out: prefetch_lines 100 bytes ahead: not a positive multiple of 64 up to 262144. Write a distance such as "
         "2048."},
        {pointwise, "out.prefetch_lines(i, 262208)",
         "out: prefetch_lines 262208 bytes ahead: not a positive multiple of 64 up to 262144. Write a distance such as "
         "2048."},
        {pointwise, "out.prefetch_lines(i, 0)",
         "out: prefetch_lines 0 bytes ahead: not a positive multiple of 64 up to 262144. Write a distance such as "
         "2048."},
        {pointwise, "y2.prefetch_lines(i, 64)",
         "y2: prefetch_lines needs a stage that has loops and storage, and this one is computed inline. Add "
         "y2.compute_root() or compute_at(...), or take the directive away."},
        {pointwise, "out.specialize(X.0 == 4) { prefetch_lines(i, 64) }",
         "out: prefetch_lines inside specialize: it reaches the loops of that name in every copy. Write "
         "out.prefetch_lines(i, 64) on a separate line."},
        {pointwise, "y2.compute_root().store_nontemporal(1)",
         "y2: store_nontemporal on a stage that the kernel keeps to itself: it is read again at once. Use it on a "
         "stage that is a result."},
        {pointwise, "out.store_nontemporal(0)",
         "out: the least bytes of the result of store_nontemporal is 0, which is not a positive number below "
         "2147483648. Write a power of two such as 8."},
        {pointwise, "out.specialize(X.0 == 4) { store_nontemporal(64) }",
         "out: store_nontemporal concerns the whole stage and cannot stand inside specialize. Write "
         "out.store_nontemporal(64) on a separate line."},
        {pointwise, "out.rows_together(4)",
         "out: rows_together on a stage that ends no wavefront. Take it away: no loop of this program is a wavefront."},
        {output_update, "out.update(0).store_nontemporal(64)",
         "out.update(0): store_nontemporal concerns the whole stage, not one update. Write out.store_nontemporal(64)."},
        {output_update, "out.store_nontemporal(64)",
         "out: store_nontemporal on a result that its own update reads again: it would come back from memory. Take it "
         "away."},
        {chain, "c.fold_storage(i, 4)",
         "c: fold_storage is for stages inside a kernel; this is an output, whose memory is the caller's. Take the "
         "directive away."},
    };
    for (const Refusal& refusal : refusals) {
        const auto found = texts(refusal.make, std::string(refusal.body) + "\n");
        ASSERT_FALSE(found.empty()) << refusal.body;
        EXPECT_EQ(found.front(), refusal.text) << refusal.body;
    }
}

TEST(Check, AcceptsWhatThoseHintsSuggest) {
    const std::vector<std::pair<std::function<Algorithm()>, const char*>> good = {
        {float_sums, "sums.compute_root()\nsums.update(0).parallel(i)"},
        {float_sums, "sums.compute_root()\nsums.update(0).split(r, ro, ri, 8).fuse(ri, ro, f)"},
        {float_sums, "sums.compute_root()\nsums.update(0).specialize(extent(r) == 2) { unroll(r) }"},
        {float_sums, "sums.compute_root()\nsums.update(0).reorder(i, r).vectorize(i, 8).unroll(r, 4)"},
        {int_sums, "sums.compute_root()\nsums.update(0).atomic().vectorize(r, 8)"},
        {int_sums, "sums.update(0).split(r, ro, ri, 64).rfactor(ro, u) as part\npart.compute_root().vectorize(u, 4)"},
        {pointwise, "y2.compute_at(out, i).vectorize(i, 8)\nout.parallel(i)"},
        {pointwise, "y2.compute_root().prefetch_lines(i, 64)\nout.prefetch_lines(i, 262144).store_nontemporal(1)"},
        {float_sums, "sums.compute_root()\nsums.update(0).prefetch_lines(r, 2048)"},
        {output_update, "out.update(0).prefetch_lines(i, 64)"},
        {chain, "a.in(b) as a2\na2.compute_at(c, i)\nb.compute_at(c, i)\na.compute_root()"},
    };
    for (const auto& [make, body] : good) {
        EXPECT_EQ(texts(make, std::string(body) + "\n"), std::vector<std::string>{}) << body;
    }
}

TEST(Check, ReportsEveryLineInOrder) {
    const auto found = texts(chain, "a.memoize()\nb.async()\nc.split(i, io, ii, 0)\n");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].substr(0, 10), "a: memoize");
    EXPECT_EQ(found[1].substr(0, 8), "b: async");
    EXPECT_EQ(found[2].substr(0, 12), "c: the facto");
}

/// What Halide does with the same directives when nobody checks them first.
std::string halide_says(Algorithm algorithm, const std::function<void(AlgorithmImpl&)>& schedule) {
    try {
        schedule(algorithm.impl());
        const KernelImpl& kernel = algorithm.impl().kernels[0];
        Halide::Pipeline(kernel.outputs)
            .compile_to_module(kernel.arguments, kernel.name, halide_target("x86-64-v3", true));
        return "";
    } catch (const Halide::Error& error) {
        return error.what();
    }
}

TEST(Check, WhatItRefusesHalideRefusesToo) {
    using Impl = AlgorithmImpl;
    auto refused = [](Algorithm algorithm, const std::function<void(Impl&)>& schedule) {
        return !halide_says(std::move(algorithm), schedule).empty();
    };
    EXPECT_TRUE(refused(float_sums(), [&](Impl& impl) {
        auto& sums = impl.stages.at("sums");
        sums.func.compute_root().update(0).parallel(sums.update_loops[0].at("r"));
    }));
    EXPECT_TRUE(refused(float_sums(), [&](Impl& impl) {
        auto& sums = impl.stages.at("sums");
        sums.func.compute_root().update(0).unroll(sums.update_loops[0].at("r"));
    }));
    EXPECT_TRUE(refused(pointwise(), [&](Impl& impl) { impl.stages.at("y2").func.vectorize(Halide::Var("i"), 8); }));
    EXPECT_TRUE(refused(pointwise(), [&](Impl& impl) {
        impl.stages.at("y2").func.compute_at(impl.stages.at("out").func, Halide::Var("jj"));
    }));
    EXPECT_TRUE(refused(pointwise(), [&](Impl& impl) {
        impl.stages.at("y2").func.compute_at(impl.stages.at("out").func, Halide::Var("j")).store_root();
        impl.stages.at("out").func.parallel(Halide::Var("i"));
    }));
    EXPECT_TRUE(refused(pointwise(), [&](Impl& impl) {
        impl.stages.at("out").func.split(Halide::Var("i"), Halide::Var("io"), Halide::Var("io"), 4);
    }));
    EXPECT_TRUE(refused(output_update(), [&](Impl& impl) {
        impl.stages.at("out").func.update(0).split(Halide::Var("i"), Halide::Var("io"), Halide::Var("ii"), 8,
                                                   Halide::TailStrategy::ShiftInwards);
    }));
    EXPECT_TRUE(refused(chain(), [&](Impl& impl) {
        impl.stages.at("a").func.compute_root();
        impl.stages.at("b").func.compute_root().compute_with(impl.stages.at("a").func, Halide::Var("j"));
    }));
}

TEST(Check, EverySignatureHasARowAndEveryRowASignatureAndADoc) {
    for (const std::string& verb : directive_verbs()) {
        ASSERT_NE(find_directive(verb), nullptr) << verb;
    }
    for (const DirectiveRow& row : directive_rows()) {
        const auto& verbs = directive_verbs();
        EXPECT_NE(std::find(verbs.begin(), verbs.end(), row.verb), verbs.end()) << row.verb;
        EXPECT_FALSE(row.doc.empty()) << row.verb;
        EXPECT_NE(row.check, nullptr) << row.verb;
    }
}

} // namespace
} // namespace tilewright::dsl::test
