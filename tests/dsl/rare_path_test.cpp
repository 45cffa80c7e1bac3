// tests/dsl/rare_path_test.cpp: a marker is worth its select, bit for bit, and costs a branch.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "Halide.h"
#include "dsl/code/lowering.h"
#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "tests/few.h"

namespace tilewright::dsl {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::RDom;
using Halide::Tuple;
using Halide::Var;

Expr number(double value) {
    return Halide::Internal::make_const(Halide::Float(64), value);
}

/// A marker, or the select that it must be worth.
Expr choose(bool marked, Expr condition, Expr slow, Expr fast) {
    return marked ? rare(condition, slow, fast) : Halide::select(condition, slow, fast);
}
Expr sine(Expr x, bool marked) {
    return choose(marked, Halide::abs(x) > number(10), Halide::sin(x), x * (number(1) - x * x / number(6)));
}
Expr power(Expr x, bool marked) {
    return choose(marked, !(Halide::abs(x) < number(700)), Halide::exp(x), number(1) + x + x * x / number(2));
}

struct Shape {
    const char* name;
    std::function<void(Func& out, ImageParam& in, Var x, bool marked)> define;
};

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> list = {
        {"one", [](Func& out, ImageParam& in, Var x, bool m) { out(x) = sine(in(x), m) * number(2); }},
        {"sum_of_nested",
         [](Func& out, ImageParam& in, Var x, bool m) {
             out(x) = power(sine(in(x), m) + sine(in(x)*number(2), m), m) * sine(in(x), m);
         }},
        {"condition_holds_marker",
         [](Func& out, ImageParam& in, Var x, bool m) {
             out(x) = power(sine(sine(in(x), m) * number(200), m) * number(100), m) + sine(in(x)*in(x), m);
         }},
        {"slow_holds_marker",
         [](Func& out, ImageParam& in, Var x, bool m) {
             out(x) = choose(m, sine(in(x), m) > number(0.5), sine(in(x)*number(3), m) + sine(sine(in(x), m), m),
                             sine(in(x)-number(1), m));
         }},
        {"update",
         [](Func& out, ImageParam& in, Var x, bool m) {
             RDom r(0, 5);
             out(x) = number(0);
             out(x) += sine(in(x) + r, m);
         }},
        {"tuple_update",
         [](Func& out, ImageParam& in, Var x, bool m) {
             Func pair;
             pair(x) = Tuple(sine(in(x), m), power(in(x), m));
             pair(x) =
                 Tuple(pair(x)[1] + sine(pair(x)[0] * number(5), m), power(pair(x)[0] * number(300), m) + pair(x)[1]);
             pair.compute_root().vectorize(x, 4, Halide::TailStrategy::GuardWithIf);
             pair.update().vectorize(x, 8, Halide::TailStrategy::GuardWithIf);
             out(x) = pair(x)[0] + pair(x)[1];
         }},
        {"loop_invariant",
         [](Func& out, ImageParam& in, Var x, bool m) {
             RDom r(0, 5);
             out(x) = number(0);
             out(x) += sine(in(x), m) * r * sine(in(x)*number(7), m);
         }},
        {"several_updates",
         [](Func& out, ImageParam& in, Var x, bool m) {
             out(x) = sine(in(x), m);
             out(x) += sine(out(x) * number(30), m);
             out(x) = power(out(x), m) - out(x);
         }},
        {"mixed_types",
         [](Func& out, ImageParam& in, Var x, bool m) {
             const Expr single = Halide::cast<float>(in(x));
             const Expr narrow = choose(m, single > 3.0f, Halide::sin(single), single * 2.0f);
             out(x) = Halide::cast<double>(narrow) + Halide::select(sine(in(x), m) > number(0), number(1), number(2));
         }},
    };
    return list;
}

enum class Loops { serial, vector4, vector16, unrolled, vector8_unrolled };

std::vector<double> run(const Shape& shape, bool marked, Loops loops, Halide::TailStrategy tail) {
    Var x("x");
    ImageParam in(Halide::Float(64), 1);
    Func out;
    shape.define(out, in, x, marked);
    const int lanes = loops == Loops::vector4            ? 4
                      : loops == Loops::vector16         ? 16
                      : loops == Loops::vector8_unrolled ? 8
                                                         : 1;
    if (lanes > 1) {
        out.vectorize(x, lanes, tail);
        for (int k = 0; k < out.num_update_definitions(); ++k) {
            out.update(k).vectorize(x, lanes, Halide::TailStrategy::GuardWithIf);
        }
    }
    if (loops == Loops::unrolled || loops == Loops::vector8_unrolled)
        out.unroll(x, 2, Halide::TailStrategy::GuardWithIf);
    for (int k = 0; k < out.num_update_definitions(); ++k) {
        if (!out.update(k).get_schedule().touched()) out.update(k).unscheduled();
    }
    Halide::Pipeline pipeline(out);
    add_statement_pass(pipeline, branch_scalar_predicates);
    add_rare_path_pass(pipeline);
    constexpr int kCount = 133;
    Halide::Buffer<double> values(kCount);
    for (int k = 0; k < kCount; ++k)
        values(k) = k % 17 == 0 ? 1e3 * (k % 3) + k : (k * 0.37 - 20) / 3;
    for (int k = 40; k < 80; ++k)
        values(k) = 0.01 * k; // a stretch where nothing is rare
    values(5) = std::numeric_limits<double>::quiet_NaN();
    values(6) = std::numeric_limits<double>::infinity();
    values(90) = -std::numeric_limits<double>::infinity();
    in.set(values);
    Halide::Buffer<double> result =
        pipeline.realize({kCount}, Halide::get_host_target().with_feature(Halide::Target::StrictFloat));
    return {result.begin(), result.end()};
}

