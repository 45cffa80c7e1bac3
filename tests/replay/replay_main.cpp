// tests/replay/replay_main.cpp: what becomes of programs on their way to code: an entry of the corpus a line on stdin,
// the texts of its stations on stdout.
//
// Entry: {"name": ..., "program": text, "layouts": {}, "sizes": {}, "variant": {}, "contract": "numpy"}
// Answer: {"name": ..., "parts": {"host.program": text, "host.stages": text, ...}}
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "autotune/machine.h"
#include "autotune/measure/messages.h"
#include "autotune/space/default_space.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule_text.h"
#include "dsl/model/algorithm_impl.h"
#include "tests/replay/lowered_text.h"
#include "translator/loop_report.h"
#include "translator/passes/pipeline.h"
#include "translator/translate.h"

namespace {

using namespace tilewright;
using nlohmann::json;

/// What schedules are chosen for: the same wherever this runs.
autotune::Machine machine_of(bool device) {
    autotune::Machine machine;
    machine.isa = device ? "cuda-sm_80" : "x86-64-v3";
    machine.cores = 8;
    if (device) machine.device = autotune::assumed_device();
    return machine;
}

translator::TranslateOptions options_of(const json& entry, bool device) {
    translator::TranslateOptions options;
    options.variant = entry.at("variant").get<std::map<std::string, std::string>>();
    options.sizes_here = entry.at("sizes").get<std::map<std::string, std::int64_t>>();
    options.contract = entry.at("contract").get<std::string>();
    options.device = device;
    for (const auto& [name, layout] : entry.at("layouts").items())
        options.layouts[name] = translator::layout_of(layout.get<std::string>());
    return options;
}

/// What a station refuses is its text.
std::string text_or_error(const std::function<std::string()>& make) {
    try {
        return make();
    } catch (const std::exception& error) {
        return std::string("error: ") + error.what() + "\n";
    }
}

std::string loops_text(const translator::Program& program, const translator::TranslateOptions& options) {
    std::string text;
    for (const auto& loop : translator::loop_reports(program, options))
        text += std::to_string(loop.line) + " " + std::to_string(loop.depth) + " " + loop.kind + " " + loop.exit + "\n";
    return text;
}

std::string variants_text(const std::vector<translator::VariantInfo>& variants) {
    std::string text;
    for (const auto& variant : variants) {
        text += variant.name + " =";
        for (const std::string& option : variant.options)
            text += " " + option;
        text += ": " + variant.meaning + "\n";
    }
    return text;
}

std::string stages_text(const dsl::Algorithm& algorithm) {
    return nlohmann::json(algorithm.info()).dump(1) + "\n";
}

std::string plan_text(const dsl::Algorithm& algorithm) {
    const runtime::Plan& plan = algorithm.impl().plan;
    return print_header(plan) + print_body(plan.versions.at(0));
}

using Parts = std::map<std::string, std::string>;

class Entry {
  public:
    Entry(const json& entry, bool device)
        : text_(entry.at("program").get<std::string>()), options_(options_of(entry, device)),
          machine_(machine_of(device)), prefix_(device ? "cuda." : "host.") {}

    Parts stations() const {
        Parts parts;
        const auto part = [&](const std::string& name, const std::function<std::string()>& make) {
            parts[prefix_ + name] = text_or_error(make);
        };
        part("program", [&] {
            const auto verify = [](const auto&, const auto&, const translator::Program& after) {
                translator::verify_program(after, translator::Dialect::rewritten);
            };
            return translator::print_program(translator::prepare(program(), options_, verify).program);
        });
        part("loops", [&] { return loops_text(program(), options_); });
        std::optional<dsl::Algorithm> made;
        const auto algorithm = [&]() -> const dsl::Algorithm& {
            return made ? *made : made.emplace(translated(options_));
        };
        part("stages", [&] { return stages_text(algorithm()); });
        part("plan", [&] { return plan_text(algorithm()); });
        part("schedule", [&] { return dsl::print_schedule(autotune::default_schedule(algorithm().info(), machine_)); });
        part("space", [&] { return dsl::print_schedule(autotune::default_space(algorithm().info(), machine_)); });
        std::vector<translator::VariantInfo> variants;
        part("variants", [&] {
            variants = translator::variants(program(), options_);
            return variants_text(variants);
        });
        for (const auto& variant : variants) {
            for (const std::string& option : variant.options) {
                translator::TranslateOptions options = options_;
                options.variant[variant.name] = option;
                part("variant " + variant.name + "=" + option, [&] {
                    const dsl::Algorithm chosen = translated(options);
                    return plan_text(chosen) + stages_text(chosen);
                });
            }
        }
        return parts;
    }

    Parts lowered() const {
        return {{prefix_ + "lowered", text_or_error([&] {
                     dsl::Algorithm algorithm = translated(options_);
                     const dsl::Schedule schedule = autotune::default_schedule(algorithm.info(), machine_);
                     dsl::apply(algorithm, schedule);
                     dsl::EmitOptions options;
                     options.isa = machine_.isa;
                     options.contract = options_.contract;
                     return replay::lowered_text(algorithm, schedule, options);
                 })}};
    }

  private:
    translator::Program program() const {
        translator::Program program = translator::read_program(text_);
        translator::verify_program(program);
        return program;
    }
    dsl::Algorithm translated(const translator::TranslateOptions& options) const {
        return translator::translate(program(), options);
    }

    std::string text_;
    translator::TranslateOptions options_;
    autotune::Machine machine_;
    std::string prefix_;
};

/// What `make` gives in a process of its own: names that Halide gives depend on what a process made before.
Parts in_child(const std::string& name, const std::function<Parts()>& make) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        const std::string answer = json(make()).dump();
        for (std::size_t done = 0; done < answer.size();) {
            const ssize_t written = write(ends[1], answer.data() + done, answer.size() - done);
            if (written <= 0) std::abort();
            done += static_cast<std::size_t>(written);
        }
        _exit(0);
    }
    close(ends[1]);
    std::string answer;
    char bytes[1 << 16];
    for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
        answer.append(bytes, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return {{name, "crash: the process ended with status " + std::to_string(status) + "\n"}};
    return json::parse(answer).get<Parts>();
}

} // namespace

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const json entry = json::parse(line);
        Parts parts;
        for (const bool device : {false, true}) {
            const Entry one(entry, device);
            const std::string crash = device ? "cuda.crash" : "host.crash";
            parts.merge(in_child(crash, [&] { return one.stations(); }));
            if (entry.value("lowered", true)) parts.merge(in_child(crash, [&] { return one.lowered(); }));
        }
        std::cout << json{{"name", entry.at("name")}, {"parts", parts}}.dump() << "\n" << std::flush;
    }
}
