// translator/loops/build_stepped.cpp: every segment through the machinery of straight-line programs, and the plan's
// text around their kernels.
#include "translator/loops/build_stepped.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/kernels.h"
#include "translator/loops/access.h"
#include "translator/loops/plan_nodes.h"
#include "translator/loops/steps.h"
#include "translator/plan_writer.h"

namespace tilewright::translator {
namespace {

class Builder {
  public:
    Builder(const Prepared& prepared, const TranslateOptions& options)
        : variants(prepared.variants), program_(prepared.program), options_(options),
          stepped_(cut_into_steps(program_, options.device)) {
        info_.variant.insert(prepared.chosen.begin(), prepared.chosen.end());
        requirements_.insert(prepared.requirements.begin(), prepared.requirements.end());
        for (const std::string& name : program_.argument_order)
            names_.insert(name);
        for (const BufferPlan& buffer : stepped_.buffers)
            names_.insert(buffer.name);
        body_ = plan_text(nodes(stepped_.steps));
        for (const auto& [name, option] : options.variant) {
            const bool known = std::any_of(variants.begin(), variants.end(),
                                           [&, key = name](const VariantInfo& each) { return each.name == key; });
            if (!known)
                throw TranslateError(program_.function + ": variant " + name + " = " + option +
                                         ": the program has no such choice.",
                                     "Remove it.");
        }
    }

    std::vector<VariantInfo> variants;

    dsl::Algorithm algorithm() {
        info_.function = program_.function;
        auto impl = std::make_unique<dsl::AlgorithmImpl>(std::move(impl_));
        for (const auto& [name, parameter] : maps_.sizes) {
            const Size size = Size::symbol(name);
            info_.sizes.push_back({name, evaluate(size, options_.sizes_here).value_or(-1)});
        }
        impl->sizes = maps_.sizes;
        impl->inputs = maps_.arrays;
        for (const auto& [name, image] : maps_.flat)
            impl->inputs.emplace(image.name(), image);
        impl->plan_header = header();
        impl->plan_body = requirements() + body_;
        return dsl::Algorithm(std::move(impl), std::move(info_));
    }

  private:
    const Program& program_;
    TranslateOptions options_; ///< with a guess for the symbols of loops
    const Stepped stepped_;
    std::deque<Step> extra_;      ///< steps that are no steps of the program
    std::set<std::string> names_; ///< of stages and buffers
    std::vector<std::string> symbols_;
    dsl::AlgorithmImpl impl_;
    dsl::AlgorithmInfo info_;
    std::set<std::string> requirements_;
    std::string temporaries_, body_;

    /// What Shared keeps from segment to segment.
    struct Maps {
        std::map<std::string, Halide::Param<int32_t>> sizes;
        std::map<std::string, Halide::Param<void>> scalars;
        std::map<std::string, Halide::ImageParam> arrays;
        std::map<std::string, Halide::ImageParam> flat;
        std::set<std::string> symbols;
    } maps_;

    std::vector<PlanNode> nodes(const std::vector<Step>& steps) {
        const std::size_t known = symbols_.size();
        std::vector<PlanNode> out;
        for (const Step& step : steps)
            out.push_back(node(step));
        symbols_.resize(known); // sizes that were read
        return out;
    }

    PlanNode node(const Step& step) {
        PlanNode out;
        out.step = &step;
        if (step.kind == Step::Kind::segment) return segment_node(step);
        if (step.kind == Step::Kind::read || step.kind == Step::Kind::range) enter(step);
        out.body = nodes(step.body);
        out.other = nodes(step.other);
        if (step.kind == Step::Kind::range) symbols_.pop_back();
        return out;
    }

    /// Sums of a length that changes from trip to trip are short or long when the trip runs.
    PlanNode segment_node(const Step& step) {
        PlanNode out;
        out.step = &step;
        const std::vector<Size> lengths = build_segment(step.segment, false, out);
        if (lengths.empty() || out.plan_only) return out;
        Step& brief = extra_.emplace_back();
        brief.segment = step.segment;
        for (Target& target : brief.segment.targets) {
            if (!target.fresh) continue;
            target.fresh = false;
            target.region = whole_region(target.type.shape.size());
        }
        PlanNode one_by_one;
        one_by_one.step = &brief;
        build_segment(brief.segment, true, one_by_one);
        Step& choice = extra_.emplace_back();
        choice.kind = Step::Kind::at_most;
        choice.first = lengths.front();
        for (std::size_t k = 1; k < lengths.size(); ++k)
            choice.first = larger_of(choice.first, lengths[k]);
        choice.stop = Size::integer(longest_serial_sum());
        PlanNode both;
        both.step = &choice;
        both.body.push_back(std::move(one_by_one));
        both.other.push_back(std::move(out));
        return both;
    }

    std::string plan_text(const std::vector<PlanNode>& all) {
        return PlanText({program_.function, stepped_, impl_.kernels, impl_.groups, info_.stages, options_,
                         [this](const Size& tree) { return size(tree); },
                         [this](const std::string& wish) { return unique(wish); },
                         [this](const std::string& name) { return parameter(name).name(); }})
            .text(all, "");
    }

