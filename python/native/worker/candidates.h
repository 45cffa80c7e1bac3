// python/native/worker/candidates.h: schedules become executables: translate, apply, emit, compose the plan, load.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/job.h"
#include "autotune/machine.h"
#include "dsl/code/emit.h"
#include "dsl/language/schedule.h"
#include "dsl/runtime/executor.h"
#include "python/native/worker/faults.h"
#include "translator/ir/program.h"
#include "translator/translate.h"

namespace tilewright::native {

using Variant = std::map<std::string, std::string>;

struct Candidate {
    std::string id;
    Variant variant;
    std::string fault; ///< injected by a test, else ""
    std::shared_ptr<const runtime::Executable> executable;
};

/// Builds candidates of one job and keeps them loaded.
class Candidates {
  public:
    /// `measures`: false in a process that only builds.
    explicit Candidates(const autotune::Job& job, bool measures = true);

    const translator::Program& program() const { return program_; }
    const autotune::Machine& machine() const { return machine_; }
    translator::TranslateOptions options(const Variant& variant) const;
    /// The variant with every choice named, defaults filled in.
    Variant whole_variant(const Variant& variant) const;
    dsl::Algorithm translate(const Variant& variant) const;

    /// Throws ScheduleError where the schedule cannot be applied or lowered.
    const Candidate& build(const std::string& id, const dsl::Schedule& schedule);
    /// The same in two steps and two processes: into a file, and from it.
    void compile(const std::string& id, const dsl::Schedule& schedule, const std::string& file);
    const Candidate& load(const std::string& id, const dsl::Schedule& schedule, const std::string& file);
    /// Throws InternalError for an id that was not built.
    const Candidate& get(const std::string& id) const;

    struct Listing {
        std::string lowered;
        std::string assembly;
    };
    Listing lowered(const dsl::Schedule& schedule) const;
    dsl::Schedule autoschedule(const std::string& name, const Variant& variant) const;

  private:
    /// The plan and its objects, by name.
    struct Code {
        std::string plan;
        std::map<std::string, std::string> objects;
    };
    dsl::Emitted emit(const dsl::Schedule& schedule, bool assembly) const;
    Code code_of(const std::string& fault, const dsl::Schedule& schedule) const;
    const Candidate& keep(const std::string& id, const dsl::Schedule& schedule, const Code& code);

    const autotune::Job& job_;
    translator::Program program_;
    autotune::Machine machine_;
    std::vector<translator::VariantInfo> variants_;
    Faults faults_;
    std::map<std::string, Candidate> built_;
};

} // namespace tilewright::native
