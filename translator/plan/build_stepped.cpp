// translator/plan/build_stepped.cpp: every segment through the machinery of straight-line programs, and the plan
// around their kernels.
#include "translator/plan/build_stepped.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/loops/access.h"
#include "translator/passes/passes.h"
#include "translator/plan/groups.h"
#include "translator/plan/plan_of_program.h"
#include "translator/plan/steps.h"
#include "translator/stages/kernels.h"

namespace tilewright::translator {
namespace {

using runtime::PlanStep;

/// Steps of the plan, and whether one function may do all that they say.
struct Planned {
    std::vector<PlanStep> steps;
    bool in_one_function = true;

    void add(Planned more) {
        std::move(more.steps.begin(), more.steps.end(), std::back_inserter(steps));
        in_one_function = in_one_function && more.in_one_function;
    }
};

class Builder {
  public:
    Builder(const Prepared& prepared, const TranslateOptions& options)
        : variants(prepared.variants), program_(prepared.program), options_(options),
          stepped_(cut_into_steps(program_, options.device)) {
        info_.variant.insert(prepared.chosen.begin(), prepared.chosen.end());
        requirements_.insert(prepared.requirements.begin(), prepared.requirements.end());
        for (const std::string& name : program_.argument_order)
            names_.take(name);
        for (const BufferPlan& buffer : stepped_.buffers)
            names_.take(buffer.name);
        steps_ = planned(stepped_.steps).steps;
        groups_.form(steps_);
        for (const auto& [name, option] : options.variant)
            if (std::ranges::find(variants, name, &VariantInfo::name) == variants.end())
                refuse_unknown_variant(program_, name, option);
    }

    std::vector<VariantInfo> variants;

    dsl::Algorithm algorithm() {
        info_.function = program_.function;
        auto impl = std::make_unique<dsl::AlgorithmImpl>(std::move(impl_));
        for (const auto& [name, parameter] : parameters_.sizes)
            info_.sizes.push_back({name, evaluate(Size::symbol(name), options_.sizes_here).value_or(-1)});
        parameters_.describe(*impl);
        impl->plan = plan();
        return dsl::Algorithm(std::move(impl), std::move(info_));
    }

  private:
    const Program& program_;
    TranslateOptions options_; ///< with a guess for the symbols of loops
    const Stepped stepped_;
    FreshNames names_; ///< of stages and buffers
    std::vector<std::string> symbols_;
    dsl::AlgorithmImpl impl_;
    dsl::AlgorithmInfo info_;
    std::set<std::string> requirements_;
    runtime::PlanVersionBody version_; ///< its temporaries, and the steps with which they begin outside of all blocks
    std::vector<PlanStep> steps_;      ///< behind these
    std::set<std::string> kept_;       ///< of these temporaries those of stages within a segment
    Groups groups_{{stepped_, impl_.kernels, impl_.groups, info_.stages, options_, names_, kept_,
                    [this](const std::string& name) { return parameter(name).name(); }}};

    Parameters parameters_;

    Planned planned(const std::vector<Step>& steps) {
        const std::size_t known = symbols_.size();
        Planned out;
        for (const Step& step : steps)
            out.add(step.kind == Step::Kind::call ? planned(step.segment) : planned(step));
        symbols_.resize(known); // sizes that were read
        return out;
    }

    Planned planned(const Step& step) {
        if (step.kind == Step::Kind::temporary) return {{begin(step.arguments[0].name())}, false};
        if (step.kind == Step::Kind::read || step.is_range()) enter(step);
        Planned body = planned(step.body), otherwise = planned(step.otherwise);
        if (step.is_range()) symbols_.pop_back();
        PlanStep out{
            {step.kind, step.symbol, step.arguments, step.message, std::move(body.steps), std::move(otherwise.steps)}};
        const bool admitted = body.in_one_function && otherwise.in_one_function && groups_.admit(step, out);
        if (step.wavefront && !admitted) throw InternalError("a wavefront is no group of kernels.");
        return {{std::move(out)}, admitted};
    }

    PlanStep begin(const std::string& temporary) {
        return add_temporary(version_, plan_buffer(temporary, stepped_.buffer(temporary)->type));
    }

    /// Sums of a length that changes from iteration to iteration are short or long when the iteration runs.
    Planned planned(const Segment& segment) {
        Planned in_lanes, one_by_one;
        const std::vector<Size> lengths = build_segment(segment, false, in_lanes);
        if (lengths.empty() || !in_lanes.in_one_function) return in_lanes;
        Segment brief = segment;
        for (Target& target : brief.targets) {
            if (!target.fresh) continue;
            target.fresh = false;
            target.region = whole_region(target.type.shape.size());
        }
        build_segment(brief, true, one_by_one);
        const Size longest = std::accumulate(lengths.begin() + 1, lengths.end(), lengths.front(),
                                             [](const Size& a, const Size& b) { return larger_of(a, b); });
        const Size is_brief = Size::binary(Size::Op::le, longest, Size::integer(kLongestSerialSum));
        const bool admitted = one_by_one.in_one_function && !options_.device;
        return {{PlanStep{{.kind = runtime::StepKind::branch,
                           .arguments = {is_brief},
                           .body = std::move(one_by_one.steps),
                           .otherwise = std::move(in_lanes.steps)}}},
                admitted};
    }

