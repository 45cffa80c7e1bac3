// dsl/directives/stages.cpp: directives that make stages or copies of a definition: rfactor, in, specialize.
#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/code/isa.h"
#include "dsl/directives/directives.h"
#include "dsl/language/schedule_text.h"
#include "dsl/model/halide_size.h"

namespace tilewright::dsl {
namespace {

using Op = SizeExpression::Op;

void need_free_stage_name(CheckContext& context) {
    const std::string& made = context.statement.made_stage;
    const bool taken = context.model.stages.count(made) ||
                       std::any_of(context.model.stages.begin(), context.model.stages.end(),
                                   [&](const auto& stage) { return stage.second.arguments.count(made) > 0; });
    if (taken) context.refuse("there already is a stage or an argument " + made + ".", "Choose another name.");
}

// ---- rfactor --------------------------------------------------------------------------------------------------------

struct Preserved {
    int loop;
    std::string name;
};

/// Loops to keep, innermost first, as Halide sorts them.
std::vector<Preserved> preserved_loops(const CheckContext& context) {
    std::vector<Preserved> result;
    for (std::size_t k = 0; k + 1 < context.directive.arguments.size(); k += 2) {
        result.push_back({context.definition.nest.find(context.name(k)), context.name(k + 1)});
    }
    std::sort(result.begin(), result.end(), [&](const Preserved& a, const Preserved& b) {
        return context.definition.nest.place(a.loop) > context.definition.nest.place(b.loop);
    });
    return result;
}

void need_rfactor(CheckContext& context) {
    const LoopNest& nest = context.definition.nest;
    if (context.in_block || !context.definition.branches.empty()) {
        context.refuse("rfactor and specialize cannot be used on the same update.",
                       "Write rfactor first, then specialize the stage that it makes.");
    }
    if (context.definition.update < 0) {
        context.refuse("rfactor divides an update, and this is the pure definition.",
                       "Write " + context.stage.name + ".update(0)." + print_directive(context.directive) + " as ...");
    }
    std::vector<int> named;
    for (std::size_t k = 0; k < context.directive.arguments.size(); k += 2) {
        const int loop = context.loop(k);
        const Loop& node = nest.loops[loop];
        if (!node.reduced) {
            context.refuse_text_at(k, context.where(node.name) + ": is not a loop of a reduction.",
                                   "Name a reduced loop such as r.");
        }
        if (std::find(named.begin(), named.end(), loop) != named.end()) {
            context.refuse_at(k, "rfactor names loop " + node.name + " twice.");
        }
        named.push_back(loop);
        context.need_free_name(k + 1, {});
        for (std::size_t other = 1; other < k; other += 2) {
            if (context.name(other) == context.name(k + 1)) {
                context.refuse_at(k + 1, "rfactor makes two loops " + context.name(k + 1) + ".");
            }
        }
        const auto& axes = context.stage.axes;
        if (std::find(axes.begin(), axes.end(), context.name(k + 1)) != axes.end()) {
            context.refuse_at(k + 1, "there already is a loop " + context.name(k + 1) + ".", "Choose another name.");
        }
    }
    std::size_t reduced = 0;
    std::size_t pure_roots = 0;
    for (const Loop& loop : nest.loops)
        pure_roots += loop.origin == Loop::Origin::base && !loop.reduced;
    for (int loop : nest.order) {
        const Loop& node = nest.loops[loop];
        reduced += node.reduced;
        if (node.ordered) {
            context.refuse_loop(node.name, "rfactor would add up in another order, which changes the rounding.",
                                "Use a variant whose sum is written in blocks; its blocks are separate stages.");
        }
        if (!node.reduced) continue;
        for (int root : nest.roots(loop)) {
            if (nest.loops[root].reduced) continue;
            context.refuse_loop(node.name, "rfactor cannot take apart a reduction fused with a pure loop.",
                                "Do not fuse them.");
        }
    }
    if (!context.definition.associative) {
        context.refuse("rfactor needs an update that is associative, and this one is not known to be.",
                       "Take it away.");
    }
    if (pure_roots != context.stage.axes.size()) {
        context.refuse("rfactor of an update that writes single elements is not supported.", "Take it away.");
    }
    if (reduced <= named.size()) {
        context.refuse("rfactor keeps every reduced loop, which leaves no reduction to divide.",
                       "Split the loop first: split(" + context.name(0) + ", " + context.name(0) + "o, " +
                           context.name(0) + "i, 64).rfactor(" + context.name(0) + "o, " + context.name(1) + ").");
    }
    need_free_stage_name(context);
}

/// Takes the place of a loop that was an index of the old reduction domain.
int add_base(LoopNest& nest, const LoopNest& from, int loop, const std::string& name, bool reduced) {
    Loop base;
    base.name = name;
    base.axis = name;
    base.reduced = reduced;
    base.racing = reduced && from.loops[loop].racing;
    if (reduced) {
        base.run = from.loops[loop].run;
        base.run_at = from.loops[loop].run_at;
    }
    base.constant = from.extent(loop);
    nest.loops.push_back(std::move(base));
    return static_cast<int>(nest.loops.size()) - 1;
}

void check_rfactor(CheckContext& context) {
    need_rfactor(context);
    const std::vector<Preserved> preserved = preserved_loops(context);
    const std::string& made = context.statement.made_stage;
    const LoopNest before = context.definition.nest;
    auto kept = [&](int loop) {
        return std::find_if(preserved.begin(), preserved.end(), [&](const Preserved& p) { return p.loop == loop; });
    };

    StageModel partial;
    partial.name = made;
    partial.kernel = context.stage.kernel;
    partial.element_bytes = context.stage.element_bytes;
    partial.arguments = context.stage.arguments;
    DefinitionModel pure;
    for (auto p = preserved.rbegin(); p != preserved.rend(); ++p) {
        partial.axes.push_back(p->name);
        pure.nest.order.push_back(add_base(pure.nest, before, p->loop, p->name, false));
    }
    for (const std::string& axis : context.stage.axes) {
        partial.axes.push_back(axis);
        LoopInfo loop;
        loop.name = axis;
        pure.nest.add(loop, false);
    }
    for (Loop& loop : pure.nest.loops)
        loop.run = Run::serial;

    DefinitionModel update = context.definition;
    update.update = 0;
    for (int& place : update.nest.order) {
        if (!before.loops[place].reduced) continue;
        const auto p = kept(place);
        place = p != preserved.end() ? add_base(update.nest, before, place, p->name, false)
                                     : add_base(update.nest, before, place, before.loops[place].name, true);
    }
    for (Loop& loop : update.nest.loops) {
        // An internal stage's loops follow its region.
        if (loop.origin == Loop::Origin::base && !loop.reduced) loop.extent.clear();
    }
    for (CallInfo& call : update.calls) {
        for (std::string& axis : call.axes) {
            const auto& axes = context.stage.axes;
            if (axis != "=" && std::find(axes.begin(), axes.end(), axis) == axes.end()) axis.clear();
        }
    }
    partial.definitions.push_back(std::move(pure));
    partial.definitions.push_back(std::move(update));

    DefinitionModel& rest = context.definition;
    std::vector<int> order;
    for (int place : before.order) {
        if (!before.loops[place].reduced) order.push_back(place);
        const auto p = kept(place);
        if (p != preserved.end()) order.push_back(add_base(rest.nest, before, place, before.loops[place].name, true));
    }
    rest.nest.order = std::move(order);
    CallInfo call{made, {}};
    for (auto p = preserved.rbegin(); p != preserved.rend(); ++p)
        call.axes.push_back(before.loops[p->loop].name);
    call.axes.insert(call.axes.end(), context.stage.axes.begin(), context.stage.axes.end());
    rest.calls = {call};
    context.touch();

    auto& all = context.model.order;
    all.insert(std::find(all.begin(), all.end(), context.stage.name), made);
    context.model.stages.emplace(made, std::move(partial));
}

void apply_rfactor(ApplyContext& context) {
    std::vector<std::pair<Halide::RVar, Halide::Var>> preserved;
    for (std::size_t k = 0; k < context.check.directive.arguments.size(); k += 2) {
        preserved.emplace_back(context.loop(context.name(k)).rvar, Halide::Var(context.name(k + 1)));
    }
    StageImpl made;
    made.func = context.definition.stage.rfactor(preserved);
    made.pure_loops = context.stage.pure_loops;
    for (const auto& [rvar, var] : preserved)
        made.pure_loops.insert_or_assign(var.name(), var);
    made.update_loops.emplace_back();
    const StageModel& model = context.check.model.stages.at(context.check.statement.made_stage);
    for (const DefinitionModel& definition : model.definitions) {
        context.definitions.insert_or_assign(&definition, ApplyContext::read_definition(made.func, definition));
    }
    context.definition = ApplyContext::read_definition(context.stage.func, context.check.definition);
    context.algorithm.stages.insert_or_assign(model.name, std::move(made));
}

// ---- in -------------------------------------------------------------------------------------------------------------

void check_in(CheckContext& context) {
    context.need_whole_stage();
    need_free_stage_name(context);
    std::set<std::string> consumers;
    for (const auto& [name, stage] : context.model.stages) {
        const bool reads =
            std::any_of(stage.definitions.begin(), stage.definitions.end(), [&](const DefinitionModel& definition) {
                return std::any_of(definition.calls.begin(), definition.calls.end(),
                                   [&](const CallInfo& call) { return call.stage == context.stage.name; });
            });
        if (reads && name != context.stage.name) consumers.insert(name);
    }
    if (!context.directive.arguments.empty()) {
        std::set<std::string> named;
        for (std::size_t k = 0; k < context.directive.arguments.size(); ++k) {
            if (!context.model.stages.count(context.name(k))) {
                context.refuse_at(k, "there is no stage " + context.name(k) + ".",
                                  context.model.stage_hint(context.name(k)));
            }
            if (!consumers.count(context.name(k))) {
                context.refuse_text_at(k, context.name(k) + ": does not read " + context.stage.name + ".",
                                       consumers.empty() ? "Nothing reads it."
                                                         : "It is read by: " + joined(consumers) + ".");
            }
            named.insert(context.name(k));
        }
        consumers = std::move(named);
    }
    if (consumers.empty()) context.refuse("nothing reads it, so there is no copy to make.");
    context.model.add_wrapper(context.stage.name, context.statement.made_stage, consumers);
}

void apply_in(ApplyContext& context) {
    std::vector<Halide::Func> consumers;
    for (const Argument& argument : context.check.directive.arguments) {
        consumers.push_back(context.algorithm.stages.at(argument.name).func);
    }
    StageImpl made;
    made.func = consumers.empty() ? context.stage.func.in() : context.stage.func.in(consumers);
    made.pure_loops = context.stage.pure_loops;
    const StageModel& model = context.check.model.stages.at(context.check.statement.made_stage);
    context.definitions.insert_or_assign(&model.definitions[0],
                                         ApplyContext::read_definition(made.func, model.definitions[0]));
    context.algorithm.stages.insert_or_assign(model.name, std::move(made));
}

// ---- specialize -----------------------------------------------------------------------------------------------------

bool is_truth(const Expression& e) {
    return e.op() >= Op::eq;
}

/// The extent that extent(k) or extent(stage.k) means, as a size expression.
std::optional<std::string> extent_of(const AlgorithmInfo& info, std::string stage_name, int update, std::string loop) {
    const std::size_t dot = loop.find('.');
    if (dot != std::string::npos) {
        stage_name = loop.substr(0, dot);
        loop = loop.substr(dot + 1);
        update = -1;
    }
    const StageInfo* const stage = info.find(stage_name);
    if (stage == nullptr) return std::nullopt;
    const int updates = static_cast<int>(stage->updates.size());
    std::vector<int> places;
    if (update < updates) places.push_back(update);
    for (int other = -1; other < updates; ++other)
        places.push_back(other);
    for (const int place : places)
        for (const LoopInfo& candidate : stage->definition(place).loops)
            if (candidate.name == loop && !candidate.extent.empty()) return candidate.extent;
    return std::nullopt;
}

void check_condition(CheckContext& context, const Expression& e) {
    auto bad = [&](const std::string& message, const std::string& hint) {
        context.refuse_at(
            0, "specialize(" + print_expression(context.directive.arguments[0].expression) + "): " + message, hint);
    };
    const AlgorithmInfo& info = context.model.algorithm();
    switch (e.op()) {
    case Op::integer:
        if (e.constant() < INT32_MIN || e.constant() > INT32_MAX)
            bad("a number beyond 32 bits.", "Write a smaller one.");
        return;
    case Op::hole:
        return bad("a hole is left.", "Choose a value for ?" + e.name() + ".");
    case Op::symbol: {
        std::vector<std::string> names;
        for (const SizeInfo& size : info.sizes)
            names.push_back(size.name);
        if (std::find(names.begin(), names.end(), e.name()) != names.end()) return;
        const auto near = near_name(e.name(), names);
        return bad("there is no size " + e.name() + ".",
                   near ? "Did you mean " + *near + "?" : "Use extent(loop), a size such as X.0, or stride(X, 0).");
    }
    case Op::call: {
        const std::string& first = e.operands()[0].name();
        if (e.name() == "lanes") return;
        if (e.name() == "extent") {
            if (extent_of(info, context.stage.name, context.statement.update, first)) return;
            return bad("there is no loop " + first + " with an extent known from sizes.",
                       "Name a loop of the unscheduled " + context.where() + ".");
        }
        const bool known = std::any_of(info.stages.begin(), info.stages.end(), [&](const StageInfo& stage) {
            return std::any_of(stage.reads.begin(), stage.reads.end(), [&](const ReadInfo& read) {
                return read.from == first && !context.model.stages.count(first);
            });
        });
        const Expression& axis = e.operands()[1];
        if (known && axis.is_constant() && axis.constant() >= 0) return;
        return bad("stride takes an argument that is read and an axis.", "Write stride(X, 0).");
    }
    default:
        break;
    }
    const bool wants_truth = e.op() >= Op::logical_and;
    for (const Expression& operand : e.operands()) {
        if (wants_truth != is_truth(operand)) {
            return bad(std::string(spelling(e.op())) + (wants_truth ? " joins comparisons." : " works on numbers."),
                       "Write a == b and c < d.");
        }
        check_condition(context, operand);
    }
}

/// Sizes that the condition fixes: X.1 == 2, extent(k) == 2 where the extent is a size by itself.
void collect_facts(const CheckContext& context, const Expression& e, std::map<std::string, std::int64_t>& facts) {
    if (e.op() == Op::logical_and) {
        for (const Expression& operand : e.operands())
            collect_facts(context, operand, facts);
        return;
    }
    if (e.op() != Op::eq) return;
    for (int side = 0; side < 2; ++side) {
        const Expression& value = e.operands()[1 - side];
        const Expression& what = e.operands()[side];
        if (!value.is_constant()) continue;
        std::string text = what.op() == Op::symbol ? what.name() : "";
        if (what.op() == Op::call && what.name() == "extent") {
            text = extent_of(context.model.algorithm(), context.stage.name, context.statement.update,
                             what.operands()[0].name())
                       .value_or("");
        }
        const auto& sizes = context.model.algorithm().sizes;
        if (std::any_of(sizes.begin(), sizes.end(), [&](const SizeInfo& size) { return size.name == text; })) {
            facts[text] = value.constant();
        }
    }
}

void check_specialize(CheckContext& context) {
    const Expression& condition = context.directive.arguments[0].expression;
    if (context.definition.with) {
        context.refuse("a stage that shares loops by compute_with cannot be specialized.", "Take compute_with away.");
    }
    if (!is_truth(condition)) {
        context.refuse_at(0, "specialize(" + print_expression(condition) + ") is not a comparison.",
                          "Write something like extent(" + context.other_loop([](const Loop&) { return true; }) +
                              ") == 2.");
    }
    check_condition(context, condition);
    for (const auto& other : context.definition.branches) {
        if (other->condition == condition) {
            context.refuse_at(0, "is already specialized for " + print_expression(condition) + ".",
                              "Write its directives in one block.");
        }
    }
    auto branch = std::make_shared<DefinitionModel>(context.definition);
    branch->branches.clear();
    branch->condition = condition;
    std::map<std::string, std::int64_t> facts;
    collect_facts(context, condition, facts);
    for (Loop& loop : branch->nest.loops) {
        // Halide knows the fact inside reductions and outputs; regions of other stages are worked out before.
        if (loop.origin != Loop::Origin::base || (!loop.reduced && !context.stage.output)) continue;
        const auto fact = facts.find(loop.extent);
        if (fact != facts.end() && fact->second >= 0) loop.constant = fact->second;
    }
    context.definition.branches.push_back(std::move(branch));
    context.touch();
}

/// The condition of specialize as Halide's expression over sizes.
Halide::Expr condition_expr(const Expression& condition, const AlgorithmImpl& algorithm, const AlgorithmInfo& info,
                            const std::string& stage, int update) {
    const auto is_size = [&](const std::string& name) { return algorithm.sizes.count(name) != 0; };
    return halide_size(condition, [&](const Expression& leaf) -> Halide::Expr {
        const auto need = [&](bool ok) {
            if (!ok) throw ScheduleError(stage + ": " + print_expression(leaf) + " cannot be asked at run time.");
        };
        need(leaf.op() == Op::call || is_size(leaf.name()));
        if (leaf.op() == Op::symbol) return algorithm.sizes.at(leaf.name());
        const std::string& first = leaf.operands()[0].name();
        if (leaf.name() == "lanes") return vector_lanes("host", first);
        if (leaf.name() == "extent") {
            const auto text = extent_of(info, stage, update, first);
            need(text.has_value());
            const SizeExpression size = parse_size(*text);
            need(std::ranges::all_of(size.symbols(), is_size));
            return halide_size(size, algorithm.sizes);
        }
        const auto input = algorithm.inputs.find(first);
        need(input != algorithm.inputs.end());
        const int axis = input->second.dimensions() - 1 - static_cast<int>(leaf.operands()[1].constant());
        need(axis >= 0);
        return input->second.dim(axis).stride();
    });
}

void apply_specialize(ApplyContext& context) {
    const Halide::Expr condition =
        condition_expr(context.check.directive.arguments[0].expression, context.algorithm,
                       context.check.model.algorithm(), context.check.stage.name, context.check.statement.update);
    HalideDefinition branch{context.definition.stage.specialize(condition), context.definition.loops};
    context.definitions.insert_or_assign(context.check.definition.branches.back().get(), std::move(branch));
}

} // namespace

std::vector<DirectiveRow> stage_rows() {
    return {
        {"rfactor",
         "for r: s += x[r]   ->   for ri: for u: p[u] += x[64*u + ri]; for ro: s += p[ro]     (split(r, ro, ri, "
         "64).rfactor(ro, u) as p)",
         check_rfactor, apply_rfactor},
        {"in", "b = g(a)   ->   c = a; b = g(c)     (a.in(b) as c)", check_in, apply_in},
        {"specialize",
         "for k in 0..n: s   ->   if n == 2 {s; s} else {for k in 0..n: s}     (specialize(extent(k) == 2) { unroll(k) "
         "})",
         check_specialize, apply_specialize},
    };
}

} // namespace tilewright::dsl
