// tests/translator/math/math_test.cpp: the elementary functions against libm in long double, and against themselves
// on every instruction set and vector width.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "dsl/base/error.h"
#include "dsl/passes/passes.h"
#include "math_kernel.h"
#include "tests/few.h"
#include "translator/ops/math.h"

namespace tilewright::translator::test {
namespace {

using Wide = long double;
using Reference = std::function<Wide(Wide, Wide)>;

/// x87 long doubles have 11 bits more than float64: a judge good to 0.001 ULP.
const std::map<std::string, Reference>& references() {
    static const std::map<std::string, Reference> table = {
        {"arccos", [](Wide x, Wide) { return std::acos(x); }},
        {"arcsin", [](Wide x, Wide) { return std::asin(x); }},
        {"arctan", [](Wide x, Wide) { return std::atan(x); }},
        {"arctan2", [](Wide y, Wide x) { return std::atan2(y, x); }},
        {"cbrt", [](Wide x, Wide) { return std::cbrt(x); }},
        {"cos", [](Wide x, Wide) { return std::cos(x); }},
        {"cosh", [](Wide x, Wide) { return std::cosh(x); }},
        {"exp", [](Wide x, Wide) { return std::exp(x); }},
        {"exp2", [](Wide x, Wide) { return std::exp2(x); }},
        {"expm1", [](Wide x, Wide) { return std::expm1(x); }},
        {"hypot", [](Wide x, Wide y) { return std::hypot(x, y); }},
        {"log", [](Wide x, Wide) { return std::log(x); }},
        {"log10", [](Wide x, Wide) { return std::log10(x); }},
        {"log1p", [](Wide x, Wide) { return std::log1p(x); }},
        {"log2", [](Wide x, Wide) { return std::log2(x); }},
        {"power", [](Wide x, Wide y) { return std::pow(x, y); }},
        {"sin", [](Wide x, Wide) { return std::sin(x); }},
        {"sinh", [](Wide x, Wide) { return std::sinh(x); }},
        {"tan", [](Wide x, Wide) { return std::tan(x); }},
        {"tanh", [](Wide x, Wide) { return std::tanh(x); }},
    };
    return table;
}

/// 0 where the result is right as it can be, infinity where NaN, an infinity or a zero's sign is wrong.
template <class T> double error_ulp(T got, Wide want) {
    const T rounded = T(want);
    constexpr double kWrong = std::numeric_limits<double>::infinity();
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
    if (std::isinf(rounded) || std::isinf(got)) {
        // Next to the overflow threshold either answer is within an ULP.
        if (rounded == got) return 0;
        const T largest = std::numeric_limits<T>::max();
        return std::fabs(rounded) >= largest && std::fabs(got) >= largest &&
                       std::signbit(rounded) == std::signbit(got) && std::isfinite(want)
                   ? 1
                   : kWrong;
    }
    if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : kWrong;
    const int exponent =
        std::max(rounded == 0 ? -20000 : std::ilogb(rounded), std::numeric_limits<T>::min_exponent - 1);
    const Wide unit = std::ldexp(Wide(1), exponent - std::numeric_limits<T>::digits + 1);
    return double(std::fabs(Wide(got) - want) / unit);
}

template <class T> std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    const std::vector<double> seeds = {0,
                                       1,
                                       0.5,
                                       2,
                                       3,
                                       1.0 / 3,
                                       4,
                                       5,
                                       10,
                                       22,
                                       100,
                                       127.99,
                                       128,
                                       149,
                                       150,
                                       1023.99,
                                       1024,
                                       1074,
                                       1075,
                                       2.5,
                                       0.625,
                                       0.7071067811865476,
                                       1.4142135623730951,
                                       3.141592653589793,
                                       1.5707963267948966,
                                       0.7853981633974483,
                                       0.41421356,
                                       2.41421356,
                                       709.782712893384,
                                       710.4758600739439,
                                       745.133,
                                       745.14,
                                       708.39,
                                       88.72283,
                                       89.41598,
                                       87.33,
                                       103.97,
                                       12800,
                                       1.6e6,
                                       1e10,
                                       4503599627370495.5,
                                       9007199254740993.0,
                                       8388607.5,
                                       16777217.0,
                                       1e22,
                                       1e30};
    std::vector<T> values = {
        Limits::min(),      Limits::denorm_min(), Limits::min() / 2,        Limits::max(),
        Limits::infinity(), Limits::epsilon(),    std::sqrt(Limits::min()), std::sqrt(Limits::max())};
    for (double s : seeds)
        values.push_back(T(s));
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(std::nextafter(values[i], Limits::infinity()));
        values.push_back(std::nextafter(values[i], -Limits::infinity()));
    }
    const std::size_t positive = values.size();
    for (std::size_t i = 0; i < positive; ++i)
        values.push_back(-values[i]);
    values.push_back(Limits::quiet_NaN());
    values.push_back(-Limits::quiet_NaN());
    // A payload whose low bits look like a large integer.
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const Word payload = sizeof(T) == 4 ? Word(0x7fc12345) : Word(0x7ff8123456789abc);
    T nan;
    std::memcpy(&nan, &payload, sizeof nan);
    values.push_back(nan);
    return values;
}

