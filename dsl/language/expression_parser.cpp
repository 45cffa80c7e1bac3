// dsl/language/expression_parser.cpp: operators bind as in Python; comparisons do not chain.
#include "dsl/language/expression_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dsl/base/spelling.h"
#include "dsl/language/expression.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

/// More than any expression needs whose tree and brackets stay within kMaxScheduleDepth, as the printer writes it.
constexpr int kMaxCalls = 4 * kMaxScheduleDepth;
constexpr std::size_t kMaxHoleValues = 4096;
constexpr std::uint64_t kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

[[noreturn]] void too_deep(Position at) {
    fail(at, "an expression nested deeper than " + std::to_string(kMaxScheduleDepth) + " levels", "Write it in parts.");
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
    return std::move(operation(0, what, hint).expression);
}

ExpressionParser::Measured ExpressionParser::combine(Expression expression, int height, Position at) {
    if (height > kMaxScheduleDepth) too_deep(at);
    expression.at = at;
    return {std::move(expression), height};
}

const SizeOperator* ExpressionParser::operator_here() const {
    if (tokens_.kind() != Token::Kind::mark && tokens_.kind() != Token::Kind::word) return nullptr;
    return find_operator(tokens_.peek().text);
}

void ExpressionParser::open_bracket(Position at) {
    if (++brackets_ > kMaxScheduleDepth) too_deep(at);
}

ExpressionParser::Measured ExpressionParser::operation(int at_least, const Words& what, const Words& hint) {
    if (++calls_ > kMaxCalls) too_deep(tokens_.peek().at);
    const Position at = tokens_.peek().at;
    Measured left = prefix(at_least, what, hint);
    for (const SizeOperator* found = operator_here(); found != nullptr && found->precedence >= at_least;
         found = operator_here()) {
        tokens_.next();
        Measured right = operation(
            found->precedence + 1, [&] { return "a value after '" + std::string(found->text) + "'"; }, no_hint);
        const int height = std::max(left.height, right.height) + 1;
        left = combine(binary(found->op, std::move(left.expression), std::move(right.expression)), height, at);
        const SizeOperator* const next = operator_here();
        if (is_comparison(found->op) && next != nullptr && is_comparison(next->op)) {
            tokens_.expected("'and', 'or' or the end of the condition",
                             "Comparisons do not chain: write a < b and b < c.");
        }
    }
    --calls_;
    return left;
}

ExpressionParser::Measured ExpressionParser::prefix(int at_least, const Words& what, const Words& hint) {
    const Position at = tokens_.peek().at;
    if (tokens_.is_word("not")) {
        if (at_least > kNotPrecedence) tokens_.expected(what(), "Put brackets around 'not ...' here.");
        tokens_.next();
        Measured operand = operation(
            kNotPrecedence, [] { return "a condition after 'not'"; }, no_hint);
        return combine(unary(SizeExpression::Op::logical_not, std::move(operand.expression)), operand.height + 1, at);
    }
    if (!tokens_.is_mark("-")) return atom(what, hint);
    tokens_.next();
    if (tokens_.kind() == Token::Kind::number) {
        return combine(integer(negated(tokens_.next().value)), 1, at);
    }
    Measured operand = operation(
        kNegationPrecedence, [] { return "a value after '-'"; }, no_hint);
    return combine(unary(SizeExpression::Op::neg, std::move(operand.expression)), operand.height + 1, at);
}

