// tests/dsl/autoschedule_test.cpp: what autoschedulers propose, in our language, gives Halide's loops and the same
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "algorithms.h"
#include "dsl/base/error.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/code/lowering.h"
#include "dsl/language/schedule_text.h"
#include "kernel_runner.h"

namespace tilewright::dsl::test {
namespace {

struct Case {
    const char* name;
    std::function<Algorithm()> make;
    std::vector<std::int32_t> sizes; // in the builder's order
    std::vector<std::pair<halide_type_t, std::vector<int>>> inputs;
    std::pair<halide_type_t, std::vector<int>> output;
};

const halide_type_t kFloat = halide_type_t(halide_type_float, 32);
const halide_type_t kDouble = halide_type_t(halide_type_float, 64);
const halide_type_t kInt64 = halide_type_t(halide_type_int, 64);

/// chain with sizes to plan for.
Algorithm sized_chain() {
    Algorithm algorithm = chain();
    AlgorithmInfo info = algorithm.info();
    for (SizeInfo& size : info.sizes)
        size.here = size.name == "X.0" ? 300 : 200;
    for (StageInfo& stage : info.stages) {
        stage.pure.loops[0].extent_here = 300;
        stage.pure.loops[1].extent_here = 200;
    }
    return Algorithm(std::make_unique<AlgorithmImpl>(algorithm.impl()), info);
}

const std::vector<Case>& cases() {
    static const std::vector<Case> list = {
        {"gemm", gemm, {48, 64, 80, 48}, {{kFloat, {64, 48}}, {kFloat, {48, 80}}}, {kFloat, {64, 80}}},
        {"chain", sized_chain, {200, 300}, {{kDouble, {300, 200}}}, {kDouble, {300, 200}}},
        {"softmax", softmax, {100, 60}, {{kFloat, {60, 100}}}, {kFloat, {60, 100}}},
        {"kmeans", kmeans, {2, 3000, 2, 2}, {{kDouble, {3000, 2}}, {kDouble, {2, 2}}}, {kInt64, {3000}}},
    };
    return list;
}

std::vector<unsigned char> run(const Case& test, const Schedule& schedule) {
    Algorithm algorithm = test.make();
    apply(algorithm, schedule, false);
    EmitOptions options;
    options.isa = "x86-64-v3";
    const Emitted emitted = emit(std::move(algorithm), schedule, options);
    const LoadedKernel kernel(emitted.kernels.at(0));
    std::vector<GuardedArray> arrays;
    for (const auto& [type, shape] : test.inputs) {
        arrays.emplace_back(type, shape);
        for (std::size_t k = 0; k < arrays.back().size(); ++k) {
            const double value = static_cast<double>((k * 7919 + 13) % 1009) / 97.0;
            if (type == kFloat) {
                arrays.back().data<float>()[k] = static_cast<float>(value);
            } else {
                arrays.back().data<double>()[k] = value;
            }
        }
    }
    arrays.emplace_back(test.output.first, test.output.second);
    std::vector<GuardedArray*> pointers;
    for (GuardedArray& array : arrays)
        pointers.push_back(&array);
    EXPECT_EQ(kernel.run(test.sizes, pointers), 0);
    for (const GuardedArray& array : arrays)
        EXPECT_TRUE(array.intact()) << test.name;
    return {arrays.back().begin(), arrays.back().begin() + arrays.back().byte_count()};
}

/// How each definition's loops run, outermost first: "serial serial vectorized 8".
std::vector<std::string> nests(const Algorithm& algorithm) {
    std::vector<std::string> result;
    for (const auto& [name, stage] : algorithm.impl().stages) {
        const auto function = stage.func.function();
        auto add = [&](const std::string& where, const Halide::Internal::Definition& definition) {
            std::string text = where + ":";
            for (auto dim = definition.schedule().dims().rbegin(); dim != definition.schedule().dims().rend(); ++dim) {
                text += " " + std::to_string(static_cast<int>(dim->for_type));
            }
            for (const auto& split : definition.schedule().splits()) {
                if (split.split_type != Halide::Internal::Split::SplitVar) continue;
                const auto factor = Halide::Internal::as_const_int(split.factor);
                text += " /" + (factor ? std::to_string(*factor) : "?");
            }
            result.push_back(text);
        };
        add(name, function.definition());
        for (std::size_t k = 0; k < function.updates().size(); ++k) {
            add(name + "." + std::to_string(k), function.update(static_cast<int>(k)));
        }
    }
    return result;
}

class Autoschedulers : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(Autoschedulers, ProposeLegalTextThatGivesTheSameBits) {
    const Case& test = cases()[std::get<0>(GetParam())];
    const std::string name = std::get<1>(GetParam());
    const Schedule proposed = autoschedule(test.make(), name, "x86-64-v3", 2);
    const std::string text = print_schedule(proposed);
    SCOPED_TRACE(text);
    EXPECT_FALSE(proposed.statements.empty());
    const Algorithm described = test.make();
    EXPECT_TRUE(check(described.info(), proposed).empty());
    EXPECT_EQ(parse_schedule(text), proposed);
    Schedule plain;
    plain.target = "x86-64-v3";
    EXPECT_EQ(run(test, plain), run(test, proposed));
}

INSTANTIATE_TEST_SUITE_P(All, Autoschedulers,
                         ::testing::Combine(::testing::Range(0, 4),
                                            ::testing::Values("Adams2019", "Mullapudi2016", "Li2018")),
                         [](const auto& one) {
                             return std::string(cases()[std::get<0>(one.param)].name) + "_" + std::get<1>(one.param);
                         });

TEST(Autoschedule, KeepsHalidesLoops) {
    // A chain has no reductions, so nothing that our rules refuse: loops and factors must be Halide's own.
    Algorithm theirs = sized_chain();
    Algorithm described = sized_chain();
    const Schedule proposed = autoschedule(sized_chain(), "Mullapudi2016", "x86-64-v3", 2);
    for (auto& [name, param] : theirs.impl().sizes)
        param.set_estimate(name == "X.0" ? 300 : 200);
    theirs.impl().inputs.at("X").set_estimates({{0, 200}, {0, 300}});
    theirs.impl().kernels[0].outputs[0].set_estimates({{0, 200}, {0, 300}});
    Halide::Pipeline(theirs.impl().kernels[0].outputs)
        .apply_autoscheduler(halide_target("x86-64-v3", true),
                             Halide::AutoschedulerParams("Mullapudi2016", {{"parallelism", "2"}}));
    apply(described, proposed, false);
    EXPECT_EQ(nests(theirs), nests(described)) << print_schedule(proposed);
}

TEST(Autoschedule, SaysWhatIsMissing) {
    auto message = [](auto&& call) {
        try {
            call();
        } catch (const ScheduleError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_EQ(message([] { autoschedule(gemm(), "Adams2018", "host", 2); }),
              "autoscheduler Adams2018: unknown. Did you mean Adams2019?");
    EXPECT_EQ(message([] { autoschedule(chain(), "Adams2019", "host", 2); }),
              "autoscheduler: the size X.1 is not known. Give sizes to translate for.");
}

} // namespace
} // namespace tilewright::dsl::test
