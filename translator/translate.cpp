// translator/translate.cpp: (Program, variant) -> Algorithm: stages, then kernels, then the plan.
#include "translator/translate.h"

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/passes/pipeline.h"
#include "translator/plan/build_stepped.h"
#include "translator/plan/plan_of_program.h"
#include "translator/stages/analysis.h"
#include "translator/stages/evaluator.h"
#include "translator/stages/kernels.h"
#include "translator/stages/stage_table.h"

namespace tilewright::translator {
namespace {

dsl::Algorithm build(const Program& program, const TranslateOptions& options) {
    Analysis analysis(program, options);
    Shared shared{{}, program, options, analysis};
    StageTable table(shared);
    auto impl = std::make_unique<dsl::AlgorithmImpl>();
    build_kernels(shared, table, impl->kernels);
    dsl::AlgorithmInfo info;
    info.function = program.function;
    info.variant = analysis.chosen();
    info.stages = std::move(table.infos);
    for (const std::string& name : analysis.sizes())
        info.sizes.push_back({name, analysis.here(Size::symbol(name))});
    impl->stages = std::move(table.impls);
    shared.describe(*impl);
    impl->plan = plan_of_kernels(program, options, analysis, impl->kernels);
    return dsl::Algorithm(std::move(impl), std::move(info));
}

} // namespace

Layout layout_of(const std::string& name) {
    if (name == "c") return Layout::c;
    if (name == "f") return Layout::f;
    if (name == "any") return Layout::any;
    throw InternalError("translate options: layout '" + name + "' is not c, f or any.");
}

dsl::Algorithm translate(const Program& program, const TranslateOptions& options) {
    verify_program(program);
    return guarded<TranslateError>(program.function, [&] {
        const Prepared prepared = prepare(program, options);
        return prepared.in_steps ? build_stepped(prepared, options) : build(prepared.program, options);
    });
}

} // namespace tilewright::translator
