// tests/translator/linear_bits_test.cpp: which chains of choices become sums over bits.
#include <gtest/gtest.h>

#include "translator/passes/passes.h"

namespace {

using namespace tilewright::translator;

/// A loop over bytes that carries c and goes through `count` choices of `taken` or `other`, where `bit` of c is set.
Program chain(int count, const std::string& taken, const std::string& other, const std::string& bit = "%one") {
    std::string text = "tilewright-program 1\nfunction f\narg v: uint8[v.0]\nscalar k: int64\n"
                       "%90: int64[] = const() {value=1} @1\n%91: int64[] = const() {value=3} @1\n"
                       "c_end: int64[] = for i in range(0, v.0, 1) carry (c0: int64[] = %90) {\n"
                       "  %2: uint8[] = index(v) {index=[i]} @2\n  %3: int64[] = cast(%2) @2\n";
    int next = 100;
    const auto name = [&] { return "%" + std::to_string(next++); };
    std::string now = "c0";
    for (int step = 0; step < count; ++step) {
        const std::string shifted = name(), test = name(), truth = name(), a = name(), b = name(), after = name();
        const auto filled = [&](std::string op) {
            for (const auto& [from, to] : {std::pair<std::string, std::string>{"now", now}, {"shifted", shifted}})
                for (std::size_t at = op.find(from); at != std::string::npos; at = op.find(from, at + to.size()))
                    op.replace(at, from.size(), to);
            return op;
        };
        text += "  " + shifted + ": int64[] = right_shift(" + now + ", %90) @3\n";
        text += "  " + test + ": int64[] = bitwise_and(" + now + ", " + (bit == "%one" ? "%90" : bit) + ") @3\n";
        text += "  " + truth + ": bool[] = cast(" + test + ") @3\n";
        text += "  " + a + ": int64[] = " + filled(taken) + " @4\n  " + b + ": int64[] = " + filled(other) + " @4\n";
        text += "  " + after + ": int64[] = where(" + truth + ", " + a + ", " + b + ") @4\n";
        now = after;
    }
    return read_program(text + "  yield " + now + "\n} @2\nreturn c_end\n");
}

bool is_changed(const Program& program) {
    const Program made = linear_bits(program);
    verify_program(made);
    return print_program(made) != print_program(program);
}

const std::string kTaken = "bitwise_xor(shifted, k)", kOther = "cast(shifted)";

TEST(LinearBits, AChainOfChoicesIsLookedUp) {
    const Program made = linear_bits(chain(8, kTaken, kOther));
    verify_program(made);
    const std::string text = print_program(made);
    const std::size_t loop = text.find(" = for ");
    EXPECT_NE(text.rfind("iota", loop), std::string::npos) << text;
    EXPECT_NE(text.find("take(", loop), std::string::npos) << text;
    EXPECT_EQ(text.find("where(", loop), std::string::npos) << text;
}

TEST(LinearBits, FewChoicesStandAsTheyAre) {
    EXPECT_FALSE(is_changed(chain(2, kTaken, kOther)));
    EXPECT_TRUE(is_changed(chain(3, kTaken, kOther)));
}

TEST(LinearBits, WhatIsNotLinearStandsAsItIs) {
    EXPECT_FALSE(is_changed(chain(8, "add(shifted, k)", kOther)));
    EXPECT_FALSE(is_changed(chain(8, kTaken, "cast(now)"))) << "the two differ by bits of the state";
    EXPECT_FALSE(is_changed(chain(8, kTaken, kOther, "%91"))) << "a test of two bits";
    EXPECT_FALSE(is_changed(chain(8, kTaken, kOther, "k"))) << "nobody knows which bits are tested";
    EXPECT_FALSE(is_changed(chain(8, kTaken, kOther, "%3"))) << "the mask differs from iteration to iteration";
}

TEST(LinearBits, LongChainsStandAsTheyAre) {
    EXPECT_FALSE(is_changed(chain(40, kTaken, kOther)));
}

} // namespace