ExpressionParser::Measured ExpressionParser::atom(const Words& what, const Words& hint) {
    if (tokens_.is_mark("(")) return bracket(hint);
    if (tokens_.kind() == Token::Kind::number) {
        const Token token = tokens_.next();
        return combine(integer(positive(token)), 1, token.at);
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

ExpressionParser::Measured ExpressionParser::bracket(const Words& hint) {
    open_bracket(tokens_.peek().at);
    tokens_.next();
    TokenStream::Layout layout(tokens_);
    Measured inside = operation(
        0, [] { return "a value after '('"; }, hint);
    if (!tokens_.is_mark(")")) tokens_.expected("')'", hint());
    layout.close();
    tokens_.next();
    --brackets_;
    return inside;
}

ExpressionParser::Measured ExpressionParser::call_of(const Token& name) {
    const std::vector<ExpressionFunction>& functions = expression_functions();
    const auto function = std::find_if(functions.begin(), functions.end(),
                                       [&](const ExpressionFunction& f) { return f.name == name.text; });
    if (function == functions.end()) {
        std::vector<std::string> names;
        for (const ExpressionFunction& f : functions)
            names.emplace_back(f.name);
        const std::string usages = joined(functions, ", ", [](const ExpressionFunction& f) { return f.usage; });
        const auto near = near_name(name.text, names);
        fail(name.at, "unknown function " + quoted(name.text),
             (near ? "Is '" + *near + "' meant? " : "") + "Functions: " + usages + ".");
    }
    const auto usage = [&] { return std::string("Write ") + function->usage + "."; };
    open_bracket(tokens_.peek().at);
    tokens_.next();
    TokenStream::Layout layout(tokens_);
    std::vector<Expression> operands;
    int height = 0;
    do {
        Measured operand = operation(
            0, [&] { return "a value in " + quoted(std::string(name.text) + "(...)"); }, usage);
        height = std::max(height, operand.height);
        operands.push_back(std::move(operand.expression));
    } while (static_cast<int>(operands.size()) < function->max_arguments && tokens_.skip_mark(","));
    if (static_cast<int>(operands.size()) < function->min_arguments) {
        tokens_.expected("',' and argument " + std::to_string(operands.size() + 1) + " of " + quoted(name.text),
                         usage());
    }
    if (!tokens_.is_mark(")")) tokens_.expected("')' after the arguments of " + quoted(name.text), usage());
    layout.close();
    tokens_.next();
    --brackets_;
    return combine(call(std::string(name.text), std::move(operands)), height + 1, name.at);
}

ExpressionParser::Measured ExpressionParser::symbol_of(const Token& name) {
    std::string text(name.text);
    // X.0, the first extent of X; a '.' on the next line would go on with a chain.
    if (tokens_.is_mark(".") && tokens_.peek().offset == name.end_offset) {
        tokens_.next();
        if (tokens_.kind() != Token::Kind::number) {
            tokens_.expected("an axis after " + quoted(text + "."), "A size is written X.0: argument, dot, axis.");
        }
        text += "." + std::string(tokens_.next().text);
    }
    return combine(symbol(std::move(text)), 1, name.at);
}

ExpressionParser::Measured ExpressionParser::hole_of(const Token& name) {
    const std::string hole_name(name.text);
    if (!holes_) {
        fail(name.at, "the hole '?" + hole_name + "' in a schedule, which leaves nothing open",
             "Write a number, or 'tilewright-space 1' on the first line and 'space' for 'schedule' on the second.");
    }
    const bool declares = tokens_.next_is_mark("{");
    tokens_.next();
    if (!declares || tokens_.peek().offset != name.end_offset) {
        if (declared_.count(hole_name) == 0) {
            std::vector<std::string> names;
            for (const HoleDomain& domain : schedule_.holes)
                names.push_back(domain.name);
            const auto near = near_name(hole_name, names);
            fail(name.at, "?" + hole_name + ": no values are given for this hole where it stands first",
                 (near ? "Is ?" + *near + " meant? " : "") + "Write ?" + hole_name + "{1, 2, 4} here.");
        }
        return combine(hole(hole_name), 1, name.at);
    }
    if (const auto found = declared_.find(hole_name); found != declared_.end()) {
        fail(name.at,
             "?" + hole_name + ": the values of this hole are already given in line " +
                 std::to_string(found->second.line),
             "Write ?" + hole_name + " alone.");
    }
    HoleDomain domain;
    domain.name = hole_name;
    domain.at = name.at;
    tokens_.next();
    TokenStream::Layout layout(tokens_);
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
    layout.close();
    tokens_.next();
    declared_.emplace(hole_name, name.at);
    schedule_.holes.push_back(std::move(domain));
    return combine(hole(hole_name), 1, name.at);
}

} // namespace tilewright::dsl