template <class T> struct Inputs {
    std::vector<std::vector<T>> columns;
    std::vector<const void*> pointers() const {
        std::vector<const void*> result;
        for (const auto& c : columns)
            result.push_back(c.data());
        return result;
    }
    int count() const { return int(columns[0].size()); }
};

/// Special values (all pairs of them for two arguments), random bits, and ranges that people use.
template <class T> Inputs<T> make_inputs(int arity, int random_count) {
    std::mt19937_64 random(20260101);
    Inputs<T> inputs;
    inputs.columns.resize(std::size_t(arity));
    const std::vector<T> special = special_values<T>();
    if (arity == 1) {
        inputs.columns[0] = special;
    } else {
        for (T a : special) {
            for (T b : special) {
                inputs.columns[0].push_back(a);
                inputs.columns[1].push_back(b);
            }
        }
    }
    const std::vector<double> reach = {1, 2, 10, 100, 1000, 1e4, 1e6};
    for (int i = 0; i < random_count; ++i) {
        for (auto& column : inputs.columns) {
            T value;
            if (i % 3 == 0) {
                const std::uint64_t bits = random();
                std::memcpy(&value, &bits, sizeof value);
            } else {
                const double limit = reach[std::size_t(random() % reach.size())];
                value = T(std::uniform_real_distribution<double>(-limit, limit)(random));
            }
            column.push_back(value);
        }
        if (arity == 2 && i % 3 == 1) { // a power that neither overflows nor vanishes
            const double x = std::exp(std::uniform_real_distribution<double>(-20, 20)(random));
            const double range = sizeof(T) == 4 ? 85 : 700;
            inputs.columns[0].back() = T(x);
            inputs.columns[1].back() = T(std::uniform_real_distribution<double>(-range, range)(random) / std::log(x));
        }
    }
    return inputs;
}

template <class T> Halide::Type type_of() {
    return Halide::type_of<T>();
}

template <class T> std::vector<T> apply(MathKernel& kernel, const Inputs<T>& inputs) {
    std::vector<T> out(std::size_t(inputs.count()));
    kernel.run(inputs.pointers(), out.data(), inputs.count());
    return out;
}

int lanes_of(Halide::Type type) {
    return 64 / type.bytes();
}

const std::string& best_isa() {
    static const std::string isa = runs_here("x86-64-v4")   ? "x86-64-v4"
                                   : runs_here("x86-64-v3") ? "x86-64-v3"
                                                            : "x86-64";
    return isa;
}

/// Tests of a function share its kernels: compiling is nearly all of their time.
MathKernel& kernel_of(const std::string& name, Halide::Type type, const std::string& isa, int lanes,
                      bool fast = false) {
    static std::map<std::tuple<std::string, int, std::string, int, bool>, std::unique_ptr<MathKernel>> made;
    auto& kernel = made[{name, type.bits(), isa, lanes, fast}];
    if (!kernel) kernel = std::make_unique<MathKernel>(name, type, isa, lanes, fast);
    return *kernel;
}

template <class T> void check_accuracy(const std::string& name, bool fast, double allowed) {
    MathKernel& kernel = kernel_of(name, type_of<T>(), best_isa(), lanes_of(type_of<T>()), fast);
    const Inputs<T> inputs = make_inputs<T>(kernel.arity(), 200000);
    const std::vector<T> got = apply(kernel, inputs);
    double worst = 0;
    int wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const T x = inputs.columns[0][i];
        const T y = inputs.columns.back()[i];
        const Wide want = references().at(name)(x, y);
        const double error = error_ulp(got[i], want);
        worst = std::max(worst, error);
        if (error > allowed && ++wrong <= 5) {
            ADD_FAILURE() << name << "(" << std::hexfloat << x << ", " << y << ") = " << got[i] << ", not " << T(want)
                          << std::defaultfloat << ": " << error << " ULP";
        }
    }
    EXPECT_EQ(wrong, 0);
    testing::Test::RecordProperty("worst_ulp", std::to_string(worst));
}

class Elementary : public testing::TestWithParam<std::string> {};

TEST_P(Elementary, Float64IsWithinTwoUlp) {
    check_accuracy<double>(GetParam(), false, 2.0);
}
TEST_P(Elementary, Float32IsWithinTwoUlp) {
    check_accuracy<float>(GetParam(), false, 2.0);
}
TEST_P(Elementary, FastFloat64KeepsNanAndInfinity) {
    check_accuracy<double>(GetParam(), true, 8.0);
}
TEST_P(Elementary, FastFloat32KeepsNanAndInfinity) {
    check_accuracy<float>(GetParam(), true, 8.0);
}

