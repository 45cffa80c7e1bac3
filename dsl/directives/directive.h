// dsl/directives/directive.h: one row of the table of directives, and what its two functions work on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "Halide.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm_impl.h"
#include "dsl/model/schedule_model.h"

namespace tilewright::dsl {

/// What refuse() ends the check of a directive with; the model has the violation.
struct Refused {};

/// One directive about to be checked. The row's check changes the model where the directive is legal and calls
/// refuse() where it is not.
struct CheckContext {
    ScheduleModel& model;
    StageModel& stage;
    DefinitionModel& definition;
    const Statement& statement;
    const Directive& directive;
    bool in_block = false; ///< inside specialize

    /// What apply needs to know of what check decided.
    std::vector<Tail> tails = {};           ///< one for each split, in order
    std::string made_loop = {};             ///< the name of a loop that the text leaves unnamed
    std::vector<std::int64_t> numbers = {}; ///< expressions, evaluated, in order

    /// Whether tails are guarded and bounds not relied on, whatever the text says.
    bool guards() const { return model.guard_tails || stage.guarded; }
    std::string where() const { return stage.where(statement.update); }
    std::string where(const std::string& loop) const { return where() + "." + loop; }
    const std::string& name(std::size_t k) const { return directive.arguments[k].name; }
    bool has(std::size_t k) const { return k < directive.arguments.size(); }
    /// All throw Refused. Violations begin with where() or where(loop_name), or are `text`; they lie where the
    /// directive or the argument stands.
    [[noreturn]] void refuse(const std::string& message, const std::string& hint = "");
    [[noreturn]] void refuse_loop(const std::string& loop_name, const std::string& message, const std::string& hint);
    [[noreturn]] void refuse_at(std::size_t argument, const std::string& message, const std::string& hint = "");
    [[noreturn]] void refuse_text_at(std::size_t argument, const std::string& text, const std::string& hint = "");

    /// The live loop named by an argument, or refuses.
    int loop(std::size_t argument);
    /// Those of the first `count` arguments, or refuses one that is named twice.
    std::vector<int> different_loops(std::size_t count);
    /// A positive constant below 2^31, or refuses.
    std::int64_t factor(std::size_t argument, const char* what = "the factor");
    std::int64_t number(std::size_t argument, const char* what);
    /// Refuses a name for a new loop that another one has; loops in `gone` do not count.
    void need_free_name(std::size_t argument, const std::vector<int>& gone);
    /// Refuses directives that concern the whole stage where the statement names an update or a block.
    void need_whole_stage();
    /// Refuses a directive inside specialize.
    void need_outside_block(const std::string& hint);
    /// A loop that the directive may be used on instead, as a hint; empty if there is none.
    std::string other_loop(const std::function<bool(const Loop&)>& fits) const;
    /// Remembers the first directive that needs a loop nest.
    void touch();
    /// Remembers the first directive that needs storage; refuses on outputs.
    void need_internal_storage();
};

/// Loops of one definition on Halide's side.
struct HalideDefinition {
    Halide::Stage stage;
    std::map<std::string, Halide::VarOrRVar> loops;
};

using HalideDefinitions = std::map<const DefinitionModel*, HalideDefinition>;

/// One checked directive about to be applied.
struct ApplyContext {
    CheckContext& check;
    AlgorithmImpl& algorithm;
    StageImpl& stage;
    HalideDefinition& definition;
    HalideDefinitions& definitions;

    const std::string& name(std::size_t k) const { return check.directive.arguments[k].name; }
    Halide::VarOrRVar loop(const std::string& loop_name) const;
    /// Makes Halide's variable for a new loop of the kind of `like`.
    Halide::VarOrRVar make_loop(const std::string& loop_name, const Halide::VarOrRVar& like);
    Halide::TailStrategy tail(std::size_t k) const;
    Halide::Var pure_var(std::size_t argument) const;
    /// The loops of a definition as Halide has them now, under the names of the model's nest.
    static HalideDefinition read_definition(Halide::Func func, const DefinitionModel& model);
    Halide::Expr number(std::size_t k) const { return static_cast<int>(check.numbers[k]); }
};

using CheckFunction = void (*)(CheckContext&);
using ApplyFunction = void (*)(ApplyContext&);

/// A directive. How it is written stands in dsl/language/directive_signature.h under the same verb.
struct DirectiveRow {
    std::string_view verb;
    std::string_view doc; ///< before -> after
    CheckFunction check;
    ApplyFunction apply; ///< null where check refuses always, or where apply() works on the finished model
};

} // namespace tilewright::dsl
