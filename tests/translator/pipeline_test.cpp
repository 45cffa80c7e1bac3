// tests/translator/pipeline_test.cpp: the list of passes, what is told of them, and how they are switched off.
#include "translator/passes/pipeline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "dsl/base/error.h"

namespace {

using namespace tilewright::translator;

/// A loop with a branch, whose iterations are independent.
Program branchy() {
    return read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg A: float64[x.0, x.1]\n"
                        "guard x.0 >= 3 \"\"\n"
                        "B: float64[x.0, x.1] = for i in range(0, x.0, 1) carry (B1: float64[x.0, x.1] = A) {\n"
                        "  %1: float64[x.1] = index(x) {index=[i, 0:1]} @2\n"
                        "  %2: float64[] = sum(%1) {axes=[0]} @2\n"
                        "  %4: float64[] = const() {value=1.5} @3\n"
                        "  %3: bool[] = less(%2, %4) @3\n"
                        "  v: float64[] = if %3 {\n    yield %2\n  } else {\n    yield %4\n  } @4\n"
                        "  B2: float64[x.0, x.1] = update(B1, v) {index=[i, 0]} @5\n  yield B2\n} @2\n"
                        "return B\n");
}

struct Outcome {
    std::vector<std::string> ran, changed;
    Prepared prepared;
};

Outcome run(const Program& program, bool device) {
    Outcome out;
    TranslateOptions options;
    options.device = device;
    out.prepared = prepare(program, options, [&](const Pass& pass, const Program& before, const Program& after) {
        verify_program(after, Dialect::rewritten);
        out.ran.emplace_back(pass.name);
        if (before != after) out.changed.emplace_back(pass.name);
    });
    return out;
}

class Switched : public ::testing::Test {
  protected:
    void TearDown() override { unsetenv("TILEWRIGHT_PASSES"); }

    static std::string error_of(const char* passes) {
        setenv("TILEWRIGHT_PASSES", passes, 1);
        try {
            prepare(branchy(), {});
        } catch (const tilewright::TranslateError& error) {
            return error.what();
        }
        return "no error";
    }
};

std::string verify_error(const Program& program, Dialect dialect) {
    try {
        verify_program(program, dialect);
    } catch (const tilewright::InternalError& error) {
        return error.what();
    }
    return "no error";
}

/// Of one operation on x, with attributes that no text has.
Program one(const std::string& type, const std::string& call, const std::vector<Attribute>& added = {}) {
    Program program = read_program("tilewright-program 1\nfunction f\narg x: float64[x.0, x.1]\narg k: int64[k.0]\n"
                                   "%1: " +
                                   type + " = " + call + " @2\nreturn %1\n");
    for (const Attribute& attribute : added)
        program.body.operations[0].attributes.set(attribute);
    return program;
}

/// Two axes for one of x.
Program windows(const std::string& type, int axis) {
    Program program = one(type, "transpose(x) {axes=[0, 1]}");
    program.body.operations[0].op = Op::windows;
    program.body.operations[0].attributes = {attr::axis(axis), attr::start(Size::integer(0)),
                                             attr::step(Size::integer(2)), attr::stride(Size::integer(1))};
    return program;
}

TEST(Passes, SayWhatTheyDo) {
    for (const Pass& pass : passes()) {
        EXPECT_STRNE(pass.name, "");
        EXPECT_STRNE(pass.meaning, "") << pass.name;
        for (const Pass& other : passes())
            EXPECT_EQ(other.run == pass.run, std::string(other.name) == pass.name) << pass.name << " " << other.name;
    }
}

