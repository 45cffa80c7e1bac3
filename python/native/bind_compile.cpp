// python/native/bind_compile.cpp: from a program's text to object code, and all that explains it.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <set>

#include "autotune/fields_json.h"
#include "autotune/machine.h"
#include "autotune/space/default_space.h"
#include "dsl/base/error.h"
#include "dsl/check/check.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule_text.h"
#include "dsl/model/algorithm_fields.h"
#include "dsl/runtime/plan.h"
#include "python/native/bindings.h"
#include "python/native/json_objects.h"
#include "translator/ir/program.h"
#include "translator/loop_report.h"
#include "translator/parts/split_reduction.h"
#include "translator/passes/passes.h"
#include "translator/passes/pipeline.h"
#include "translator/plan/plan_of_program.h"
#include "translator/translate.h"

namespace py = pybind11;
using namespace py::literals;

namespace tilewright::native {
namespace {

/// {variant: {}, layouts: {}, sizes: {}, contract: "", device: False, axes: device}; every key may be missing.
translator::TranslateOptions options_of(const py::dict& given) {
    translator::TranslateOptions options;
    if (given.contains("variant")) options.variant = given["variant"].cast<std::map<std::string, std::string>>();
    if (given.contains("sizes")) options.sizes_here = given["sizes"].cast<std::map<std::string, std::int64_t>>();
    if (given.contains("contract")) options.contract = given["contract"].cast<std::string>();
    if (given.contains("device")) options.device = given["device"].cast<bool>();
    if (given.contains("axes")) options.axes = given["axes"].cast<bool>();
    if (given.contains("layouts"))
        for (const auto& [name, layout] : given["layouts"].cast<std::map<std::string, std::string>>())
            options.layouts[name] = translator::layout_of(layout);
    return options;
}

/// The variant lines of a schedule decide over those of the options.
void take_variant(const dsl::Schedule& schedule, translator::TranslateOptions* options) {
    for (const auto& [name, option] : schedule.variant())
        options->variant[name] = option;
}

py::object describe(const std::string& program_text, const py::dict& given) {
    nlohmann::json info = translator::translate(translator::read_program(program_text), options_of(given)).info();
    nlohmann::json sizes = nlohmann::json::object();
    for (const nlohmann::json& size : info["sizes"])
        sizes[size["name"].get<std::string>()] = size["here"];
    info["sizes"] = sizes;
    for (nlohmann::json& stage : info["stages"]) {
        stage["loops"] = stage["pure"]["loops"];
        for (nlohmann::json& update : stage["updates"])
            update = nlohmann::json(update["loops"]);
        stage["part"] = dsl::part_name(stage["part"].get<dsl::StagePart>());
    }
    return to_python(info);
}

py::list list_loops(const std::string& program_text, const py::dict& given) {
    return list_of(translator::loop_reports(translator::read_program(program_text), options_of(given)),
                   [](const auto& loop) {
                       return py::dict("line"_a = loop.line, "depth"_a = loop.depth, "source"_a = loop.source,
                                       "kind"_a = loop.kind, "exit"_a = loop.exit);
                   });
}

py::dict pass_dict(const translator::Pass& pass) {
    return py::dict("name"_a = pass.name, "meaning"_a = pass.meaning, "needed"_a = pass.needed);
}

py::list list_passes(const std::string& program_text, const py::dict& given) {
    const translator::Program program = translator::read_program(program_text);
    translator::verify_program(program);
    py::list result;
    translator::prepare(program, options_of(given), [&](const auto& pass, const auto& before, const auto& after) {
        translator::verify_program(after, translator::Dialect::rewritten);
        py::dict ran = pass_dict(pass);
        ran["program"] = after == before ? "" : translator::print_program(after);
        result.append(ran);
    });
    return result;
}

py::list list_variants(const std::string& program_text, const py::dict& given) {
    return list_of(
        translator::variants(translator::read_program(program_text), options_of(given)), [](const auto& variant) {
            return py::dict("name"_a = variant.name, "options"_a = variant.options, "meaning"_a = variant.meaning);
        });
}

autotune::Machine machine_for(const std::string& isa, int cores) {
    autotune::Machine machine = autotune::this_machine(isa);
    if (cores > 0) machine.cores = cores;
    return machine;
}

std::string default_schedule(const std::string& program_text, const py::dict& given, const std::string& isa,
                             int cores) {
    dsl::Algorithm algorithm = translator::translate(translator::read_program(program_text), options_of(given));
    return dsl::print_schedule(
        autotune::default_schedule(algorithm.info(), machine_for(isa, cores), autotune::Widths::of_machine));
}

std::string default_space(const std::string& program_text, const py::dict& given, const std::string& isa, int cores) {
    dsl::Algorithm algorithm = translator::translate(translator::read_program(program_text), options_of(given));
    return dsl::print_schedule(autotune::default_space(algorithm.info(), machine_for(isa, cores)));
}

py::list check_schedule(const std::string& program_text, const py::dict& given, const std::string& schedule_text,
                        const std::string& file) {
    dsl::Schedule schedule = dsl::parse_schedule(schedule_text, file);
    translator::TranslateOptions options = options_of(given);
    if (!schedule.is_concrete())
        throw ScheduleError(file + ": has holes, choices or several options of a variant: it is a space.",
                            "Pass it with --space, or take one point of it.");
    take_variant(schedule, &options);
    dsl::Algorithm algorithm = translator::translate(translator::read_program(program_text), options);
    return list_of(dsl::check(algorithm.info(), schedule), [&](const dsl::Violation& violation) {
        return py::dict("line"_a = violation.at.line, "column"_a = violation.at.column, "stage"_a = violation.stage,
                        "directive"_a = violation.directive, "message"_a = violation.message, "hint"_a = violation.hint,
                        "text"_a = violation.text(file));
    });
}

py::dict build(const std::string& program_text, const py::dict& given, const std::string& schedule_text,
               const std::string& isa, bool guard_tails, bool assembly, int threads) {
    dsl::Schedule schedule = dsl::parse_schedule(schedule_text);
    translator::TranslateOptions options = options_of(given);
    take_variant(schedule, &options);
    dsl::Emitted emitted;
    {
        // Code generation takes tenths of a second: other Python threads go on meanwhile.
        py::gil_scoped_release release;
        const translator::Program program = translator::read_program(program_text);
        dsl::Algorithm algorithm = translator::translate(program, options);
        dsl::EmitOptions emit_options;
        emit_options.isa = isa;
        emit_options.guard_tails = guard_tails;
        emit_options.assembly = assembly;
        emit_options.threads = threads;
        emit_options.contract = options.contract;
        dsl::apply(algorithm, schedule, guard_tails);
        emitted = dsl::emit(std::move(algorithm), schedule, emit_options);
        translator::guard_types(emitted.plan, program);
    }
    const py::list kernels = list_of(emitted.kernels, [](const dsl::EmittedKernel& kernel) {
        return py::dict("name"_a = kernel.name, "object"_a = py::bytes(kernel.object), "requires"_a = kernel.requires_,
                        "assembly"_a = kernel.assembly, "lowered"_a = kernel.lowered);
    });
    const runtime::PlanVersionBody& version = emitted.plan.versions.at(0);
    std::vector<std::string> conditions, libraries;
    for (const runtime::PlanRequirement& each : version.requirements)
        if (each.kind == runtime::PlanRequirement::Kind::condition) conditions.push_back(each.condition.text());
    bool has_loops = false;
    runtime::for_each_step(version.steps, [&](const runtime::PlanStep& step) {
        has_loops = has_loops || step.is_loop();
        if (step.kind == runtime::StepKind::matmul) libraries.push_back(step.symbol);
    });
    return py::dict("kernels"_a = kernels, "plan"_a = runtime::print_plan(emitted.plan), "conditions"_a = conditions,
                    "libraries"_a = libraries, "has_loops"_a = has_loops);
}

py::list partials(const std::string& program_text, const std::set<std::string>& taken) {
    const auto verified = [](const translator::Program& program) {
        translator::verify_program(program);
        return translator::print_program(program);
    };
    return list_of(translator::partials_of(translator::read_program(program_text), taken), [&](const auto& each) {
        return py::dict("rows"_a = each.rows, "stacks"_a = each.stacks, "partial"_a = verified(each.partial),
                        "total"_a = verified(each.total), "rest"_a = each.rest ? verified(*each.rest) : "",
                        "handed"_a = each.handed, "kept"_a = each.kept);
    });
}

} // namespace

void bind_compile(py::module_& module) {
    module.def("passes", &list_passes, "program"_a, "options"_a,
               "The passes that a program goes through, in order: name, meaning, whether it is never left out, and the "
               "program behind each that changes it.");
    module.def(
        "pass_list", [] { return list_of(translator::passes(), pass_dict); },
        "All passes that there are, in order: name, meaning, and whether it is never left out.");
    module.def("variants", &list_variants, "program"_a, "options"_a,
               "The open structural choices of a program, defaults first.");
    module.def("loops", &list_loops, "program"_a, "options"_a,
               "The loops of a program as the translation leaves them: which kind each is, or what forbids it.");
    module.def("describe", &describe, "program"_a, "options"_a,
               "The stages of one translation, their loops and reads.");
    module.def("default_schedule", &default_schedule, "program"_a, "options"_a, "isa"_a, "cores"_a,
               "The schedule that runs without a search, as text.");
    module.def("default_space", &default_space, "program"_a, "options"_a, "isa"_a, "cores"_a,
               "Every schedule worth trying for one variant, as the text of a space.");
    module.def("check_schedule", &check_schedule, "program"_a, "options"_a, "schedule"_a, "file"_a = "<schedule>",
               "Violations of a schedule, each with position, message and hint; empty when legal.");
    module.def(
        "canonical_schedule",
        [](const std::string& text, const std::string& file) {
            return dsl::print_schedule(dsl::parse_schedule(text, file));
        },
        "text"_a, "file"_a = "<schedule>", "The canonical text of a schedule or space. Raises ScheduleError.");
    module.def("build", &build, "program"_a, "options"_a, "schedule"_a, "isa"_a, "guard_tails"_a = false,
               "assembly"_a = false, "threads"_a = 1,
               "Object code, the text of the plan, and what its version asks for, calls and loops over. Raises "
               "ScheduleError or TranslateError.");
    module.def("partials", &partials, "program"_a, "taken"_a,
               "The programs of a call that reduces the rows of its arguments, in parts, for each extent that may "
               "be the rows.");
    module.def(
        "canonical_program",
        [](const std::string& text) { return translator::print_program(translator::read_program(text)); }, "program"_a,
        "The canonical text of a program. Raises TranslateError.");
    module.def(
        "verify_program", [](const std::string& text) { translator::verify_program(translator::read_program(text)); },
        "program"_a, "Raises InternalError where a program breaks the rules of program_text.md.");
    module.def(
        "split_complex",
        [](const std::string& text) {
            return translator::print_program(translator::split_complex(translator::read_program(text)));
        },
        "program"_a, "The program with its complex numbers as pairs of floats. Raises TranslateError.");
    module.def(
        "program_digest",
        [](const std::string& text) { return translator::program_digest(translator::read_program(text)); }, "program"_a,
        "32 hexadecimal digits; file names and line numbers do not count.");
    module.def("host_isa", &dsl::host_isa, "x86-64-v4, x86-64-v3 or x86-64: the best that this CPU runs.");
}

} // namespace tilewright::native
