// tests/dsl/plain_truths_test.cpp: bools that were a byte for a moment.
#include <gtest/gtest.h>

#include "Halide.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using namespace Halide::Internal;
using Halide::Expr;

const Expr kA = Variable::make(Halide::Float(32), "a"), kB = Variable::make(Halide::Float(32), "b");

Expr byte_of(const Expr& condition) {
    return Cast::make(Halide::UInt(8, condition.type().lanes()), condition);
}
Expr zero_like(const Expr& value) {
    return make_zero(value.type());
}

bool becomes(const Expr& value, const Expr& wanted) {
    return equal(plain_truths(Evaluate::make(value)), Evaluate::make(wanted));
}

TEST(PlainTruths, AConditionNeedsNoByte) {
    const Expr less = LT::make(kB, kA), byte = byte_of(less), smaller = Select::make(less, kB, kA);
    EXPECT_TRUE(becomes(Select::make(NE::make(byte, zero_like(byte)), kB, kA), smaller));
    EXPECT_TRUE(becomes(Select::make(EQ::make(byte, zero_like(byte)), kA, kB), smaller));
    EXPECT_TRUE(becomes(Select::make(Not::make(EQ::make(byte, zero_like(byte))), kB, kA), smaller));
}

TEST(PlainTruths, ANameStandsForBothOfThem) {
    const Expr less = LT::make(kB, kA), byte = byte_of(less), named = Variable::make(byte.type(), "t");
    const Expr truth = Variable::make(Halide::Bool(), "t.truth"), number = Cast::make(kA.type(), named);
    const Expr value = Let::make("t", byte, Select::make(NE::make(named, zero_like(named)), kB, number));
    const Expr chosen = Select::make(truth, kB, number);
    EXPECT_TRUE(becomes(value, Let::make("t.truth", less, Let::make("t", byte_of(truth), chosen))));
}

TEST(PlainTruths, OtherBytesAndNumbersStay) {
    const Expr loaded = Variable::make(Halide::UInt(8), "m"), number = Cast::make(Halide::UInt(8), kA);
    for (const Expr& byte : {loaded, number}) {
        const Expr value = Select::make(NE::make(byte, zero_like(byte)), kB, kA);
        EXPECT_TRUE(becomes(value, value));
    }
    const Expr byte = byte_of(LT::make(kB, kA)), compared = NE::make(byte, make_one(byte.type()));
    EXPECT_TRUE(becomes(compared, compared));
}

} // namespace
} // namespace tilewright::dsl
