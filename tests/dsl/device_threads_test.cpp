// tests/dsl/device_threads_test.cpp: what is done to the code of a device's threads leaves its results as they are.
// Loops called `thread` are loops over threads while the passes see them and plain loops before and after, so that the
// CPU runs the code.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <vector>

#include "Halide.h"
#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;

class ThreadLoops : public Internal::IRMutator {
  public:
    explicit ThreadLoops(Internal::ForType type) : type_(type) {}

  private:
    using IRMutator::visit;
    Internal::ForType type_;
    Internal::Stmt visit(const Internal::For* op) override {
        const bool is_thread = op->name.find(".thread") != std::string::npos;
        return Internal::For::make(op->name, op->min, op->extent, is_thread ? type_ : op->for_type,
                                   op->partition_policy, op->device_api, mutate(op->body));
    }
};

/// What the passes make is kept in `code`.
void add_device_passes(Pipeline& pipeline, std::string* code) {
    add_statement_pass(pipeline, [](const Internal::Stmt& statement) {
        return ThreadLoops(Internal::ForType::GPUThread).mutate(statement);
    });
    add_passes(pipeline, false);
    add_statement_pass(pipeline, [code](const Internal::Stmt& statement) {
        const Internal::Stmt threads = whole_threads(statement);
        std::ostringstream text;
        text << threads;
        *code = text.str();
        return ThreadLoops(Internal::ForType::Serial).mutate(threads);
    });
}

Target host() {
    return get_jit_target_from_environment().with_feature(Target::StrictFloat);
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// z <- z^2 + c where |z| < 4, with the last iteration that changed it.
std::vector<std::vector<float>> orbits(const std::vector<int>& iterations, int chunk, int elements, std::string* code) {
    Var i{"i"}, j{"j"}, jo{"jo"}, ji{"ji"}, jt{"thread"}, je{"je"};
    RVar to{"to"}, ti{"ti"};
    Param<int> n{"n"};
    RDom t{0, n, "t"};
    Func state{"state"}, out{"out"};
    state(j, i) = Tuple(0.0f, 0.0f, 0);
    const Expr a = state(j, i)[0], b = state(j, i)[1];
    const Expr alive = mark_alive(a * a + b * b < 16.0f, t);
    state(j, i) = Tuple(select(alive, a * a - b * b + cast<float>(j) / 40 - 2.0f, a),
                        select(alive, 2 * a * b + cast<float>(i) / 15 - 1.0f, b), select(alive, t, state(j, i)[2]));
    out(j, i) = Tuple(state(j, i)[0], state(j, i)[1], state(j, i)[2]);
    out.split(j, jo, ji, 8 * elements, TailStrategy::GuardWithIf)
        .split(ji, je, jt, 8, TailStrategy::GuardWithIf)
        .reorder(je, jt, jo, i)
        .unroll(je);
    state.compute_at(out, elements > 1 ? je : jt).update().split(t, to, ti, chunk).unroll(ti);
    Pipeline pipeline(out);
    add_device_passes(pipeline, code);
    std::vector<std::vector<float>> results;
    for (const int each : iterations) { // compiled once for all of them
        n.set(each);
        Buffer<float> x(117, 31), y(117, 31);
        Buffer<int> last(117, 31);
        pipeline.realize({x, y, last}, host());
        std::vector<float>& result = results.emplace_back();
        for (int k = 0; k < 31; ++k)
            for (int m = 0; m < 117; ++m)
                result.insert(result.end(), {x(m, k), y(m, k), static_cast<float>(last(m, k))});
    }
    return results;
}

std::vector<float> plain_orbits(int iterations) {
    std::vector<float> result;
    for (int i = 0; i < 31; ++i) {
        for (int j = 0; j < 117; ++j) {
            volatile float a = 0, b = 0; // no contraction
            int last = 0;
            for (int t = 0; t < iterations; ++t) {
                const volatile float aa = a * a, bb = b * b, ab = 2 * a * b;
                const volatile float size = aa + bb;
                if (!(size < 16.0f)) break;
                const volatile float u = static_cast<float>(j) / 40, v = static_cast<float>(i) / 15;
                const volatile float difference = aa - bb, left = difference + u, right = ab + v;
                a = left - 2.0f;
                b = right - 1.0f;
                last = t;
            }
            result.insert(result.end(), {a, b, static_cast<float>(last)});
        }
    }
    return result;
}

TEST(DeviceThreads, IterationsInsideOfEachOtherGiveTheSameOrbits) {
    const std::vector<int> iterations{0, 7, 203};
    for (const int chunk : {1, 4, 10}) {
        std::string code;
        const std::vector<std::vector<float>> found = orbits(iterations, chunk, 1, &code);
        for (std::size_t k = 0; k < iterations.size(); ++k)
            EXPECT_EQ(found[k], plain_orbits(iterations[k])) << iterations[k] << " iterations in chunks of " << chunk;
        EXPECT_EQ(code.find("tw_"), std::string::npos);
    }
}

TEST(DeviceThreads, ADeadElementDoesNotEndItsNeighbours) {
    for (const int elements : {2, 3}) {
        std::string code;
        EXPECT_EQ(orbits({40}, 4, elements, &code)[0], plain_orbits(40)) << elements << " elements a thread";
    }
}

/// sqrt(x) where x is large, x where it is not; the first is the rare path. Of each of `inputs`.
std::vector<std::vector<float>> roots(const std::vector<std::vector<float>>& inputs, int elements, bool in_place,
                                      std::string* code) {
    Var i{"i"}, io{"io"}, ii{"ii"}, it{"thread"}, ie{"ie"};
    ImageParam x(Float(32), 1, "x");
    Func out{"out"};
    const Expr value = x(i);
    out(i) = rare(value > 2.0f, sqrt(value), value) + 1.0f;
    if (in_place) out(i) += rare(out(i) > 9.0f, -out(i), out(i));
    const auto spread = [&](Stage stage) {
        stage.split(i, io, ii, 4 * elements, TailStrategy::GuardWithIf)
            .split(ii, ie, it, 4, TailStrategy::GuardWithIf)
            .reorder(ie, it, io)
            .unroll(ie);
    };
    spread(out);
    if (in_place) spread(out.update());
    Pipeline pipeline(out);
    add_device_passes(pipeline, code);
    std::vector<std::vector<float>> results;
    for (const std::vector<float>& values : inputs) { // compiled once for all of them
        const int size = static_cast<int>(values.size());
        Buffer<float> in(size), result(size);
        std::copy(values.begin(), values.end(), in.begin());
        x.set(in);
        pipeline.realize(result, host());
        results.emplace_back(result.begin(), result.end());
    }
    return results;
}

std::vector<float> some_values(int size) {
    std::vector<float> values;
    for (int k = 0; k < size; ++k)
        values.push_back(k % 7 == 3 ? 100.0f + static_cast<float>(k) : static_cast<float>(k % 5) / 4);
    if (size > 2) values[1] = std::numeric_limits<float>::quiet_NaN();
    return values;
}

void expect_same(const std::vector<float>& found, const std::function<float(float)>& wanted,
                 const std::vector<float>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) {
        const float right = wanted(values[k]);
        EXPECT_TRUE(found[k] == right || (std::isnan(found[k]) && std::isnan(right)))
            << "element " << k << " of " << values.size() << ": " << found[k] << " instead of " << right;
    }
}

