// tests/translator/device_test.cpp: what is translated for a device gives the bits that a CPU gives.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "dsl/base/error.h"
#include "dsl/model/algorithm_impl.h"
#include "harness.h"
#include "tests/few.h"
#include "translator/ir/program.h"
#include "translator/translate.h"

namespace {

using namespace tilewright::translator;
using harness::Array;

/// y = op(x) along the rows of x, or of all of it.
std::string reduction(const std::string& op, const std::string& from, const std::string& to, bool all) {
    const bool searches = op.rfind("arg", 0) == 0;
    const std::string axes = searches ? "axis=1" : all ? "axes=[0, 1]" : "axes=[1]";
    const std::string shape = all ? "" : "x.0";
    return "tilewright-program 1\nfunction f\narg x: " + from + "[x.0, x.1]\nguard x.1 >= 1 \"empty\"\ny: " + to + "[" +
           shape + "] = " + op + "(x) {" + axes + "}\nreturn y\n";
}

template <class T> Array rows(const std::string& dtype, std::int64_t height, std::int64_t width, unsigned seed) {
    std::mt19937_64 rng(seed);
    std::vector<T> values(static_cast<std::size_t>(height * width));
    for (T& value : values) {
        if constexpr (std::is_floating_point_v<T>) {
            value = static_cast<T>(std::ldexp(static_cast<double>(rng() % 2000) - 1000, static_cast<int>(rng() % 20)));
            if (rng() % 16 == 0) value = static_cast<T>(-0.0);
            if (seed % 3 == 0 && rng() % 3000 == 0) value = std::numeric_limits<T>::quiet_NaN();
            if (seed % 3 == 1 && rng() % 3000 == 0) value = std::numeric_limits<T>::infinity();
        } else {
            value = static_cast<T>(rng());
        }
    }
    return harness::array_of(dtype, {height, width}, values);
}

template <class T>
void same_bits(const std::string& op, const std::string& from, const std::string& to, const std::string& lanes = "") {
    unsigned seed = 0;
    const bool rounds = (op == "sum" || op == "prod") && std::is_floating_point_v<T>;
    std::size_t place = 0;
    for (const bool all : {false, true}) {
        ++place;
        if (all && op.rfind("arg", 0) == 0) continue;
        const Program program = read_program(reduction(op, from, to, all));
        for (const std::int64_t width : {1, 65, 513, 5000}) {
            ++seed;
            if (!tilewright::tests::one_in(rounds ? 1 : 2, place++)) continue; // where nothing rounds no tree matters
            const Array x = rows<T>(from, 3, width, seed);
            harness::RunOptions host;
            host.translate.sizes_here = {{"x.0", 3}, {"x.1", width}};
            if (!lanes.empty()) host.translate.variant = {{"y", lanes}};
            harness::RunOptions device = host;
            device.translate.device = true;
            if (variants(program, host.translate)[0].options != variants(program, device.translate)[0].options) {
                // Shorter lanes take more levels; where nothing rounds they cannot matter.
                ASSERT_FALSE(rounds && op == "sum");
                device.translate.variant.clear();
            }
            const Array a = harness::run(program, {{"x", x}}, host)[0];
            const Array b = harness::run(program, {{"x", x}}, device)[0];
            ASSERT_EQ(a.bytes.size(), b.bytes.size());
            EXPECT_EQ(0, std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()))
                << op << " of " << from << ", width " << width << (all ? ", all" : "");
        }
    }
}

TEST(OnADevice, SumsHaveTheSameBits) {
    same_bits<float>("sum", "float32", "float32");
    same_bits<double>("sum", "float64", "float64");
    same_bits<double>("prod", "float64", "float64");
    same_bits<std::int64_t>("sum", "int64", "int64");
}

TEST(OnADevice, SumsOfAnyLevelsHaveTheSameBits) {
    same_bits<float>("sum", "float32", "float32", "lanes3");
    same_bits<double>("sum", "float64", "float64", "lanes2");
}

TEST(OnADevice, ExtremesAndPlacesAreTheSame) {
    same_bits<float>("max", "float32", "float32");
    same_bits<double>("min", "float64", "float64");
    same_bits<std::int32_t>("max", "int32", "int32");
    same_bits<float>("argmax", "float32", "int64");
    same_bits<double>("argmin", "float64", "int64");
    same_bits<std::int32_t>("argmin", "int32", "int64");
}

