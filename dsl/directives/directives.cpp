// dsl/directives/directives.cpp: joins the families, and what all directives share.
#include "dsl/directives/directives.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/base/spelling.h"
#include "dsl/code/isa.h"
#include "dsl/language/directive_arguments.h"
#include "dsl/language/directive_signature.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {

const std::vector<DirectiveRow>& directive_rows() {
    static const std::vector<DirectiveRow> rows = [] {
        std::vector<DirectiveRow> result;
        for (auto family :
             {split_rows, order_rows, placement_rows, stage_rows, storage_rows, traffic_rows, gpu_rows, refused_rows}) {
            for (const DirectiveRow& row : family())
                result.push_back(row);
        }
        return result;
    }();
    return rows;
}

const DirectiveRow* find_directive(std::string_view verb) {
    for (const DirectiveRow& row : directive_rows()) {
        if (row.verb == verb) return &row;
    }
    return nullptr;
}

// ---- signatures ---------------------------------------------------------------------------------------------------

namespace {

std::string usages(const std::string& verb) {
    std::string text;
    for (const DirectiveSignature& signature : directive_signatures()) {
        if (signature.verb == verb) text += (text.empty() ? "" : " or ") + std::string(signature.usage);
    }
    return text;
}

void check_signature(CheckContext& context) {
    bool known = false;
    for (const DirectiveSignature& signature : directive_signatures()) {
        if (signature.verb != context.directive.verb) continue;
        known = true;
        if (!fits(signature, context.directive)) continue;
        const bool last = &context.directive == &context.statement.chain.back() && !context.in_block;
        if (signature.makes_stage && (!last || context.statement.made_stage.empty())) {
            context.refuse(context.directive.verb + " makes a stage that has no name.",
                           "Write " + std::string(signature.usage) + ", as the last directive of the line.");
        }
        if (!signature.makes_stage && last && !context.statement.made_stage.empty()) {
            context.refuse(context.directive.verb + " makes no stage to call " + context.statement.made_stage + ".",
                           "Take 'as " + context.statement.made_stage + "' away.");
        }
        return;
    }
    if (known) {
        context.refuse(print_directive(context.directive) + " does not fit.",
                       "Write " + usages(context.directive.verb) + ".");
    }
    const auto near = near_name(context.directive.verb, directive_verbs());
    context.refuse("there is no directive " + context.directive.verb + ".", near ? "Did you mean " + *near + "?" : "");
}

} // namespace

void check_directive(CheckContext& context) {
    const DirectiveRow* row = find_directive(context.directive.verb);
    if (row && row->apply == nullptr) return row->check(context);
    check_signature(context);
    if (!row) throw InternalError("directive " + context.directive.verb + " has a signature and no row.");
    row->check(context);
}

// ---- what checks share ----------------------------------------------------------------------------------------------

void CheckContext::refuse(const std::string& message, const std::string& hint) {
    refuse_text_at(directive.arguments.size(), where() + ": " + message, hint);
}

void CheckContext::refuse_loop(const std::string& loop_name, const std::string& message, const std::string& hint) {
    refuse_text_at(directive.arguments.size(), where(loop_name) + ": " + message, hint);
}

void CheckContext::refuse_at(std::size_t argument, const std::string& message, const std::string& hint) {
    refuse_text_at(argument, where() + ": " + message, hint);
}

void CheckContext::refuse_text_at(std::size_t argument, const std::string& text, const std::string& hint) {
    const Position at =
        has(argument) && directive.arguments[argument].at.line > 0 ? directive.arguments[argument].at : directive.at;
    model.refuse(at, stage.name, directive.verb, text, hint);
    throw Refused();
}

int CheckContext::loop(std::size_t argument) {
    const int found = definition.nest.find(name(argument));
    if (found >= 0) return found;
    const auto names = definition.nest.names();
    const auto near = near_name(name(argument), names);
    const bool gone = std::any_of(definition.nest.loops.begin(), definition.nest.loops.end(),
                                  [&](const Loop& candidate) { return candidate.name == name(argument); });
    refuse_at(argument,
              "there is no loop " + name(argument) + (gone ? " any more (it was split, fused or renamed)" : "") + ".",
              near && !gone ? "Did you mean " + *near + "?"
                            : (names.empty() ? "It has no loops." : "Its loops are: " + joined(names) + "."));
}

std::vector<int> CheckContext::different_loops(std::size_t count) {
    std::vector<int> loops;
    for (std::size_t k = 0; k < count; ++k) {
        const int found = loop(k);
        if (std::ranges::find(loops, found) != loops.end())
            refuse_at(k, directive.verb + " names loop " + name(k) + " twice.");
        loops.push_back(found);
    }
    return loops;
}

std::int64_t CheckContext::number(std::size_t argument, const char* what) {
    const Expression& expression = directive.arguments[argument].expression;
    const auto value = expression.evaluate([&](const Expression& leaf) -> std::optional<std::int64_t> {
        if (leaf.op() != Expression::Op::call || leaf.name() != "lanes") return std::nullopt;
        return vector_lanes(model.target, leaf.operands()[0].name());
    });
    if (!value) {
        refuse_at(argument,
                  std::string(what) + " of " + directive.verb + ", " + print_expression(expression) +
                      ", is not a constant.",
                  "Write a number; sizes known at run time belong into specialize(...).");
    }
    numbers.push_back(*value);
    return *value;
}

