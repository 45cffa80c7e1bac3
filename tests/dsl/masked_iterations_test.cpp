// tests/dsl/masked_iterations_test.cpp: loops end where masks begin to leave everything out.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "Halide.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

constexpr int kLanes = 8, kVectors = 8192;

const Expr kSize = Variable::make(Halide::Int(32), "n");
const Expr kBlock = Variable::make(Halide::Int(32), "block");
const Expr kVector = Variable::make(Halide::Int(32), "v");
const Expr kFirst = (kBlock * kVectors + kVector) * kLanes; ///< element of a vector

Expr lanes_from(const Expr& first) {
    return Ramp::make(first, 1, kLanes);
}
Expr all_lanes(const Expr& value) {
    return Broadcast::make(value, kLanes);
}

/// out[first ...] = 0.0 under a mask
Stmt store(const Expr& mask, const std::string& name = "out") {
    const Expr zeros = all_lanes(Halide::Internal::make_zero(Halide::Float(64)));
    return Store::make(name, zeros, lanes_from(kFirst), Halide::Parameter(), mask, {});
}
Expr inside() {
    return LE::make(lanes_from(kFirst + 1), all_lanes(kSize));
}
Stmt vectors(const Stmt& body, ForType type = ForType::Serial) {
    return For::make("v", 0, kVectors, type, Halide::Partition::Auto, Halide::DeviceAPI::None, body);
}

/// How many iterations are left of a loop over vectors, in a block of an array of so many elements.
int iterations(const Stmt& loop, int block, int size) {
    const Stmt shorter = skip_masked_iterations(loop);
    const auto* left = shorter.as<For>();
    EXPECT_NE(left, nullptr);
    const Expr extent = simplify(substitute(std::map<std::string, Expr>{{"n", size}, {"block", block}}, left->extent));
    const auto value = as_const_int(extent);
    EXPECT_TRUE(value) << extent;
    return static_cast<int>(value.value_or(-1));
}

void expect_short(const Stmt& loop) {
    EXPECT_EQ(iterations(loop, 0, 0), 0);
    EXPECT_EQ(iterations(loop, 0, 1), 1);
    EXPECT_EQ(iterations(loop, 0, 8), 1);
    EXPECT_EQ(iterations(loop, 0, 9), 2);
    EXPECT_EQ(iterations(loop, 0, 65'535), kVectors);
    EXPECT_EQ(iterations(loop, 0, 1'000'000), kVectors);
    EXPECT_EQ(iterations(loop, 1, 65'536), 0);
    EXPECT_EQ(iterations(loop, 1, 65'536 + 17), 3);
}

TEST(MaskedIterations, AreLeftOut) {
    expect_short(vectors(store(inside())));
}

TEST(MaskedIterations, WholeVectorsHaveABranchOfTheirOwn) {
    const Expr is_whole = LE::make(kFirst + kLanes, kSize);
    expect_short(vectors(IfThenElse::make(is_whole, store(const_true(kLanes)), store(inside()))));
}

TEST(MaskedIterations, MasksOfNarrowElements) {
    const Expr left = Call::make(Halide::Int(32), Call::saturating_sub, {kSize, kFirst + 1}, Call::PureIntrinsic);
    const Expr narrow = Call::make(Halide::Int(8), Call::saturating_cast, {left}, Call::PureIntrinsic);
    expect_short(vectors(store(LE::make(Cast::make(Halide::Int(8, kLanes), lanes_from(0)), all_lanes(narrow)))));
}

TEST(MaskedIterations, NamesAndMemoryOfTheirOwn) {
    const Expr named = Variable::make(Halide::Int(32), "at");
    const Stmt masked = store(LE::make(lanes_from(named + 1), all_lanes(kSize)));
    const Stmt both = Block::make(store(const_true(kLanes), "own"), masked);
    expect_short(vectors(Allocate::make("own", Halide::Float(64), Halide::MemoryType::Stack, {kLanes}, const_true(),
                                        LetStmt::make("at", kFirst, both))));
}

void expect_as_it_was(const Stmt& loop) {
    EXPECT_TRUE(equal(skip_masked_iterations(loop), loop));
}

TEST(MaskedIterations, OtherLoopsStayAsTheyAre) {
    const Stmt masked = store(inside());
    expect_as_it_was(vectors(store(const_true(kLanes))));
    // Something else happens as well.
    expect_as_it_was(vectors(Block::make(masked, store(const_true(kLanes), "other"))));
    const Expr call = Call::make(Halide::Int(32), "tell", {kVector}, Call::Extern);
    expect_as_it_was(vectors(Block::make(masked, Evaluate::make(call))));
    // What the body reads of memory is not known before.
    const Expr loaded = load_of("sizes", Halide::Int(32), kVector, const_true());
    expect_as_it_was(vectors(store(LE::make(lanes_from(kFirst + 1), all_lanes(loaded)))));
    // From some place on.
    expect_as_it_was(vectors(store(LE::make(all_lanes(kSize), lanes_from(kFirst)))));
    expect_as_it_was(vectors(masked, ForType::Parallel));
}

TEST(MaskedIterations, OneOfTwoStoresIsEnough) {
    const Expr further = LE::make(lanes_from(kFirst + 1), all_lanes(kSize + 16));
    const Stmt loop = vectors(Block::make(store(inside()), store(further, "other")));
    EXPECT_EQ(iterations(loop, 0, 1), 3);
    EXPECT_EQ(iterations(loop, 0, 1'000'000), kVectors);
}

} // namespace
} // namespace tilewright::dsl
