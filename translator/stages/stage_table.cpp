// translator/stages/stage_table.cpp: Funcs with their loops, reads and costs.
#include "translator/stages/stage_table.h"

#include <algorithm>

#include "dsl/passes/markers.h"
#include "dsl/passes/walk.h"
#include "translator/ir/attributes.h"
#include "translator/ops/rules.h"

namespace tilewright::translator {

using Halide::Expr;

namespace {

using Halide::Internal::Call;
using Halide::Internal::Variable;

/// Reads of Funcs and buffers.
std::vector<const Call*> loads_of(const Expr& e) {
    std::vector<const Call*> loads;
    dsl::for_each_node<dsl::GraphVisitor>(e, [&](const Call* call) {
        if (call->call_type == Call::Halide || call->call_type == Call::Image) loads.push_back(call);
    });
    return loads;
}

std::set<std::string> variables_of(const Expr& e) {
    std::set<std::string> names;
    dsl::for_each_node<dsl::GraphVisitor>(e, [&](const Variable* variable) { names.insert(variable->name); });
    return names;
}

/// Whether it is another place at the ends of an axis than within (Evaluator::of_loops).
bool turns_at_ends(const Expr& index) {
    bool found = false;
    dsl::for_each_node<dsl::GraphVisitor>(
        index, [&](const Call* call) { found = found || call->is_intrinsic(Call::likely_if_innermost); });
    return found;
}

/// The loop whose next iteration has the next element, "" if there is none. `loops`: by their variables in Halide.
std::string moving_along(const Expr& index, const std::map<std::string, std::string>& loops) {
    const auto* single = index.as<Variable>();
    for (const std::string& name : variables_of(index)) {
        const auto loop = loops.find(name);
        if (loop == loops.end()) continue;
        Expr variable = Variable::make(Halide::Int(32), name);
        Expr next = Halide::Internal::substitute(name, variable + 1, index);
        if (single != nullptr || Halide::Internal::is_const_one(Halide::Internal::simplify(next - index)))
            return loop->second;
    }
    return "";
}

/// Whether an index is row r of block b, as ReductionBuilder::rows_of_block() counts them. `loops`: by their variables.
bool is_row_of_block(const Expr& index, const std::map<std::string, std::string>& loops) {
    const auto is_loop = [&](const Expr& e, const std::string& name) {
        const auto* variable = e.as<Variable>();
        const auto loop = variable == nullptr ? loops.end() : loops.find(variable->name);
        return loop != loops.end() && loop->second == name;
    };
    const auto* sum = index.as<Halide::Internal::Add>();
    const auto* first = sum == nullptr ? nullptr : sum->a.as<Halide::Internal::Mul>();
    return first != nullptr && is_loop(first->a, "b") && Halide::Internal::is_const(first->b, kRowsPerBlock) &&
           is_loop(sum->b, "r");
}

/// Jumps of random generators: in the loops of a reader each of its elements would compile and compute one again.
bool is_too_long_to_repeat(const Operation* operation) {
    constexpr int kMostRepeated = 200;
    return operation != nullptr && cost_of(operation->op) > kMostRepeated;
}

/// The largest value in any iteration; of blocks of what grows (`(i + 511) // 512`) too.
std::optional<Size> longest(const Size& size, const Analysis& analysis) {
    if (const std::optional<Size> most = analysis.most(size)) return most;
    const bool adds = size.op() == Size::Op::add;
    if (!adds && size.op() != Size::Op::sub && size.op() != Size::Op::floordiv) return std::nullopt;
    const bool first = adds && size.operands()[0].is_constant();
    const Size& other = size.operands()[first ? 0 : 1];
    const bool grows = size.op() != Size::Op::floordiv || other.constant() > 0;
    if (!other.is_constant() || !grows) return std::nullopt;
    const std::optional<Size> inner = longest(size.operands()[first ? 1 : 0], analysis);
    if (!inner) return std::nullopt;
    return Size::folded(size.op(), *inner, other);
}

} // namespace

std::string loop_name(std::size_t axis) {
    static const char* names[] = {"i", "j", "k", "l", "m", "n"};
    return axis < 6 ? names[axis] : "d" + std::to_string(axis);
}

Exprs elements_of(const Halide::Func& stage, const Exprs& index) {
    const Halide::FuncRef found = stage(Exprs(index.rbegin(), index.rend()));
    if (stage.outputs() == 1) return {Expr(found)};
    Exprs out;
    for (int k = 0; k < stage.outputs(); ++k)
        out.push_back(found[k]);
    return out;
}

StageDraft::StageDraft(Shared& shared, std::string name)
    : shared_(shared), name_(std::move(name)),
      // Named by hand: Func(name) would number repeated names, and then the order of stages inside Halide, which goes
      // by name, would depend on what the process translated before.
      func_(Halide::Internal::Function(shared.symbol(name_))) {}

Halide::Var StageDraft::pure(const std::string& name, const Size& extent) {
    pure_.push_back({name, extent, false, false});
    Halide::Var var(name);
    vars_.emplace(name, var);
    return var;
}

Exprs StageDraft::axes(const std::vector<Size>& shape) {
    Exprs index;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        index.push_back(pure(loop_name(axis), shape[axis]));
    return index;
}

void StageDraft::assign(Halide::FuncRef elements, Exprs values, const std::vector<Loop>& reduced,
                        const Halide::RDom& domain) const {
    if (shared_.options.device) {
        std::set<std::string> fixed;
        for (const Loop& loop : pure_)
            if (is_one(loop.extent)) fixed.insert(vars_.at(loop.name).name());
        for (std::size_t k = 0; k < reduced.size(); ++k)
            if (is_one(reduced[k].extent)) fixed.insert(domain[static_cast<int>(reduced.size() - 1 - k)].name());
        for (Expr& value : values)
            value = dsl::chosen_in_kernel(value, fixed);
    }
    if (values.size() == 1)
        elements = values[0];
    else
        elements = Halide::Tuple(values);
}

void StageDraft::define(const Exprs& values, int operations) {
    std::vector<Halide::Var> arguments;
    for (auto loop = pure_.rbegin(); loop != pure_.rend(); ++loop)
        arguments.push_back(vars_.at(loop->name));
    assign(func_(arguments), values, {}, {});
    operations_ = operations;
    note_reads(-1, values, pure_);
}

Exprs StageDraft::current() const {
    Exprs index;
    for (const Loop& loop : pure_)
        index.push_back(vars_.at(loop.name));
    return elements_of(func_, index);
}

Halide::RDom StageDraft::reduce(const std::vector<Loop>& loops) {
    Halide::Region region;
    for (std::size_t k = loops.size(); k-- > 0;)
        region.push_back({0, shared_.size(loops[k].extent)});
    return Halide::RDom(region, "r");
}

void StageDraft::update(const Halide::RDom& domain, const std::vector<Loop>& loops, const Exprs& values,
                        const Exprs& predicates, int operations) {
    Halide::RDom limited = domain;
    for (const Expr& predicate : predicates)
        limited.where(predicate);
    // Halide looks for the domain of an update in its values alone: where none of them moves along it, as in the sum of
    // a broadcast array, the update would run once.
    Exprs bound = values;
    std::set<std::string> used;
    for (const Expr& value : values)
        used.merge(variables_of(value));
    bool moves = false;
    for (int k = 0; k < limited.dimensions(); ++k)
        moves = moves || used.count(limited[k].name());
    if (!moves && limited.dimensions() > 0)
        bound[0] = Halide::select(Halide::RVar(limited[0]) >= 0, values[0], values[0]);
    const std::vector<Halide::Var> vars = func_.args();
    const Exprs arguments(vars.begin(), vars.end());
    assign(func_(arguments), bound, loops, limited);
    std::map<std::string, Halide::RVar> rvars;
    for (std::size_t k = 0; k < loops.size(); ++k)
        rvars.emplace(loops[k].name, limited[static_cast<int>(loops.size() - 1 - k)]);
    update_rvars_.push_back(rvars);
    std::vector<Loop> all = pure_;
    all.insert(all.end(), loops.begin(), loops.end());
    update_loops_.push_back(all);
    operations_ = std::max(operations_, operations);
    note_reads(static_cast<int>(update_loops_.size()) - 1, values, all);
}

void StageDraft::note_reads(int definition, const Exprs& values, const std::vector<Loop>& loops) {
    Noted noted{definition, values, {}};
    auto reduced = update_rvars_.empty() ? std::map<std::string, Halide::RVar>() : update_rvars_.back();
    for (const Loop& loop : loops) {
        noted.variables[loop.reduced ? reduced.at(loop.name).name() : vars_.at(loop.name).name()] = loop.name;
    }
    noted_.push_back(std::move(noted));
}

std::vector<dsl::LoopInfo> StageTable::loop_infos(const std::vector<Loop>& loops) const {
    std::vector<dsl::LoopInfo> out;
    for (const Loop& loop : loops) {
        dsl::LoopInfo info;
        info.name = loop.name;
        info.reduced = loop.reduced;
        info.ordered = loop.ordered;
        info.extent = loop.extent.text();
        info.extent_here = shared_.analysis.here(loop.extent);
        info.follows = follows_loops({loop});
        const std::optional<Size> most = info.follows ? longest(loop.extent, shared_.analysis) : std::nullopt;
        if (most) {
            info.longest = most->text();
            info.longest_here = shared_.analysis.here(*most);
        }
        out.push_back(std::move(info));
    }
    return out;
}

/// Whether an extent changes from iteration to iteration of a loop around the kernel: conditions on it cannot be asked
/// once.
bool StageTable::follows_loops(const std::vector<Loop>& loops) const {
    std::set<std::string> symbols;
    for (const Loop& loop : loops)
        loop.extent.collect_symbols(symbols);
    return std::ranges::any_of(symbols, [&](const std::string& name) { return shared_.loop_symbols.count(name) != 0; });
}

std::optional<StageTable::ReadSource> StageTable::source_of(const std::string& loaded) const {
    if (const auto stage = stage_of_func_.find(loaded); stage != stage_of_func_.end())
        return ReadSource{stage->second, false, false};
    // An ImageParam is read through a Func called NAME_im.
    const std::string image = loaded.substr(0, loaded.rfind("_im"));
    const auto is_image = [&](const auto& array) { return array.second.name() == image; };
    if (const auto array = std::ranges::find_if(shared_.arrays, is_image); array != shared_.arrays.end())
        return ReadSource{array->first, true, false};
    if (const auto array = std::ranges::find_if(shared_.flat, is_image); array != shared_.flat.end())
        return ReadSource{array->first, true, true};
    return std::nullopt;
}

void StageTable::finish(StageDraft draft) {
    dsl::StageInfo info;
    info.name = draft.name_;
    info.dtypes = draft.dtypes;
    info.pure.loops = loop_infos(draft.pure_);
    for (const std::vector<Loop>& loops : draft.update_loops_) {
        info.updates.emplace_back();
        info.updates.back().loops = loop_infos(loops);
    }
    info.output = draft.output;
    info.inlinable = draft.update_loops_.empty() && !draft.output && !is_too_long_to_repeat(draft.operation);
    info.operations = draft.operations_;
    info.kernel = draft.kernel;
    info.part = draft.part;
    info.guarded = draft.guarded || (draft.output && follows_loops(draft.pure_));
    if (draft.operation != nullptr) {
        info.line = draft.operation->line;
        info.source = call_text(*draft.operation);
    }
    stage_of_func_[draft.func_.name()] = draft.name_;
    std::map<std::string, std::set<std::string>> places; ///< of each array, along its contiguous axis
    std::vector<std::set<std::string>> read_at;          ///< by each of the reads, all axes
    for (const StageDraft::Noted& noted : draft.noted_) {
        std::vector<const Call*> loads;
        for (const Expr& value : noted.values)
            std::ranges::move(loads_of(value), std::back_inserter(loads));
        for (const Call* load : loads) {
            const auto source = load->name == draft.func_.name() ? std::nullopt : source_of(load->name);
            if (!source) continue;
            dsl::ReadInfo read;
            read.from = source->name;
            const bool in_order_of_f = source->in_memory && shared_.analysis.layout(read.from) == Layout::f;
            // NumPy's axes are Halide's dimensions backwards.
            const Exprs index(load->args.rbegin(), load->args.rend());
            const std::size_t contiguous = in_order_of_f ? 0 : index.size() - 1;
            info.gathers_at_ends = info.gathers_at_ends || (!index.empty() && turns_at_ends(index[contiguous]));
            std::set<std::string> moving;
            read.by_block_rows =
                draft.part == dsl::StagePart::rows && std::ranges::any_of(index, [&](const Expr& each) {
                    return is_row_of_block(Halide::Internal::remove_promises(each), noted.variables);
                });
            for (std::size_t axis = 0; axis < index.size(); ++axis) {
                const std::string loop = moving_along(Halide::Internal::remove_promises(index[axis]), noted.variables);
                const std::set<std::string> names = variables_of(index[axis]);
                const auto loops = std::ranges::count_if(
                    names, [&](const std::string& name) { return noted.variables.count(name) != 0; });
                read.axes.push_back(loops == 1 ? loop : "");
                if (axis == contiguous) read.innermost = loop;
                moving.insert(names.begin(), names.end());
            }
            if (!read.innermost.empty()) {
                std::ostringstream place;
                place << index[contiguous];
                places[read.from].insert(place.str());
                info.reads_neighbours = info.reads_neighbours || places[read.from].size() >= 3;
            }
            if (source->is_flat) read.axes.assign(shared_.analysis.value(read.from).type.shape.size(), "");
            read.definition = noted.definition;
            for (const auto& [variable, loop] : noted.variables)
                read.broadcast = read.broadcast || moving.count(variable) == 0;
            const auto known = std::ranges::find_if(info.reads, [&](const dsl::ReadInfo& other) {
                return other.from == read.from && other.innermost == read.innermost &&
                       other.broadcast == read.broadcast && other.definition == read.definition &&
                       other.axes == read.axes && other.by_block_rows == read.by_block_rows;
            });
            const auto at = static_cast<std::size_t>(known - info.reads.begin());
            if (known == info.reads.end()) {
                info.reads.push_back(read);
                read_at.emplace_back();
            }
            std::ostringstream place;
            for (const Expr& each : load->args)
                place << each << ", ";
            read_at[at].insert(place.str());
            info.reads[at].places = static_cast<int>(read_at[at].size());
        }
    }
    dsl::StageImpl impl;
    impl.func = draft.func_;
    impl.pure_loops = draft.vars_;
    impl.update_loops = draft.update_rvars_;
    impls.emplace(draft.name_, impl);
    infos.push_back(std::move(info));
}

} // namespace tilewright::translator
