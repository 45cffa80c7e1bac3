// tests/dsl/early_exit_test.cpp: loops whose dead visits are skipped give the bits of loops that run to their end.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "Halide.h"
#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using namespace Halide;

/// z <- z^2 + c for `iterations` iterations where |z| < 4, with the number of the last iteration that changed it.
struct Orbit {
    Var i{"i"}, j{"j"};
    Param<int> iterations{"iterations"};
    RDom t{0, iterations, "t"};
    Func state{"state"}, out{"out"};

    explicit Orbit(bool marked) {
        state(j, i) = Tuple(0.0f, 0.0f, 0);
        const Expr a = state(j, i)[0];
        const Expr b = state(j, i)[1];
        Expr alive = a * a + b * b < 16.0f;
        if (marked) alive = mark_alive(alive, t);
        state(j, i) = Tuple(select(alive, a * a - b * b + cast<float>(j) / 40 - 2.0f, a),
                            select(alive, 2 * a * b + cast<float>(i) / 15 - 1.0f, b), select(alive, t, state(j, i)[2]));
        out(j, i) = Tuple(state(j, i)[0], state(j, i)[1], state(j, i)[2]);
    }
};

using Schedule = std::function<void(Orbit&)>;

/// An orbit with its schedule, compiled once for any number of iterations.
class Compiled {
  public:
    Compiled(bool marked, const Schedule& schedule) : orbit_(marked) {
        schedule(orbit_);
        pipeline_ = Pipeline(orbit_.out);
        add_passes(pipeline_, false);
    }

    std::vector<float> run(int iterations) {
        orbit_.iterations.set(iterations);
        Buffer<float> a(117, 31);
        Buffer<float> b(117, 31);
        Buffer<int> n(117, 31);
        pipeline_.realize({a, b, n}, target_);
        std::vector<float> result;
        for (int y = 0; y < 31; ++y) {
            for (int x = 0; x < 117; ++x) {
                result.push_back(a(x, y));
                result.push_back(b(x, y));
                result.push_back(static_cast<float>(n(x, y)));
            }
        }
        return result;
    }

    std::string lowered() {
        std::ostringstream text;
        text << pipeline_.compile_to_module({orbit_.iterations}, "orbit", target_);
        return text.str();
    }

  private:
    Orbit orbit_;
    Pipeline pipeline_;
    Target target_ = get_jit_target_from_environment().with_feature(Target::StrictFloat);
};

void expect_same(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k)
        ASSERT_EQ(std::memcmp(&got[k], &expected[k], sizeof(float)), 0) << k;
}

TEST(EarlyExit, GivesTheBitsOfAllIterations) {
    const std::vector<Schedule> schedules = {
        [](Orbit& o) { o.state.compute_at(o.out, o.j); },
        [](Orbit& o) { o.state.compute_root(); },
        [](Orbit& o) {
            o.state.compute_root();
            o.state.update().reorder(o.j, o.i, o.t).vectorize(o.j, 8, TailStrategy::GuardWithIf);
        },
        [](Orbit& o) {
            RVar to, ti;
            o.state.compute_at(o.out, o.i).vectorize(o.j, 16, TailStrategy::GuardWithIf);
            o.state.update().split(o.t, to, ti, 5).reorder(o.j, ti, to).vectorize(o.j, 16, TailStrategy::GuardWithIf);
            o.state.update().unroll(ti);
        },
        [](Orbit& o) {
            Var io, ii, jo, ji;
            RVar to, ti;
            o.out.tile(o.j, o.i, jo, io, ji, ii, 16, 3, TailStrategy::ShiftInwards).vectorize(ji).unroll(ii);
            o.state.compute_at(o.out, jo).vectorize(o.j, 16).unroll(o.i);
            o.state.update().split(o.t, to, ti, 4).reorder(o.j, o.i, ti, to).vectorize(o.j, 16).unroll(o.i).unroll(ti);
        },
        // Iterations of one row before those of the next, inside one visit.
        [](Orbit& o) {
            Var io, ii, jo, ji;
            RVar to, ti;
            o.out.tile(o.j, o.i, jo, io, ji, ii, 16, 2, TailStrategy::ShiftInwards).vectorize(ji).unroll(ii);
            o.state.compute_at(o.out, jo).vectorize(o.j, 16).unroll(o.i);
            o.state.update().split(o.t, to, ti, 4).reorder(o.j, ti, o.i, to).vectorize(o.j, 16).unroll(o.i).unroll(ti);
        },
    };
    Compiled plain(false, schedules[0]);
    for (std::size_t k = 0; k < schedules.size(); ++k) {
        SCOPED_TRACE(k);
        Compiled marked(true, schedules[k]);
        std::vector<int> tried{0, 1, 23, 163};
        if (k == 4) tried.push_back(10007); // more than one block of each level
        for (const int iterations : tried) {
            SCOPED_TRACE(iterations);
            expect_same(marked.run(iterations), plain.run(iterations));
        }
    }
}

TEST(EarlyExit, LeavesBlocksOfVisitsAndNoMarker) {
    const auto by_element = [](Orbit& o) { o.state.compute_at(o.out, o.j); };
    const std::string marked = Compiled(true, by_element).lowered();
    EXPECT_EQ(marked.find("tw_alive"), std::string::npos);
    EXPECT_NE(marked.find(".block1024"), std::string::npos);
    EXPECT_NE(marked.find(".block32"), std::string::npos);
    EXPECT_EQ(Compiled(false, by_element).lowered().find(".block"), std::string::npos);
}

} // namespace
} // namespace tilewright::dsl
