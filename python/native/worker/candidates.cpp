// python/native/worker/candidates.cpp: one schedule through translator, dsl and the runtime's loader.
#include "python/native/worker/candidates.h"

#include <fstream>

#include "dsl/base/error.h"

namespace tilewright::native {
Candidates::Candidates(const autotune::Job& job, bool measures)
    : job_(job), program_(translator::read_program(job.program)), machine_(autotune::this_machine(job.isa, measures)) {
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

dsl::Emitted Candidates::emit(const dsl::Schedule& schedule, bool assembly) const {
    dsl::Algorithm algorithm = translate(whole_variant(schedule.variant()));
    dsl::apply(algorithm, schedule);
    dsl::EmitOptions options;
    options.isa = machine_.isa;
    options.contract = job_.contract;
    options.assembly = assembly;
    return dsl::emit(std::move(algorithm), schedule, options);
}

Candidates::Code Candidates::code_of(const std::string& fault, const dsl::Schedule& schedule) const {
    act_while_building(fault);
    dsl::Emitted emitted = emit(schedule, false);
    using Kind = runtime::PlanRequirement::Kind;
    std::vector<runtime::PlanRequirement> requirements;
    if (machine_.is_device()) requirements.push_back({Kind::isa, machine_.isa, {}});
    for (const auto& [name, layout] : job_.layouts)
        if (layout != "any") requirements.push_back({layout == "c" ? Kind::layout_c : Kind::layout_f, name, {}});
    Code code;
    for (dsl::EmittedKernel& kernel : emitted.kernels) {
        for (const std::string& condition : kernel.requires_)
            requirements.push_back({Kind::condition, "", parse_condition(condition)});
        if (!kernel.object.empty()) code.objects[kernel.name + ".candidate"] = std::move(kernel.object);
    }
    runtime::PlanVersionBody& version = emitted.plan.versions.at(0);
    version = under_terms(std::move(version), "candidate", "candidate", requirements);
    code.plan = print_plan(emitted.plan);
    return code;
}

const Candidate& Candidates::keep(const std::string& id, const dsl::Schedule& schedule, const Code& code) {
    Candidate candidate;
    candidate.id = id;
    candidate.variant = whole_variant(schedule.variant());
    candidate.fault = faults_.of(id);
    const std::map<std::string, std::string_view> objects(code.objects.begin(), code.objects.end());
    candidate.executable = runtime::Executable::load(code.plan, objects);
    return built_[id] = std::move(candidate);
}

const Candidate& Candidates::build(const std::string& id, const dsl::Schedule& schedule) {
    return keep(id, schedule, code_of(faults_.of(id), schedule));
}

// A file is: name, bytes, newline, content, for the plan (whose name is "plan") and each object.
void Candidates::compile(const std::string& id, const dsl::Schedule& schedule, const std::string& path) {
    const Code code = code_of(faults_.of(id), schedule);
    std::ofstream file(path, std::ios::binary);
    const auto put = [&](const std::string& name, const std::string& content) {
        file << name << ' ' << content.size() << '\n' << content;
    };
    put("plan", code.plan);
    for (const auto& [name, object] : code.objects)
        put(name, object);
    file.close();
    if (!file)
        throw DeviceError("tuning: " + path + " could not be written.", "Set TMPDIR to a folder with space left.");
}

const Candidate& Candidates::load(const std::string& id, const dsl::Schedule& schedule, const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Code code;
    std::string name;
    for (std::size_t bytes = 0; file >> name >> bytes;) {
        file.get();
        std::string content(bytes, '\0');
        file.read(content.data(), static_cast<std::streamsize>(bytes));
        (name == "plan" ? code.plan : code.objects[name]) = std::move(content);
    }
    if (code.plan.empty() || file.bad()) throw InternalError("worker: " + path + " is not a candidate.");
    return keep(id, schedule, code);
}

const Candidate& Candidates::get(const std::string& id) const {
    const auto found = built_.find(id);
    if (found == built_.end()) throw InternalError("worker: the schedule " + id + " was not built here.");
    return found->second;
}

Candidates::Listing Candidates::lowered(const dsl::Schedule& schedule) const {
    Listing listing;
    for (const dsl::EmittedKernel& kernel : emit(schedule, true).kernels) {
        listing.lowered += kernel.lowered;
        listing.assembly += kernel.assembly;
    }
    return listing;
}

dsl::Schedule Candidates::autoschedule(const std::string& name, const Variant& variant) const {
    return dsl::autoschedule(translate(whole_variant(variant)), name, job_.isa, machine_.cores);
}

} // namespace tilewright::native
