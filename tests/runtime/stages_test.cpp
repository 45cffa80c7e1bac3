// tests/runtime/stages_test.cpp: plans with stages that somebody else computes: what these see, and what they may say.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/runtime/executor.h"
#include "tests/runtime/kernel_files.h"

namespace tilewright::runtime {
namespace {

using tests::kernel;

std::string plan_text(const std::string& header, const std::string& body) {
    return "tilewright-plan 1\nfunction f\n" + header + "version \"only\"\n" + body + "end\n";
}

std::string message_of(const std::string& header, const std::string& body) {
    try {
        const std::string text = plan_text(header, body);
        EXPECT_EQ(print_plan(parse_plan(text)), text);
    } catch (const ExportError& e) {
        return e.what();
    }
    return "accepted";
}

/// Plays the part of Python.
class Stages {
  public:
    using Body = std::function<StageOutcome(const std::vector<StageArray>&)>;

    Stages& on(const std::string& text, Body body) {
        bodies_[text] = std::move(body);
        return *this;
    }
    RunStatus run(const Executable& e, std::vector<double>& x, std::vector<double>& result,
                  std::string* failed = nullptr, std::int64_t n = 0) {
        std::vector<char> memory(e.frame_bytes());
        Executable::Frame frame = e.lay_out(memory.data());
        std::int64_t shape[1] = {static_cast<std::int64_t>(x.size())}, strides[1] = {8};
        frame.arguments[0].array = {x.data(), shape, strides};
        if (e.plan().arguments.size() > 1) std::memcpy(frame.arguments[1].scalar, &n, sizeof n);
        int argument = -1;
        EXPECT_TRUE(e.read_sizes(frame, argument));
        EXPECT_TRUE(e.size_results(frame));
        if (!e.plan().results.empty()) {
            result.assign(static_cast<std::size_t>(frame.results[0].elements), -1.0);
            frame.results[0].data = result.data();
        }
        texts_ = e.stages();
        const StageRunner runner{[](void* self, int stage, const StageArray* arrays, int count) {
                                     auto& s = *static_cast<Stages*>(self);
                                     return s.bodies_.at(s.texts_.at(static_cast<std::size_t>(stage)))(
                                         std::vector<StageArray>(arrays, arrays + count));
                                 },
                                 this};
        if (!bodies_.empty()) frame.stages = &runner;
        return e.run(frame, e.select(frame), nullptr, failed);
    }