template <class T> void check_same_bits(const std::string& name) {
    MathKernel& first = kernel_of(name, type_of<T>(), best_isa(), lanes_of(type_of<T>()));
    const Inputs<T> inputs = make_inputs<T>(first.arity(), 20000);
    const std::vector<T> want = apply(first, inputs);
    const auto& all = references();
    auto place = static_cast<std::size_t>(std::distance(all.begin(), all.find(name))) + sizeof(T) / 4;
    for (const std::string& isa : kIsas) {
        if (!runs_here(isa)) continue;
        for (int lanes : isa == best_isa() ? std::vector<int>{1, 4, 8, 16, 64} : std::vector<int>{1, 8, 16}) {
            if (!tests::one_in(5, place++)) continue;
            MathKernel& kernel = kernel_of(name, type_of<T>(), isa, lanes);
            const std::vector<T> got = apply(kernel, inputs);
            int different = 0;
            for (std::size_t i = 0; i < got.size(); ++i) {
                const bool same =
                    std::memcmp(&got[i], &want[i], sizeof(T)) == 0 || (std::isnan(got[i]) && std::isnan(want[i]));
                if (!same && ++different <= 3) {
                    ADD_FAILURE() << name << "(" << std::hexfloat << inputs.columns[0][i] << ", "
                                  << inputs.columns.back()[i] << ") = " << got[i] << " on " << isa << " with "
                                  << std::dec << lanes << " lanes, else " << want[i];
                }
            }
            EXPECT_EQ(different, 0) << isa << " with " << lanes << " lanes";
        }
    }
}

TEST_P(Elementary, Float64BitsDependOnNeitherWidthNorInstructionSet) {
    check_same_bits<double>(GetParam());
}
TEST_P(Elementary, Float32BitsDependOnNeitherWidthNorInstructionSet) {
    check_same_bits<float>(GetParam());
}

std::vector<std::string> names() {
    std::vector<std::string> result;
    for (const auto& [name, reference] : references())
        result.push_back(name);
    return result;
}

INSTANTIATE_TEST_SUITE_P(All, Elementary, testing::ValuesIn(names()), [](const auto& test) { return test.param; });

TEST(ElementaryList, EachHasAReferenceHere) {
    std::vector<std::string> listed{"power"}; // of integers it is products
    for (const OpInfo& operation : kOperations)
        if (operation.kind == OpKind::elementary) listed.emplace_back(operation.text);
    std::sort(listed.begin(), listed.end());
    std::vector<std::string> tested = names();
    std::sort(tested.begin(), tested.end());
    EXPECT_EQ(tested, listed);
}

TEST(ElementaryList, RefusesOtherOperationsWrongCountsAndWrongTypes) {
    const Halide::Expr x = Halide::Internal::Variable::make(Halide::Float(64), "x");
    const Halide::Expr n = Halide::Internal::Variable::make(Halide::Int(32), "n");
    const Halide::Expr h = Halide::Internal::Variable::make(Halide::Float(32), "h");
    EXPECT_THROW(elementary(Op::add, {x}, Contraction::none), InternalError);
    EXPECT_THROW(elementary(Op::sin, {}, Contraction::none), InternalError);
    EXPECT_THROW(elementary(Op::sin, {x, x}, Contraction::none), InternalError);
    EXPECT_THROW(elementary(Op::power, {x}, Contraction::none), InternalError);
    EXPECT_THROW(elementary(Op::sin, {n}, Contraction::none), InternalError);
    EXPECT_THROW(elementary(Op::power, {x, h}, Contraction::none), InternalError);
}

/// Twelve calls inside each other: the expression stays small, and equals the calls one after the other.
TEST(ElementaryNesting, DeepCallsCompileAndEqualTheirStages) {
    const std::vector<Op> chain = {Op::sin, Op::exp,  Op::cos, Op::tanh,   Op::expm1, Op::arctan,
                                   Op::sin, Op::cosh, Op::log, Op::arctan, Op::exp,   Op::log1p};
    const Inputs<double> inputs = make_inputs<double>(1, 5000);
    Halide::ImageParam in(Halide::Float(64), 1);
    Halide::Var i("i");
    Halide::Func out("out");
    Halide::Expr value = in(i);
    for (const Op op : chain)
        value = elementary(op, {value}, Contraction::none);
    out(i) = value;
    out.vectorize(i, 8, Halide::TailStrategy::GuardWithIf);
    Halide::Pipeline pipeline(out);
    dsl::add_rare_path_pass(pipeline);
    Halide::Callable callable = pipeline.compile_to_callable({in}, math_target(best_isa(), false));
    std::vector<double> got(std::size_t(inputs.count()));
    Halide::Buffer<double> source(const_cast<double*>(inputs.columns[0].data()), inputs.count());
    Halide::Buffer<double> target(got.data(), inputs.count());
    ASSERT_EQ(callable(source, target), 0);

    Inputs<double> step = inputs;
    for (const Op op : chain) {
        MathKernel& kernel = kernel_of(text_of(op), Halide::Float(64), best_isa(), 8);
        step.columns[0] = apply(kernel, step);
    }
    for (std::size_t k = 0; k < got.size(); ++k) {
        const double want = step.columns[0][k];
        EXPECT_TRUE(got[k] == want || (std::isnan(got[k]) && std::isnan(want))) << inputs.columns[0][k];
    }
}

} // namespace
} // namespace tilewright::translator::test
