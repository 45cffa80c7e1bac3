// translator/loops/build_stepped.cpp: every segment through the machinery of straight-line programs, and the plan's
// text around their kernels.
#include "translator/loops/build_stepped.h"

#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/halide_guard.h"
#include "translator/kernels.h"
#include "translator/loops/access.h"
#include "translator/loops/forward.h"
#include "translator/loops/pixelwise.h"
#include "translator/loops/steps.h"
#include "translator/plan_writer.h"

namespace tilewright::translator {
namespace {

class Builder {
  public:
    Builder(const Program& program, const TranslateOptions& options)
        : program_(forward_stores(program)), options_(options), stepped_(cut_into_steps(program_)) {
        for (const std::string& name : program.argument_order)
            names_.insert(name);
        for (const BufferPlan& buffer : stepped_.buffers)
            names_.insert(buffer.name);
        write(stepped_.steps, "");
        for (const auto& [name, option] : options.variant) {
            const bool known = std::any_of(variants.begin(), variants.end(),
                                           [&, key = name](const VariantInfo& each) { return each.name == key; });
            if (!known)
                throw TranslateError(program.function + ": variant " + name + " = " + option +
                                         ": the program has no such choice.",
                                     "Remove it.");
        }
    }

    std::vector<VariantInfo> variants;