TEST(DeviceThreads, RarePathsAreFoundWhereverTheyAre) {
    std::vector<std::vector<float>> inputs;
    for (const int size : {1, 3, 4, 15, 16, 17, 64, 101})
        inputs.push_back(some_values(size));
    const auto wanted = [](float v) { return (v > 2 ? std::sqrt(v) : v) + 1.0f; };
    for (const int elements : {1, 2, 4}) {
        std::string code;
        const std::vector<std::vector<float>> found = roots(inputs, elements, false, &code);
        for (std::size_t k = 0; k < inputs.size(); ++k)
            expect_same(found[k], wanted, inputs[k]);
        EXPECT_EQ(code.find("tw_"), std::string::npos);
        // A thread with several elements looks for rare values once, for all of them together.
        if (elements > 1) {
            EXPECT_GT(count(code, "is_rare"), 0U) << code;
        }
    }
}

/// Sums of five elements each; the last one adds what is left.
TEST(DeviceThreads, WhatTheLastBlockAloneDoesIsNoElement) {
    Var i{"i"}, io{"io"}, it{"thread"};
    ImageParam x(Float(32), 1, "x");
    Param<int> n{"n"};
    Func sum{"sum"}, out{"out"};
    RDom r(0, 5, "r"), rest(0, 1, "rest");
    rest.where(i == n / 5 - 1);
    sum(i) = 0.0f;
    sum(i) += x(5 * i + r);
    sum(i) += x(5 * i + 5 + rest);
    out(i) = sum(i);
    out.split(i, io, it, 4, TailStrategy::GuardWithIf);
    sum.compute_at(out, it);
    sum.update(0).unroll(r);
    std::string code;
    Pipeline pipeline(out);
    add_device_passes(pipeline, &code);
    const int size = 103;
    Buffer<float> in(size), result(size / 5);
    for (int k = 0; k < size; ++k)
        in(k) = static_cast<float>(k % 11);
    x.set(in);
    n.set(size);
    pipeline.realize(result, host());
    for (int k = 0; k < size / 5; ++k) {
        float wanted = 0;
        for (int m = 0; m < (k == size / 5 - 1 ? 6 : 5); ++m)
            wanted += in(5 * k + m);
        EXPECT_EQ(result(k), wanted) << k;
    }
    EXPECT_EQ(count(code, "else"), 0U) << code;
}

TEST(DeviceThreads, WhatReadsItsOwnResultIsNotDoneAgain) {
    const auto wanted = [](float v) {
        const float first = (v > 2 ? std::sqrt(v) : v) + 1.0f;
        return first + (first > 9 ? -first : first);
    };
    const std::vector<std::vector<float>> inputs{some_values(1), some_values(16), some_values(101)};
    std::string code;
    const std::vector<std::vector<float>> found = roots(inputs, 4, true, &code);
    for (std::size_t k = 0; k < inputs.size(); ++k)
        expect_same(found[k], wanted, inputs[k]);
}

} // namespace
} // namespace tilewright::dsl