std::int64_t CheckContext::factor(std::size_t argument, const char* what) {
    const std::int64_t value = number(argument, what);
    if (value < 1 || value >= (std::int64_t{1} << 31)) {
        refuse_at(argument,
                  std::string(what) + " of " + directive.verb + " is " + std::to_string(value) +
                      ", which is not a positive number below 2147483648.",
                  "Write a power of two such as 8.");
    }
    return value;
}

void CheckContext::need_free_name(std::size_t argument, const std::vector<int>& gone) {
    const std::string& wanted = name(argument);
    const int taken = definition.nest.find(wanted);
    if (taken < 0 || std::find(gone.begin(), gone.end(), taken) != gone.end()) return;
    refuse_at(argument, "there already is a loop " + wanted + ".", "Choose another name.");
}

void CheckContext::need_whole_stage() {
    if (in_block) {
        refuse(directive.verb + " concerns the whole stage and cannot stand inside specialize.",
               "Write " + stage.name + "." + print_directive(directive) + " on a separate line.");
    }
    if (statement.update >= 0) {
        refuse(directive.verb + " concerns the whole stage, not one update.",
               "Write " + stage.name + "." + print_directive(directive) + ".");
    }
}

void CheckContext::need_outside_block(const std::string& hint) {
    if (in_block) refuse(directive.verb + " cannot stand inside specialize.", hint);
}

std::string CheckContext::other_loop(const std::function<bool(const Loop&)>& fits_loop) const {
    for (int id : definition.nest.order) {
        if (fits_loop(definition.nest.loops[id])) return definition.nest.loops[id].name;
    }
    return "";
}

void CheckContext::touch() {
    if (!definition.first_verb.empty()) return;
    definition.first_verb = directive.verb;
    definition.first_at = directive.at;
}

void CheckContext::need_internal_storage() {
    need_whole_stage();
    if (stage.output) {
        refuse(directive.verb + " is for stages inside a kernel; this is an output, whose memory is the caller's.",
               "Take the directive away.");
    }
    if (!stage.storage_at) {
        stage.storage_at = directive.at;
        stage.storage_verb = directive.verb;
    }
}

// ---- what applications share ----------------------------------------------------------------------------------------

Halide::VarOrRVar ApplyContext::loop(const std::string& loop_name) const {
    const auto found = definition.loops.find(loop_name);
    if (found == definition.loops.end()) throw InternalError("loop " + loop_name + " has no variable.");
    return found->second;
}

Halide::VarOrRVar ApplyContext::make_loop(const std::string& loop_name, const Halide::VarOrRVar& like) {
    // Halide tells loops apart by name: a Halide loop that happens to have this name belongs to another loop of ours.
    std::string name = loop_name;
    for (bool again = true; again;) {
        again = false;
        for (const auto& [ours, variable] : definition.loops) {
            if (variable.name() == name && ours != loop_name) again = true;
        }
        if (again) name += "_";
    }
    Halide::VarOrRVar variable =
        like.is_rvar ? Halide::VarOrRVar(Halide::RVar(name)) : Halide::VarOrRVar(Halide::Var(name));
    definition.loops.insert_or_assign(loop_name, variable);
    return variable;
}

Halide::TailStrategy ApplyContext::tail(std::size_t k) const {
    using Halide::TailStrategy;
    static constexpr TailStrategy kStrategies[] = {
        TailStrategy::GuardWithIf,     TailStrategy::GuardWithIf,     TailStrategy::Predicate,
        TailStrategy::PredicateLoads,  TailStrategy::PredicateStores, TailStrategy::RoundUp,
        TailStrategy::RoundUpAndBlend, TailStrategy::ShiftInwards,    TailStrategy::ShiftInwardsAndBlend};
    return kStrategies[static_cast<std::size_t>(check.tails.at(k))];
}

Halide::Var ApplyContext::pure_var(std::size_t argument) const {
    return stage.pure_loops.at(name(argument));
}

HalideDefinition ApplyContext::read_definition(Halide::Func func, const DefinitionModel& model) {
    using Halide::Internal::Dim;
    const auto function = func.function();
    const bool pure = model.update < 0;
    const auto definition = pure ? function.definition() : function.update(model.update);
    HalideDefinition result{Halide::Stage(function, definition, static_cast<std::size_t>(model.update + 1)), {}};
    std::vector<Dim> dims = definition.schedule().dims();
    std::erase_if(dims, [](const Dim& dim) { return dim.var == Halide::Var::outermost().name(); });
    if (dims.size() != model.nest.order.size()) {
        throw InternalError(func.name() + ": Halide has " + std::to_string(dims.size()) + " loops, not " +
                            std::to_string(model.nest.order.size()) + ".");
    }
    for (std::size_t k = 0; k < dims.size(); ++k) {
        const Dim& dim = dims[dims.size() - 1 - k];
        const std::string name = dim.var.substr(dim.var.rfind('.') + 1);
        const std::string& ours = model.nest.loops[model.nest.order[k]].name;
        result.loops.insert_or_assign(ours, dim.is_rvar() ? Halide::VarOrRVar(Halide::RVar(name))
                                                          : Halide::VarOrRVar(Halide::Var(name)));
    }
    return result;
}

} // namespace tilewright::dsl