class RarePath : public ::testing::TestWithParam<int> {};

TEST_P(RarePath, IsWorthItsSelect) {
    const Shape& shape = shapes()[GetParam()];
    // No loop changes a bit of it.
    const auto want = run(shape, false, Loops::serial, Halide::TailStrategy::GuardWithIf);
    for (Loops loops : {Loops::serial, Loops::vector4, Loops::vector16, Loops::unrolled, Loops::vector8_unrolled}) {
        auto place = static_cast<std::size_t>(GetParam()) + static_cast<std::size_t>(loops);
        for (auto tail :
             {Halide::TailStrategy::GuardWithIf, Halide::TailStrategy::Predicate, Halide::TailStrategy::ShiftInwards}) {
            if (!tests::one_in(3, place++)) continue;
            const auto have = run(shape, true, loops, tail);
            for (std::size_t k = 0; k < want.size(); ++k) {
                const bool same = std::memcmp(&want[k], &have[k], sizeof(double)) == 0 ||
                                  (std::isnan(want[k]) && std::isnan(have[k]));
                ASSERT_TRUE(same) << shape.name << " loops " << static_cast<int>(loops) << " at " << k << ": "
                                  << want[k] << ", " << have[k];
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, RarePath, ::testing::Range(0, static_cast<int>(9)),
                         [](const auto& test) { return shapes()[test.param].name; });

/// Counts stores, branches and library calls of a lowered pipeline.
class Count : public Halide::Internal::IRVisitor {
  public:
    int stores = 0;
    int calls = 0;
    int calls_outside = 0;
    int markers = 0;

  private:
    using Halide::Internal::IRVisitor::visit;
    int branches_ = 0;
    void visit(const Halide::Internal::Store* op) override {
        ++stores;
        IRVisitor::visit(op);
    }
    void visit(const Halide::Internal::IfThenElse* op) override {
        ++branches_;
        IRVisitor::visit(op);
        --branches_;
    }
    void visit(const Halide::Internal::Call* op) override {
        markers += op->name == kRareMarker;
        if (op->is_extern() && op->name == "sin_f64") {
            ++calls;
            calls_outside += branches_ == 0;
        }
        IRVisitor::visit(op);
    }
};

Count count(const std::function<void(Func&, ImageParam&, Var)>& define) {
    Var x("x");
    ImageParam in(Halide::Float(64), 1);
    Func out("out");
    define(out, in, x);
    out.vectorize(x, 8, Halide::TailStrategy::RoundUp);
    Halide::Pipeline pipeline(out);
    add_rare_path_pass(pipeline);
    const auto module = pipeline.compile_to_module({in}, "counted", halide_target("x86-64-v3", true));
    Count result;
    for (const auto& function : module.functions())
        function.body.accept(&result);
    return result;
}

TEST(RarePath, TwoCopiesOfAStatementAtMostAndNoLibraryCallOutside) {
    const Count nested = count([](Func& out, ImageParam& in, Var x) {
        out(x) = sine(sine(sine(in(x), true), true), true) + sine(in(x), true);
    });
    EXPECT_EQ(nested.stores, 2);
    EXPECT_EQ(nested.markers, 0);
    EXPECT_EQ(nested.calls_outside, 0);
    EXPECT_EQ(nested.calls, 3); // the repeated one is common
}

TEST(RarePath, SharedLibraryCallsSinkIntoTheSlowCopy) {
    const Count shared = count([](Func& out, ImageParam& in, Var x) {
        const Expr slow = Halide::sin(in(x));
        out(x) = rare(in(x) > number(1), slow, in(x)) * rare(in(x) > number(2), slow * number(3), number(1) - in(x));
    });
    EXPECT_EQ(shared.calls_outside, 0);
    EXPECT_GE(shared.calls, 1);
    EXPECT_EQ(shared.stores, 2);
}

} // namespace
} // namespace tilewright::dsl
