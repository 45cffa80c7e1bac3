// tests/autotune/landscape.h: a space like those of real functions, and simulated times that behave like real ones.
#pragma once

#include <cmath>
#include <string>

#include "autotune/machine.h"
#include "autotune/search/strategy.h"
#include "dsl/language/schedule_text.h"
#include "tests/autotune/recorded_workbench.h"

namespace tilewright::autotune::testing {

inline const char* const kSpaceText = R"(tilewright-space 1
space get_labels for x86-64-v4
labels.split(i, io, ii, ?tile{1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}).parallel(io).vectorize(ii, ?lanes{4, 8, 16, 32, 64})
choose { nearest.inline() | nearest.compute_at(labels, ii).vectorize(i, ?inner{4, 8, 16, 32}).unroll(k, ?unroll{1, 2, 4, 8}) | nearest.compute_root().vectorize(i, ?root{8, 16}) }
choose { norm.inline() | norm.compute_at(labels, io).store_in(stack) | norm.compute_at(nearest, k) }
dist.compute_at(labels, ii).unroll(j, ?dist{1, 2, 3, 4, 6, 8, 12, 16})
where ?tile % ?lanes == 0
)";

inline dsl::AlgorithmInfo example_info() {
    dsl::AlgorithmInfo info;
    info.function = "get_labels";
    for (const char* name : {"dist", "norm", "nearest", "labels"}) {
        dsl::StageInfo stage;
        stage.name = name;
        stage.dtypes = {"float64"};
        stage.output = std::string(name) == "labels";
        info.stages.push_back(stage);
    }
    info.sizes = {{"X.0", 1000000}};
    return info;
}

inline Machine example_machine() {
    Machine machine;
    machine.isa = "x86-64-v4";
    machine.cores = 2;
    machine.fingerprint = "0123456789abcdef0123456789abcdef";
    return machine;
}

/// The number behind `words` in `text`; `otherwise` where it does not stand there.
inline double number_after(const std::string& text, const std::string& words, double otherwise) {
    const auto at = text.find(words);
    return at == std::string::npos ? otherwise : std::atof(text.c_str() + at + words.size());
}

/// Nanoseconds: a wide valley with interactions, a cliff, and one branch that is far better with the right factors
/// only.
inline double time_of(const std::string& text) {
    const double tile = number_after(text, "split(i, io, ii, ", 4096);
    const double lanes = number_after(text, "vectorize(ii, ", 8);
    const double dist = number_after(text, "unroll(j, ", 1);
    auto off = [](double value, double best) { return std::abs(std::log2(value / best)); };
    double time = 10e6;
    time *= 1 + 0.08 * off(tile, 16384);
    time *= 1 + 0.15 * off(lanes, 16) + 0.03 * off(lanes * dist, 64);
    time *= 1 + 0.04 * std::abs(dist - 4);
    if (text.find("nearest.compute_at") != std::string::npos) {
        const double inner = number_after(text, "vectorize(i, ", 4);
        const double unroll = number_after(text, "unroll(k, ", 1);
        time *= 0.7 * (1 + 0.25 * off(inner, lanes) + 0.1 * off(unroll, 2));
    } else if (text.find("nearest.compute_root") != std::string::npos) {
        time *= 2.5;
    }
    if (text.find("norm.compute_at(nearest") != std::string::npos) time *= 0.9;
    if (text.find("norm.compute_at(labels") != std::string::npos) time *= tile > 32768 ? 3 : 1.1;
    return time;
}

inline SearchSpace open_space(const char* text = kSpaceText) {
    return {"the only variant", dsl::Space(dsl::parse_schedule(text, "<test>")),
            make_environment(example_info(), example_machine())};
}

} // namespace tilewright::autotune::testing