TEST(Passes, AreThoseOfTheTarget) {
    const Outcome host = run(branchy(), false);
    EXPECT_EQ(host.ran,
              (std::vector<std::string>{"split_complex", "reduction_recognition", "pixelwise_if_conversion",
                                        "linear_bits", "dimension_contraction", "transposed_layout", "sum_orders",
                                        "column_products", "loop_products", "if_conversion", "store_forwarding",
                                        "bounds_check_elimination", "dead_store_elimination", "packing"}));
    EXPECT_EQ(host.changed, (std::vector<std::string>{"sum_orders", "if_conversion"}));
    EXPECT_TRUE(host.prepared.in_steps);
    const Outcome device = run(branchy(), true);
    EXPECT_EQ(device.changed, (std::vector<std::string>{"sum_orders", "if_conversion", "batching"}));
    EXPECT_FALSE(device.prepared.in_steps);
    const Outcome straight = run(one("float64[x.0, x.1]", "sqrt(x)"), true);
    EXPECT_EQ(straight.ran.back(), "sum_orders");
    EXPECT_TRUE(straight.changed.empty());
}

TEST_F(Switched, APassIsLeftOutByItsName) {
    setenv("TILEWRIGHT_PASSES", "-linear_bits,-if_conversion", 1);
    const Outcome host = run(branchy(), false);
    EXPECT_EQ(host.ran, (std::vector<std::string>{"split_complex", "reduction_recognition", "pixelwise_if_conversion",
                                                  "dimension_contraction", "transposed_layout", "sum_orders",
                                                  "column_products", "loop_products", "store_forwarding",
                                                  "bounds_check_elimination", "dead_store_elimination", "packing"}));
    EXPECT_EQ(host.changed, std::vector<std::string>{"sum_orders"});
}

TEST_F(Switched, WhatNoPassIsCalledIsRefused) {
    const std::string names =
        " Use some of -reduction_recognition, -pixelwise_if_conversion, -linear_bits, "
        "-dimension_contraction, -transposed_layout, "
        "-if_conversion, -store_forwarding, -batching, -column_products, -loop_products, -bounds_check_elimination, "
        "-dead_store_elimination, -packing, with "
        "commas between.";
    EXPECT_EQ(error_of("-transposed_layout,-nothing"), "TILEWRIGHT_PASSES: -nothing: there is no such pass." + names);
    EXPECT_EQ(error_of("transposed_layout"), "TILEWRIGHT_PASSES: transposed_layout: there is no such pass." + names);
    EXPECT_EQ(error_of("-split_complex"),
              "TILEWRIGHT_PASSES: -split_complex: what follows cannot do without this pass." + names);
    EXPECT_EQ(error_of(""), "no error");
}

TEST(Dialects, WhatPassesMakeIsNoTracedProgram) {
    const std::vector<std::pair<Program, std::string>> made = {
        {one("float64[x.1]", "index(x) {index=[0, 0:1]}", {attr::clamped(true)}), "index: has no attribute clamped."},
        {one("float64[x.0]", "sum(x) {axes=[1]}", {attr::order({.contiguous = true})}), "sum: has no attribute order."},
        {windows("float64[x.0, 4, 5]", 1), "windows: no such operation."},
    };
    for (const auto& [program, error] : made) {
        EXPECT_EQ(verify_error(program, Dialect::traced), "program f, %1 (line 2) = " + error);
        EXPECT_EQ(verify_error(program, Dialect::rewritten), "no error");
    }
}

TEST(Dialects, WhatPassesMakeIsVerified) {
    const std::string where = "program f, %1 (line 2) = ";
    const auto error = [](const Program& program) { return verify_error(program, Dialect::rewritten); };
    EXPECT_EQ(error(one("float64[x.0, x.1]", "sqrt(x)", {attr::clamped(true)})),
              where + "sqrt: has no attribute clamped.");
    EXPECT_EQ(error(one("float64[x.0]", "sum(x) {axes=[1]}", {attr::order({.iterations = 2})})),
              where + "sum: has no attribute order.");
    EXPECT_EQ(error(one("float64[k.0, x.1]", "take(x, k) {axis=0}", {attr::checked(0)})),
              where + "take: has no attribute checked.");
    EXPECT_EQ(error(windows("float64[4, 5, x.1]", 1)),
              where + "windows: the operand is float64[4, x.1], not float64[x.0, x.1].");
    EXPECT_EQ(error(windows("float64[x.0, 4, 5]", 2)), where + "windows: axis=2 does not fit float64[x.0, x.1].");
}

} // namespace