    std::string unique(const std::string& wish) {
        std::string name = wish;
        for (int k = 2; !names_.insert(name).second; ++k)
            name = wish + "_" + std::to_string(k);
        return name;
    }

    /// Of a size; one that no kernel reads may still be the limit of a loop.
    Halide::Param<int32_t>& parameter(const std::string& name) {
        const bool is_argument = name.find('.') == std::string::npos;
        return maps_.sizes.try_emplace(name, is_argument ? name + "_size" : name).first->second;
    }

    Halide::Expr size(const Size& tree) {
        if (tree.is_constant()) return static_cast<int32_t>(tree.constant());
        if (tree.op() == Size::Op::symbol) return parameter(tree.name());
        const Halide::Expr a = size(tree.operands()[0]);
        const Halide::Expr b = size(tree.operands()[1]);
        return size_operation(tree, a, b);
    }

    /// Of a loop, or of a size that is read: the middle trip stands for all of them where a schedule asks for extents.
    void enter(const Step& step) {
        symbols_.push_back(step.index);
        if (!step.limited) return;
        const auto first = evaluate(step.first, options_.sizes_here);
        const auto stop = evaluate(step.stop, options_.sizes_here);
        if (first && stop) options_.sizes_here[step.index] = (*first + *stop) / 2;
    }

    /// Gives back the lengths of sums that are chosen by.
    std::vector<Size> build_segment(const Segment& segment, bool short_sums, PlanNode& node) {
        SegmentContext context{&segment.targets, &segment.moving, &names_, short_sums};
        Analysis analysis(segment.program, options_, context);
        variants.insert(variants.end(), analysis.variants().begin(), analysis.variants().end());
        for (const VariantInfo& choice : analysis.variants())
            info_.variant.emplace(choice.name, analysis.chosen(choice.name));
        requirements_.insert(analysis.requirements().begin(), analysis.requirements().end());
        Shared shared{segment.program,
                      options_,
                      analysis,
                      std::move(maps_.sizes),
                      std::move(maps_.scalars),
                      std::move(maps_.arrays),
                      std::move(maps_.flat),
                      {},
                      {},
                      std::move(maps_.symbols)};
        shared.loop_symbols.insert(symbols_.begin(), symbols_.end());
        StageTable table(shared);
        const std::size_t first = impl_.kernels.size();
        build_kernels(shared, table, impl_.kernels);
        for (dsl::StageInfo& info : table.infos) {
            info.kernel += static_cast<int>(first);
            info_.stages.push_back(std::move(info));
        }
        impl_.stages.merge(table.impls);
        if (!table.impls.empty()) throw InternalError("two stages are called " + table.impls.begin()->first + ".");
        maps_ = {std::move(shared.sizes), std::move(shared.scalars), std::move(shared.arrays), std::move(shared.flat),
                 std::move(shared.symbols)};
        for (std::size_t k = first; k < impl_.kernels.size(); ++k)
            node.kernels.push_back(static_cast<int>(k));
        for (const StagePlan& stage : analysis.stages()) {
            node.plan_only = node.plan_only || stage.library;
            for (const StageBuffer& buffer : stage.buffers())
                if (stage.materialised && !buffer.result) add_temporary(buffer, analysis, segment.moving, node);
        }
        for (std::string& line :
             plan_calls(analysis, {impl_.kernels.begin() + static_cast<std::ptrdiff_t>(first), impl_.kernels.end()}))
            node.lines.push_back(std::move(line));
        return analysis.moving_lengths();
    }

    /// In the block where it is used, where its shape changes from trip to trip.
    void add_temporary(const StageBuffer& stage, const Analysis& analysis, const std::vector<MovingSize>& moving,
                       PlanNode& node) {
        const Type& type = analysis.value(stage.value).type;
        const bool follows = std::any_of(type.shape.begin(), type.shape.end(),
                                         [&](const Size& extent) { return moves(extent, moving); });
        if (follows) {
            node.lines.push_back("temp " + typed_name(stage.name, type));
            node.plan_only = true;
        } else {
            temporaries_ += "temp " + typed_name(stage.name, type);
        }
    }

    std::string header() const {
        std::string out = plan_opening(program_);
        for (const BufferPlan& buffer : stepped_.buffers) {
            if (buffer.kind == BufferPlan::Kind::result) out += "result " + typed_name(buffer.name, buffer.type);
        }
        return out + return_line(program_, stepped_.returned);
    }

    std::string requirements() const {
        std::string out;
        for (const std::string& requirement : requirements_)
            out += "require " + requirement + "\n";
        // Kernels count in 32 bits; some room is left for sums.
        for (const ScalarArgument& scalar : program_.scalars) {
            if (maps_.sizes.count(scalar.name) == 0) continue;
            out += "require " + scalar.name + " <= 1073741824\nrequire " + scalar.name + " >= -1073741824\n";
        }
        out += layout_requirements(program_, options_);
        for (const BufferPlan& buffer : stepped_.buffers) {
            if (buffer.kind == BufferPlan::Kind::temporary && !buffer.local)
                out += "temp " + typed_name(buffer.name, buffer.type);
        }
        return out + temporaries_;
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
