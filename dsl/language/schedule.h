// dsl/language/schedule.h: a schedule as data, and a space (a schedule with holes) as the same data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dsl/base/size_expression.h"

namespace tilewright::dsl {

/// Integer and boolean arithmetic over holes, sizes and machine facts (cores, l1_bytes, lanes(float64), ...): what
/// stands in factors, in `specialize(...)`, in `where ...` and in `when ...`.
using Expression = SizeExpression;

/// The values a hole may take, in the order written: `?tile{4096, 16384, 65536}`. A hole is declared
/// where its braces stand (once) and may be used again without them.
struct HoleDomain {
    std::string name;
    std::vector<std::int64_t> values;
    Position at;
    bool operator==(const HoleDomain&) const = default;
};

/// One argument of a directive: a name (loop, stage, tail strategy, storage kind), or an expression. Which of the two
/// stands where is fixed by dsl/language/directive_signature.h: `cores` is a name in reorder(cores), an expression in
/// split(..., cores).
struct Argument {
    enum class Kind { name, expression };
    Kind kind = Kind::name;
    std::string name;
    Expression expression;
    Position at;
    bool operator==(const Argument&) const = default;
};

/// One scheduling step. `block` is used by `specialize` alone: directives for the specialized copy.
struct Directive {
    std::string verb;
    std::vector<Argument> arguments;
    std::vector<Directive> block;
    bool has_block = false;
    Position at;
    bool operator==(const Directive&) const = default;
};

/// One line: directives for a definition of a stage, or (in a space) a choice, a constraint, or
/// statements that exist only under a condition on variants.
struct Statement {
    enum class Kind { directives, choose, where, when };
    Kind kind = Kind::directives;
    std::string stage;                                ///< directives: the stage named first
    int update = -1;                                  ///< directives: -1 is the pure definition, k is `.update(k)`
    std::vector<Directive> chain;                     ///< directives: in order
    std::string made_stage;                           ///< `... as partial`, else empty
    std::vector<std::vector<Statement>> alternatives; ///< choose; `when` has exactly one
    Expression condition;              ///< where (over holes), and `when norm == lanes { ... }` (over variants)
    std::vector<std::string> comments; ///< whole comment lines that stand before it, without `#`
    std::string trailing_comment;
    Position at;
    bool operator==(const Statement&) const = default;
};

/// `variant norm = serial` in a schedule; `variant norm = {serial, lanes}` in a space.
struct VariantChoice {
    std::string name;
    std::vector<std::string> options;
    std::vector<std::string> comments;
    std::string trailing_comment;
    Position at;
    bool operator==(const VariantChoice&) const = default;
};

/// A schedule (no holes, no choices, one option a variant) or a space (any of them).
struct Schedule {
    std::string function;
    std::string target; ///< x86-64, x86-64-v3, x86-64-v4, host
    std::vector<VariantChoice> variants;
    std::vector<Statement> statements;
    std::vector<HoleDomain> holes;            ///< in order of declaration
    std::vector<std::string> header_comments; ///< between the first line and the one that names the function
    std::vector<std::string> footer_comments; ///< after the last statement
    std::string function_comment;             ///< at the end of the line that names the function

    /// Nothing is left to decide: no hole, no choose, where or when, and one option for each variant.
    bool is_concrete() const;
    /// The chosen option of each variant. Requires is_concrete(); throws InternalError otherwise.
    std::map<std::string, std::string> variant() const;
};

/// Comments count. Holes are compared by name, since where they are declared follows from where they are used first.
bool operator==(const Schedule& a, const Schedule& b);

/// Shows `visit` the expressions among the arguments of directives, those in blocks too, in textual order.
template <class Directives, class Visit> void for_each_expression(Directives& chain, const Visit& visit) {
    for (auto& directive : chain) {
        for (auto& argument : directive.arguments)
            if (argument.kind == Argument::Kind::expression) visit(argument.expression);
        for_each_expression(directive.block, visit);
    }
}

/// Something wrong with a schedule, without an exception: check() returns a list of these.
struct Violation {
    Position at;
    std::string stage;     ///< empty where it concerns no stage
    std::string directive; ///< the verb, or empty
    std::string message;   ///< "norm.r: cannot run in parallel: ..."
    std::string hint;      ///< a directive that would work, or what to do
    /// "kmeans.tws:4:12: message. hint"; without a position only the file, without a file only the position.
    std::string text(const std::string& file = "") const;
};

} // namespace tilewright::dsl
