// python/native/worker/candidates.cpp: one schedule through translator, dsl and the runtime's loader.
#include "python/native/worker/candidates.h"

#include "dsl/base/error.h"
#include "dsl/emit.h"
#include "dsl/runtime/compose_plan.h"

namespace tilewright::native {
Candidates::Candidates(const autotune::Job& job)
    : job_(job), program_(translator::read_program(job.program)), machine_(autotune::this_machine(job.isa)) {
    if (job.threads > 0) machine_.cores = job.threads;
    variants_ = translator::variants(program_, options({}));
}

translator::TranslateOptions Candidates::options(const Variant& variant) const {
    translator::TranslateOptions options;
    options.variant = variant;
    options.sizes_here = job_.sizes;
    options.contract = job_.contract;
    options.device = machine_.is_device();
    for (const auto& [name, layout] : job_.layouts)
        options.layouts[name] = translator::layout_of(layout);
    return options;
}

Variant Candidates::whole_variant(const Variant& variant) const {
    Variant whole = variant;
    for (const translator::VariantInfo& info : variants_)
        if (!info.options.empty()) whole.emplace(info.name, info.options.front());
    return whole;
}

dsl::Algorithm Candidates::translate(const Variant& variant) const {
    return translator::translate(program_, options(variant));
}

const Candidate& Candidates::build(const std::string& id, const dsl::Schedule& schedule) {
    Candidate candidate;
    candidate.id = id;
    candidate.variant = whole_variant(schedule.variant());
    candidate.fault = faults_.of(id);
    act_while_building(candidate.fault);
    dsl::Algorithm algorithm = translate(candidate.variant);
    dsl::apply(algorithm, schedule);
    dsl::EmitOptions emit_options;
    emit_options.isa = machine_.isa;
    emit_options.contract = job_.contract;
    const dsl::Emitted emitted = dsl::emit(std::move(algorithm), schedule, emit_options);

    runtime::PlanVersion version;
    version.label = "candidate";
    version.object_suffix = "candidate";
    version.body = emitted.plan_body;
    if (machine_.is_device()) version.requires_.push_back("isa " + machine_.isa);
    for (const auto& [name, layout] : job_.layouts)
        if (layout != "any") version.requires_.push_back("layout " + name + (layout == "c" ? " C" : " F"));
    std::map<std::string, std::string_view> objects;
    for (const dsl::EmittedKernel& kernel : emitted.kernels) {
        version.requires_.insert(version.requires_.end(), kernel.requires_.begin(), kernel.requires_.end());
        objects[kernel.name + ".candidate"] = kernel.object;
    }
    candidate.executable = runtime::Executable::load(runtime::compose_plan(emitted.plan_header, {version}), objects);
    return built_[id] = std::move(candidate);
}

const Candidate& Candidates::get(const std::string& id) const {
    const auto found = built_.find(id);
    if (found == built_.end()) throw InternalError("worker: the schedule " + id + " was not built here.");
    return found->second;
}

Candidates::Listing Candidates::lowered(const dsl::Schedule& schedule) const {
    dsl::Algorithm algorithm = translate(whole_variant(schedule.variant()));
    dsl::apply(algorithm, schedule);
    dsl::EmitOptions emit_options;
    emit_options.isa = machine_.isa;
    emit_options.contract = job_.contract;
    emit_options.assembly = true;
    Listing listing;
    for (const dsl::EmittedKernel& kernel : dsl::emit(std::move(algorithm), schedule, emit_options).kernels) {
        listing.lowered += kernel.lowered;
        listing.assembly += kernel.assembly;
    }
    return listing;
}

dsl::Schedule Candidates::autoschedule(const std::string& name, const Variant& variant) const {
    return dsl::autoschedule(translate(whole_variant(variant)), name, job_.isa, machine_.cores);
}

} // namespace tilewright::native
