// dsl/language/expression_parser.cpp: operators bind as in Python; comparisons do not chain.
#include "dsl/language/expression_parser.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "dsl/base/spelling.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

/// More than any expression needs whose tree and brackets stay within kMaxScheduleDepth, as the printer writes it.
constexpr int kMaxCalls = 4 * kMaxScheduleDepth;
constexpr std::size_t kMaxHoleValues = 4096;
constexpr std::uint64_t kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// A function that may stand in an expression, and how many arguments it takes.
struct ExpressionFunction {
    std::string_view name;
    std::string_view usage;
    std::size_t min_arguments;
    std::size_t max_arguments;
};
constexpr ExpressionFunction kFunctions[] = {
    {"extent", "extent(loop)", 1, 1},
    {"lanes", "lanes(dtype)", 1, 1},
    {"max", "max(a, b)", 2, 16},
    {"min", "min(a, b)", 2, 16},
    {"stride", "stride(argument, axis)", 2, 2},
};

[[noreturn]] void too_deep(Position at) {
    fail(at, "an expression nested deeper than " + std::to_string(kMaxScheduleDepth) + " levels", "Write it in parts.");
}

Expression not_too_deep(Expression expression) {
    if (expression.height() > kMaxScheduleDepth) too_deep(expression.at());
    return expression;
}

std::string no_hint() {
    return "";
}

std::int64_t negated(std::uint64_t magnitude) {
    return magnitude > kLargest ? std::numeric_limits<std::int64_t>::min() : -static_cast<std::int64_t>(magnitude);
}

std::int64_t positive(const Token& token) {
    if (token.value > kLargest) {
        fail(token.at, "unexpected " + quoted(token.text), "Numbers are of 64 bits: at most 9223372036854775807.");
    }
    return static_cast<std::int64_t>(token.value);
}

} // namespace

Expression ExpressionParser::read(const Words& what, const Words& hint) {
    return operation(0, what, hint);
}

const SizeOperator* ExpressionParser::operator_here() const {
    if (tokens_.kind() != Token::Kind::mark && tokens_.kind() != Token::Kind::word) return nullptr;
    return find_operator(tokens_.peek().text);
}

void ExpressionParser::open_bracket(Position at) {
    if (++brackets_ > kMaxScheduleDepth) too_deep(at);
}

Expression ExpressionParser::operation(int at_least, const Words& what, const Words& hint) {
    if (++calls_ > kMaxCalls) too_deep(tokens_.peek().at);
    const Position at = tokens_.peek().at;
    Expression left = prefix(at_least, what, hint);
    for (const SizeOperator* found = operator_here(); found != nullptr && found->precedence >= at_least;
         found = operator_here()) {
        tokens_.next();
        Expression right = operation(
            found->precedence + 1, [&] { return "a value after '" + std::string(found->text) + "'"; }, no_hint);
        left = not_too_deep(Expression::binary(found->op, std::move(left), std::move(right), at));
        const SizeOperator* const next = operator_here();
        if (is_comparison(found->op) && next != nullptr && is_comparison(next->op)) {
            tokens_.expected("'and', 'or' or the end of the condition",
                             "Comparisons do not chain: write a < b and b < c.");
        }
    }
    --calls_;
    return left;
}

Expression ExpressionParser::prefix(int at_least, const Words& what, const Words& hint) {
    const Position at = tokens_.peek().at;
    if (tokens_.is_word("not")) {
        if (at_least > kNotPrecedence) tokens_.expected(what(), "Put brackets around 'not ...' here.");
        tokens_.next();
        Expression operand = operation(
            kNotPrecedence, [] { return "a condition after 'not'"; }, no_hint);
        return not_too_deep(Expression::unary(Expression::Op::logical_not, std::move(operand), at));
    }
    if (!tokens_.is_mark("-")) return atom(what, hint);
    tokens_.next();
    if (tokens_.kind() == Token::Kind::number) return Expression::integer(negated(tokens_.next().value), at);
    Expression operand = operation(
        kNegationPrecedence, [] { return "a value after '-'"; }, no_hint);
    return not_too_deep(Expression::unary(Expression::Op::neg, std::move(operand), at));
}

Expression ExpressionParser::atom(const Words& what, const Words& hint) {
    if (tokens_.is_mark("(")) return bracket(hint);
    if (tokens_.kind() == Token::Kind::number) {
        const Token token = tokens_.next();
        return Expression::integer(positive(token), token.at);
    }
    if (tokens_.kind() == Token::Kind::hole) {
        const Token token = tokens_.peek();
        return hole_of(token);
    }
    if (tokens_.kind() != Token::Kind::word || tokens_.is_word("and") || tokens_.is_word("or")) {
        tokens_.expected(what(), hint());
    }
    const Token name = tokens_.next();
    return tokens_.is_mark("(") ? call_of(name) : symbol_of(name);
}