  private:
    std::map<std::string, Body> bodies_;
    std::vector<std::string> texts_;
};

double* doubles(const StageArray& array) {
    return static_cast<double*>(array.data);
}

StageOutcome reversed(const std::vector<StageArray>& arrays) {
    const std::int64_t n = arrays[0].shape[0];
    for (std::int64_t i = 0; i < n; ++i)
        doubles(arrays[1])[i] = doubles(arrays[0])[n - 1 - i];
    return StageOutcome::done;
}

const std::string kHeader = "arg x float64 1\nresult y float64 [x.0]\nreturn y\n";
const std::string kBody = "temp t float64 [x.0]\ntemp u float64 [x.0]\ncall half in \"half\" (x, t)\n"
                          "stage \"reversed($0)\" (t, u)\ncall half in \"half\" (u, y)\n";

std::shared_ptr<const Executable> load(const std::string& header, const std::string& body) {
    static const std::string half = kernel("half"), step = kernel("step");
    return Executable::load(plan_text(header, body), {{"half", half}, {"step", step}});
}

TEST(Stages, RunBetweenKernels) {
    const auto e = load(kHeader, kBody);
    EXPECT_EQ(e->stages(), std::vector<std::string>{"reversed($0)"});
    std::vector<double> x{4, 8, 12}, y;
    EXPECT_EQ(Stages().on("reversed($0)", reversed).run(*e, x, y), RunStatus::done);
    EXPECT_EQ(y, (std::vector<double>{3, 2, 1}));
}

TEST(Stages, OneTextIsOneStageHoweverOftenItRuns) {
    const auto e = load("arg x float64 1\nscalar n int64\nresult y float64 [x.0]\nreturn y\n",
                        "temp t float64 [x.0]\ncopy x to t\nfor i from 0 to n step 1 {\nstage \"a\" (t, y)\n"
                        "copy y to t\nstage \"b\" (t, y)\nstage \"a\" (y, t)\n}\ncopy t to y\n");
    EXPECT_EQ(e->stages(), (std::vector<std::string>{"a", "b"}));
    std::string order;
    const auto noted = [&](char name) {
        return [&order, name](const std::vector<StageArray>& arrays) {
            order += name;
            return reversed(arrays);
        };
    };
    std::vector<double> x{1, 2}, y;
    Stages stages;
    stages.on("a", noted('a')).on("b", noted('b'));
    EXPECT_EQ(stages.run(*e, x, y, nullptr, 3), RunStatus::done);
    EXPECT_EQ(order, "abaabaaba");
    EXPECT_EQ(y, (std::vector<double>{2, 1}));
}

TEST(Stages, SeeShapesInNumPysOrderAndAxesAsThePlanHasThem) {
    const auto e = Executable::load(
        plan_text(
            "arg x float64 1\nresult y float64 [x.0]\nreturn y\n",
            "temp t float64 [x.0, 3]\nstage \"made($0)\" (x, t)\nstage \"turned($0, $1, $2)\" (t^10, t^0n1, x, y)\n"),
        {});
    std::vector<double> x{1, 2}, y;
    Stages stages;
    stages.on("made($0)", [](const std::vector<StageArray>& a) {
        EXPECT_EQ(a[1].rank, 2);
        for (int k = 0; k < 6; ++k)
            doubles(a[1])[k] = k;
        return StageOutcome::done;
    });
    stages.on("turned($0, $1, $2)", [](const std::vector<StageArray>& a) {
        const auto sizes = [](const StageArray& one, const std::int64_t* of) {
            return std::vector<std::int64_t>(of, of + one.rank);
        };
        EXPECT_EQ(a.size(), 4u);
        EXPECT_EQ(sizes(a[0], a[0].shape), (std::vector<std::int64_t>{3, 2}));
        EXPECT_EQ(sizes(a[0], a[0].strides), (std::vector<std::int64_t>{8, 24}));
        EXPECT_EQ(sizes(a[1], a[1].shape), (std::vector<std::int64_t>{2, 1, 3}));
        EXPECT_EQ(a[1].strides[0], 24);
        EXPECT_EQ(a[1].strides[2], 8);
        EXPECT_EQ(sizes(a[2], a[2].shape), (std::vector<std::int64_t>{2}));
        EXPECT_EQ(a[3].dtype, DType::float64);
        doubles(a[3])[0] = doubles(a[0])[4]; // [2, 0]
        doubles(a[3])[1] = 7;
        return StageOutcome::done;
    });
    EXPECT_EQ(stages.run(*e, x, y), RunStatus::done);
    EXPECT_EQ(y[1], 7);
}

TEST(Stages, OneThatIsRefusedEndsTheCallAsACheckDoes) {
    const auto e = load(kHeader, kBody);
    std::vector<double> x{4, 8}, y;
    std::string failed;
    Stages refusing;
    refusing.on("reversed($0)", [](const auto&) { return StageOutcome::refused; });
    EXPECT_EQ(refusing.run(*e, x, y, &failed), RunStatus::check_failed);
    EXPECT_EQ(failed, "reversed($0) raised, or gave an array of another kind");
    EXPECT_EQ(y[0], -1.0) << "what comes behind it did not run";
    failed.clear();
    EXPECT_EQ(Stages().run(*e, x, y, &failed), RunStatus::check_failed) << "nobody computes stages";
    EXPECT_EQ(failed, "reversed($0) raised, or gave an array of another kind");
}

TEST(Stages, OneThatIsInterruptedEndsTheCall) {
    const auto e = load("arg x float64 1\nscalar n int64\nresult y float64 [x.0]\nreturn y\n",
                        "for i from 0 to n step 1 {\nstage \"a\" (x, y)\n}\n");
    std::vector<double> x{4, 8}, y;
    int calls = 0;
    Stages stages;
    stages.on("a", [&](const auto& arrays) { return ++calls == 3 ? StageOutcome::interrupted : reversed(arrays); });
    EXPECT_EQ(stages.run(*e, x, y, nullptr, 100), RunStatus::interrupted);
    EXPECT_EQ(calls, 3);
}

TEST(Stages, AVersionForADeviceHasNone) {
    try {
        Executable::load(plan_text(kHeader, "require isa cuda-sm_80\nstage \"numpy.sort($0)\" (x, y)\n"), {});
        FAIL() << "it was loaded";
    } catch (const ExportError& e) {
        EXPECT_STREQ(e.what(), "plan of f: the stage numpy.sort($0) in a version for a device. Python computes it, of "
                               "arrays of the host.");
    }
}

TEST(StagesInPlans, WhatTheyTakeIsSaid) {
    const std::string hint = " Export or tune the function again.";
    const auto said = [](const std::string& stage) { return message_of(kHeader, stage + "\n"); };
    EXPECT_EQ(said("stage \"numpy.sort($0, kind=\\\"stable\\\")\" (x, y)"), "accepted");
    EXPECT_EQ(said("stage \"\" (x, y)"), "plan of f, line 7: the stage says nothing that could be computed." + hint);
    EXPECT_EQ(said("stage \"a\" (y)"), "plan of f, line 7: a stage takes one to 31 arrays, and gives one." + hint);
    std::string many = "x";
    for (int k = 0; k < 31; ++k)
        many += ", x";
    EXPECT_EQ(said("stage \"a\" (" + many + ", y)"),
              "plan of f, line 7: a stage takes one to 31 arrays, and gives one." + hint);
    EXPECT_EQ(said("stage \"a\" (x.0, y)"), "plan of f, line 7: a stage takes arrays, and 'x.0' is not one." + hint);
    EXPECT_EQ(said("stage \"a\" (x, x)"), message_of(kHeader, "copy x to x\n")) << "arguments are not written";
    EXPECT_EQ(said("stage numpy.sort (x, y)"),
              "plan of f, line 7: expected an expression in double quotes at 'numpy.sort (x, y)'." + hint);
    EXPECT_EQ(message_of("arg A float64 2 written\nreturn None\n", "stage \"a\" (A^10, A)\n"),
              "plan of f, line 6: a stage writes in C order; the version does not require 'layout A C'." + hint);
}

TEST(StagesInPlans, WhatIsHeldIsReturned) {
    const std::string text =
        plan_text("arg x float64 1\nresult r int64 []\nresult y float64 [x.0]\nreturn (held r, y)\n",
                  "stage \"numpy.unique($0) as r1\" (x, r)\nstage \"numpy.sort($0)\" (x, y)\n");
    const Plan plan = parse_plan(text);
    EXPECT_EQ(print_plan(plan), text);
    EXPECT_EQ(plan.numbers, (std::vector<std::string>{"held", ""}));
    EXPECT_EQ(message_of("arg x float64 1\nresult y float64 []\nreturn held y\n", "stage \"a\" (x, y)\n"),
              "plan of f, line 5: 'y' makes no held: it has another dtype, or dimensions. Export or tune the function "
              "again.");
}

} // namespace
} // namespace tilewright::runtime