    dsl::Algorithm algorithm() {
        info_.function = program_.function;
        auto impl = std::make_unique<dsl::AlgorithmImpl>(std::move(impl_));
        for (const auto& [name, parameter] : maps_.sizes) {
            const SizeTree size = SizeTree::symbol(name);
            info_.sizes.push_back({name, size.evaluate(options_.sizes_here).value_or(-1)});
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
    const Program program_;
    TranslateOptions options_; ///< with a guess for the symbols of loops
    Stepped stepped_;
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

    void write(const std::vector<Step>& steps, const std::string& indent) {
        const std::size_t known = symbols_.size();
        for (const Step& step : steps)
            write(step, indent);
        symbols_.resize(known); // sizes that were read
    }

    void write(const Step& step, const std::string& indent) {
        switch (step.kind) {
        case Step::Kind::check:
            body_ += indent + "check " + step.from + " " + quoted(step.text) + "\n";
            break;
        case Step::Kind::read:
            body_ += indent + "read " + step.index + " from " + step.from + "\n";
            enter(step);
            break;
        case Step::Kind::temporary:
            for (const BufferPlan& buffer : stepped_.buffers)
                if (buffer.name == step.from) body_ += indent + "temp " + typed_name(buffer.name, buffer.type);
            break;
        case Step::Kind::segment:
            write_segment(step.segment, indent);
            break;
        case Step::Kind::copy:
            body_ += indent + "copy " + step.from + " to " + step.to + "\n";
            break;
        case Step::Kind::swap:
            body_ += indent + "swap " + step.from + " " + step.to + "\n";
            break;
        case Step::Kind::range:
            write_range(step, indent);
            break;
        case Step::Kind::loop:
            body_ += indent + "loop {\n";
            write(step.body, indent + "  ");
            body_ += indent + "}\n";
            break;
        case Step::Kind::leave:
            body_ += indent + "leave unless " + step.from + "\n";
            break;
        case Step::Kind::branch:
            body_ += indent + "if " + step.from + " {\n";
            write(step.body, indent + "  ");
            if (!step.other.empty()) {
                body_ += indent + "} else {\n";
                write(step.other, indent + "  ");
            }
            body_ += indent + "}\n";
            break;
        }
    }

    void write_range(const Step& step, const std::string& indent) {
        const std::size_t first = impl_.kernels.size();
        std::string body;
        std::swap(body, body_);
        enter(step);
        write(step.body, indent + "  ");
        symbols_.pop_back();
        std::swap(body, body_);
        if (impl_.kernels.size() == first + 1 && is_one_call(body) && step.step.is_constant()) {
            put_inside(step, impl_.kernels.back());
            body_ += plan_call(impl_.kernels.back(), indent);
            return;
        }
        body_ += indent + "for " + step.index + " from " + step.first.text() + " to " + step.stop.text() + " step " +
                 step.step.text() + " {\n" + body + indent + "}\n";
    }

    static bool is_one_call(const std::string& text) {
        const std::size_t start = text.find_first_not_of(' ');
        return std::count(text.begin(), text.end(), '\n') == 1 && text.compare(start, 5, "call ") == 0;
    }

    /// A loop around nothing but one kernel runs inside of it.
    void put_inside(const Step& step, dsl::KernelImpl& kernel) {
        std::set<std::string> needed;
        for (const SizeTree& size : {step.first, step.stop, step.step})
            size.collect_symbols(needed);
        for (const std::string& name : needed) {
            if (maps_.sizes.count(name) == 0)
                maps_.sizes.emplace(
                    name, Halide::Param<int32_t>(name.find('.') == std::string::npos ? name + "_size" : name));
            const auto& names = kernel.argument_names;
            if (std::find(names.begin(), names.end(), name) != names.end()) continue;
            kernel.arguments.emplace(kernel.arguments.begin(), maps_.sizes.at(name));
            kernel.argument_names.insert(kernel.argument_names.begin(), name);
        }
        const SizeTree trips = trips_of(*step.operation);
        dsl::KernelLoop loop;
        loop.first = size(step.first);
        loop.step = size(step.step);
        loop.trips = size(trips);
        loop.parallel = step.independent && kernel.loops.empty();
        loop.may_go_inside = kernel.loops.empty() && step.body.size() == 1 && step.body[0].segment.lanes_apart;
        const auto at = std::find(kernel.argument_names.begin(), kernel.argument_names.end(), step.index);
        if (at != kernel.argument_names.end()) {
            // Halide finds the parameter in the Funcs and asks for an argument, which nobody reads any more.
            const auto place = at - kernel.argument_names.begin();
            loop.variable = kernel.arguments[static_cast<std::size_t>(place)].name;
            *at = "0";
        } else {
            loop.variable = kernel.name + "_" + step.index;
        }
        // Trips of a loop around an independent one are more: the outermost runs in parallel.
        if (step.independent && !kernel.loops.empty() && kernel.loops.front().parallel) {
            kernel.loops.front().parallel = false;
            loop.parallel = true;
        }
        const std::int64_t trips_here = trips.evaluate(options_.sizes_here).value_or(1);
        for (dsl::StageInfo& info : info_.stages) {
            if (info.kernel + 1 != static_cast<int>(impl_.kernels.size())) continue;
            info.repeats *= static_cast<double>(std::max<std::int64_t>(1, trips_here));
            info.scans = info.scans || loop.may_go_inside;
            info.in_parallel = info.in_parallel || loop.parallel;
        }
        kernel.loops.insert(kernel.loops.begin(), std::move(loop));
    }

    Halide::Expr size(const SizeTree& tree) const {
        const SizeTree::Node& node = tree.node();
        if (node.kind == SizeTree::Kind::integer) return static_cast<int32_t>(node.value);
        if (node.kind == SizeTree::Kind::symbol) return maps_.sizes.at(node.name);
        const Halide::Expr a = size(node.operands[0]);
        const Halide::Expr b = size(node.operands[1]);
        return size_operation(node, a, b);
    }

    /// Of a loop, or of a size that is read: the middle trip stands for all of them where a schedule asks for extents.
    void enter(const Step& step) {
        symbols_.push_back(step.index);
        if (!step.limited) return;
        const auto first = step.first.evaluate(options_.sizes_here);
        const auto stop = step.stop.evaluate(options_.sizes_here);
        if (first && stop) options_.sizes_here[step.index] = (*first + *stop) / 2;
    }

    void write_segment(const Segment& segment, const std::string& indent) {
        SegmentContext context{&segment.targets, &segment.moving, &names_};
        Analysis analysis(segment.program, options_, context);
        variants.insert(variants.end(), analysis.variants().begin(), analysis.variants().end());
        info_.variant.insert(analysis.chosen().begin(), analysis.chosen().end());
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
        for (const StagePlan& stage : analysis.stages()) {
            for (const StageBuffer& buffer : stage.buffers())
                if (stage.materialised && !buffer.result) add_temporary(buffer, analysis, segment.moving, indent);
        }
        body_ += plan_calls(analysis, {impl_.kernels.begin() + static_cast<std::ptrdiff_t>(first), impl_.kernels.end()},
                            indent);
    }

    /// In the block where it is used, where its shape changes from trip to trip.
    void add_temporary(const StageBuffer& stage, const Analysis& analysis, const std::vector<MovingSize>& moving,
                       const std::string& indent) {
        const Type& type = analysis.value(stage.value).type;
        const bool follows = std::any_of(type.shape.begin(), type.shape.end(),
                                         [&](const Size& extent) { return moves(tree_of(extent), moving); });
        if (follows)
            body_ += indent + "temp " + typed_name(stage.name, type);
        else
            temporaries_ += "temp " + typed_name(stage.name, type);
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

dsl::Algorithm build_stepped(const Program& program, const TranslateOptions& options) {
    return Builder(program, options).algorithm();
}

std::vector<VariantInfo> stepped_variants(const Program& program, const TranslateOptions& options) {
    return guarded<TranslateError>(program.function, [&] { return Builder(program, options).variants; });
}

} // namespace tilewright::translator