Expression ExpressionParser::bracket(const Words& hint) {
    open_bracket(tokens_.peek().at);
    tokens_.open();
    Expression inside = operation(
        0, [] { return "a value after '('"; }, hint);
    if (!tokens_.is_mark(")")) tokens_.expected("')'", hint());
    tokens_.close();
    --brackets_;
    return inside;
}

Expression ExpressionParser::call_of(const Token& name) {
    const auto* const function = std::ranges::find(kFunctions, name.text, &ExpressionFunction::name);
    if (function == std::end(kFunctions)) {
        std::vector<std::string> names;
        for (const ExpressionFunction& f : kFunctions)
            names.emplace_back(f.name);
        const std::string usages = joined(kFunctions, ", ", [](const ExpressionFunction& f) { return f.usage; });
        const auto near = near_name(name.text, names);
        fail(name.at, "unknown function " + quoted(name.text),
             (near ? "Is '" + *near + "' meant? " : "") + "Functions: " + usages + ".");
    }
    const auto usage = [&] { return "Write " + std::string(function->usage) + "."; };
    open_bracket(tokens_.peek().at);
    tokens_.open();
    std::vector<Expression> operands;
    do {
        operands.push_back(operation(
            0, [&] { return "a value in " + quoted(std::string(name.text) + "(...)"); }, usage));
    } while (operands.size() < function->max_arguments && tokens_.skip_mark(","));
    if (operands.size() < function->min_arguments) {
        tokens_.expected("',' and argument " + std::to_string(operands.size() + 1) + " of " + quoted(name.text),
                         usage());
    }
    if (!tokens_.is_mark(")")) tokens_.expected("')' after the arguments of " + quoted(name.text), usage());
    tokens_.close();
    --brackets_;
    return not_too_deep(Expression::call(std::string(name.text), std::move(operands), name.at));
}

Expression ExpressionParser::symbol_of(const Token& name) {
    std::string text(name.text);
    // X.0, the first extent of X; a '.' on the next line would go on with a chain.
    if (tokens_.is_mark(".") && tokens_.peek().offset == name.end_offset) {
        tokens_.next();
        if (tokens_.kind() != Token::Kind::number) {
            tokens_.expected("an axis after " + quoted(text + "."), "A size is written X.0: argument, dot, axis.");
        }
        text += "." + std::string(tokens_.next().text);
    }
    return Expression::symbol(std::move(text), name.at);
}

Expression ExpressionParser::hole_of(const Token& name) {
    const std::string hole_name(name.text);
    if (!holes_) {
        fail(name.at, "the hole '?" + hole_name + "' in a schedule, which leaves nothing open",
             "Write a number, or 'tilewright-space 1' on the first line and 'space' for 'schedule' on the second.");
    }
    const auto declared = std::ranges::find(domains_, hole_name, &HoleDomain::name);
    const bool declares = tokens_.next_is_mark("{");
    tokens_.next();
    if (!declares || tokens_.peek().offset != name.end_offset) {
        if (declared == domains_.end()) {
            std::vector<std::string> names;
            for (const HoleDomain& domain : domains_)
                names.push_back(domain.name);
            const auto near = near_name(hole_name, names);
            fail(name.at, "?" + hole_name + ": no values are given for this hole where it stands first",
                 (near ? "Is ?" + *near + " meant? " : "") + "Write ?" + hole_name + "{1, 2, 4} here.");
        }
        return Expression::hole(hole_name, name.at);
    }
    if (declared != domains_.end()) {
        fail(name.at,
             "?" + hole_name + ": the values of this hole are already given in line " +
                 std::to_string(declared->at.line),
             "Write ?" + hole_name + " alone.");
    }
    HoleDomain domain;
    domain.name = hole_name;
    domain.at = name.at;
    tokens_.open();
    do {
        const bool negative = tokens_.skip_mark("-");
        if (tokens_.kind() != Token::Kind::number) {
            tokens_.expected("a number in the values of ?" + hole_name, "Write ?" + hole_name + "{1, 2, 4}.");
        }
        const Token number = tokens_.next();
        domain.values.push_back(negative ? negated(number.value) : positive(number));
        if (domain.values.size() > kMaxHoleValues) {
            fail(number.at, "?" + hole_name + " has more than " + std::to_string(kMaxHoleValues) + " values",
                 "Name fewer: a search never sees that many.");
        }
    } while (tokens_.skip_mark(","));
    if (!tokens_.is_mark("}")) tokens_.expected("',' or '}' in the values of ?" + hole_name, "");
    tokens_.close();
    domains_.push_back(std::move(domain));
    return Expression::hole(hole_name, name.at);
}

} // namespace tilewright::dsl