    /// Of a size; one that no kernel reads may still be the limit of a loop.
    Halide::Param<int32_t>& parameter(const std::string& name) {
        const bool is_argument = name.find('.') == std::string::npos;
        return parameters_.sizes.try_emplace(name, is_argument ? name + "_size" : name).first->second;
    }

    /// Of a loop, or of a size that is read: the middle iteration stands for all of them where a schedule asks for
    /// extents.
    void enter(const Step& step) {
        symbols_.push_back(step.symbol);
        if (!step.is_range() && !step.limits) return;
        const auto first = evaluate(step.is_range() ? step.first() : step.limits->first, options_.sizes_here);
        const auto stop = evaluate(step.is_range() ? step.stop() : step.limits->second, options_.sizes_here);
        if (first && stop) options_.sizes_here[step.symbol] = (*first + *stop) / 2;
    }

    /// Gives back the lengths of sums that are chosen by.
    std::vector<Size> build_segment(const Segment& segment, bool short_sums, Planned& out) {
        SegmentContext context{&segment.targets, &segment.moving, &names_, short_sums};
        Analysis analysis(segment.program, options_, context);
        variants.insert(variants.end(), analysis.variants().begin(), analysis.variants().end());
        for (const VariantInfo& choice : analysis.variants())
            info_.variant.emplace(choice.name, analysis.chosen(choice.name));
        requirements_.insert(analysis.requirements().begin(), analysis.requirements().end());
        Shared shared{std::move(parameters_), segment.program, options_, analysis, {symbols_.begin(), symbols_.end()}};
        StageTable table(shared);
        const std::size_t first = impl_.kernels.size();
        build_kernels(shared, table, impl_.kernels);
        for (dsl::StageInfo& info : table.infos) {
            info.kernel += static_cast<int>(first);
            info_.stages.push_back(std::move(info));
        }
        impl_.stages.merge(table.impls);
        if (!table.impls.empty()) throw InternalError("two stages are called " + table.impls.begin()->first + ".");
        parameters_ = std::move(static_cast<Parameters&>(shared));
        for (const StagePlan& stage : analysis.stages()) {
            out.in_one_function = out.in_one_function && !stage.library;
            for (const StageBuffer& buffer : stage.buffers())
                if (stage.materialised && !buffer.result)
                    begin_temporary(plan_buffer(buffer.name, analysis.value(buffer.value).type), segment.moving, out);
        }
        for (PlanStep& call : plan_calls(analysis, std::span(impl_.kernels).subspan(first)))
            out.steps.push_back(std::move(call));
        return analysis.moving_lengths();
    }

    /// In the block where it is used, where its shape changes from iteration to iteration.
    void begin_temporary(runtime::PlanBuffer buffer, const std::vector<MovingSize>& moving, Planned& out) {
        const bool follows =
            std::ranges::any_of(buffer.shape, [&](const Size& extent) { return moves(extent, moving); });
        kept_.insert(buffer.name);
        (follows ? out.steps : version_.steps).push_back(add_temporary(version_, std::move(buffer)));
        out.in_one_function = out.in_one_function && !follows;
    }

    runtime::Plan plan() {
        std::vector<std::string> conditions(requirements_.begin(), requirements_.end());
        // Kernels count in 32 bits; some room is left for sums.
        for (const ScalarArgument& scalar : program_.scalars)
            if (parameters_.sizes.count(scalar.name) != 0)
                for (const char* limit : {" <= 1073741824", " >= -1073741824"})
                    conditions.push_back(scalar.name + limit);
        runtime::Plan out = plan_of_program(program_, options_, conditions, stepped_.returned);
        std::vector<PlanStep> steps;
        for (const BufferPlan& buffer : stepped_.buffers) {
            if (buffer.kind == BufferPlan::Kind::result) out.results.push_back(plan_buffer(buffer.name, buffer.type));
            if (buffer.kind == BufferPlan::Kind::temporary && !buffer.local) steps.push_back(begin(buffer.name));
        }
        for (auto* more : {&version_.steps, &steps_})
            std::move(more->begin(), more->end(), std::back_inserter(steps));
        out.versions[0].temporaries = std::move(version_.temporaries);
        out.versions[0].steps = std::move(steps);
        return out;
    }
};

} // namespace

dsl::Algorithm build_stepped(const Prepared& prepared, const TranslateOptions& options) {
    return Builder(prepared, options).algorithm();
}

std::vector<VariantInfo> stepped_variants(const Prepared& prepared, const TranslateOptions& options) {
    return guarded<TranslateError>(prepared.program.function, [&] { return Builder(prepared, options).variants; });
}

} // namespace tilewright::translator