/// A chain of sums, where `condition` holds: made of i, p, q (int64), x and its sizes.
std::string plan_of_branch(const std::string& condition, bool device) {
    TranslateOptions options;
    options.device = device;
    const std::string text =
        "tilewright-program 1\nfunction f\narg x: float64[x.0]\narg z: float64[x.0]\nscalar p: int64\nscalar q: int64\n"
        "y: float64[x.0] = for i in range(0, x.0, 1) carry (y1: float64[x.0] = z) {\n"
        "  %1: int64[] = scalar_size() {size=i} @3\n  %2: int64[] = const() {value=2} @3\n" +
        condition +
        "  y2: float64[x.0] = if %9 {\n    s: float64[] = sum(y1) {axes=[0]} @4\n"
        "    y3: float64[x.0] = update(y1, s) {index=[i]} @4\n    yield y3\n  } else {\n    yield y1\n  } @3\n"
        "  yield y2\n} @2\nreturn y\n";
    return tilewright::runtime::print_body(translate(read_program(text), options).impl().plan.versions[0]);
}

TEST(OnADevice, SizesDecideInThePlan) {
    const auto has = [](const std::string& condition, const std::string& line) {
        const std::string plan = plan_of_branch(condition, true);
        EXPECT_NE(plan.find("  if " + line + " {\n"), std::string::npos) << plan;
        EXPECT_EQ(plan.find("temp %9"), std::string::npos) << plan;
        EXPECT_EQ(plan.find("bool"), std::string::npos) << plan;
    };
    has("  %9: bool[] = greater(%1, p) @3\n", "i > p");
    has("  %3: int64[] = remainder(%1, %2) @3\n  %4: bool[] = equal(%3, p) @3\n  %5: bool[] = less_equal(q, %2) @3\n"
        "  %6: bool[] = logical_not(%5) @3\n  %9: bool[] = logical_and(%4, %6) @3\n",
        "i % 2 == p and not q <= 2");
    has("  %3: bool[] = greater(%1, p) @3\n  %4: bool[] = equal(%2, q) @3\n  %9: bool[] = where(%3, %4, %3) @3\n",
        "i > p and 2 == q");
    has("  %3: bool[] = greater(%1, p) @3\n  %4: bool[] = equal(%2, q) @3\n  %9: bool[] = where(%3, %3, %4) @3\n",
        "i > p or not i > p and 2 == q");
    // Numbers that could leave int64, and what the data say.
    for (const char* condition :
         {"  %3: int64[] = multiply(p, q) @3\n  %9: bool[] = less(%3, %1) @3\n",
          "  %3: int64[] = scalar_size() {size=p - i} @3\n  %9: bool[] = less(%3, %1) @3\n",
          "  %3: int64[] = remainder(p, q) @3\n  %9: bool[] = less(%3, %1) @3\n",
          "  %3: float64[] = index(x) {index=[i]} @3\n  %4: float64[] = const() {value=1.5} @3\n"
          "  %9: bool[] = less(%3, %4) @3\n"}) {
        const std::string plan = plan_of_branch(condition, true);
        EXPECT_NE(plan.find("bool []"), std::string::npos) << plan;
    }
}

TEST(OnADevice, ATreeIsCutInTwo) {
    TranslateOptions options;
    options.device = true;
    options.sizes_here = {{"x.0", 3}, {"x.1", 1000}};
    const tilewright::dsl::Algorithm algorithm =
        translate(read_program(reduction("sum", "float32", "float32", false)), options);
    std::vector<std::string> parts;
    for (const tilewright::dsl::StageInfo& stage : algorithm.info().stages)
        parts.push_back(stage.name + ":" + tilewright::dsl::part_name(stage.part));
    EXPECT_EQ(parts, (std::vector<std::string>{"y_lane:lane", "y_lanes:lanes", "y_fold:fold", "y:block"}));
    EXPECT_EQ(algorithm.info().stages[2].pure.loops.back().extent, "8");
}

TEST(OnADevice, Float16IsRefusedByName) {
    TranslateOptions options;
    options.device = true;
    const auto refusal = [&](const std::string& text) -> std::string {
        try {
            translate(read_program(text), options);
        } catch (const tilewright::TranslateError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal("tilewright-program 1\nfunction f \"f.py\"\narg x: float16[x.0]\n"
                      "y: float16[x.0] = add(x, x) @4\nreturn y\n"),
              "f.py:4: y = add(x, x): float16 has no translation for a device in this release. "
              "Use bool, an integer dtype, float32 or float64.");
    EXPECT_EQ(refusal("tilewright-program 1\nfunction f \"f.py\"\narg x: int8[x.0]\n"
                      "%1: float16[x.0] = cast(x) @4\ny: float32[x.0] = cast(%1) @4\nreturn y\n"),
              "f.py:4: %1 = cast(x): float16 has no translation for a device in this release. "
              "Use bool, an integer dtype, float32 or float64.");
}

} // namespace
