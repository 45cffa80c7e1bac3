// dsl/language/expression.cpp: expressions of a schedule; dsl/base/size_expression.h does their arithmetic.
#include "dsl/language/expression.h"

#include <algorithm>
#include <utility>

namespace tilewright::dsl {
namespace {

using Value = std::optional<std::int64_t>;
using Op = SizeExpression::Op;

/// Operators between two sides, minima and maxima of several, from left to right.
Value evaluate_chain(Op op, const std::vector<Expression>& operands, const Environment& environment) {
    Value result;
    for (const Expression& operand : operands) {
        if (result && op == Op::logical_and && *result == 0) return 0;
        if (result && op == Op::logical_or && *result != 0) return 1;
        const Value value = evaluate(operand, environment);
        result = result && value ? apply(op, *result, *value) : value;
        if (!result) return std::nullopt;
    }
    return result;
}

Value evaluate_unary(const Expression& expression, const Environment& environment) {
    if (expression.operands.size() != 1) return std::nullopt;
    const Value operand = evaluate(expression.operands[0], environment);
    if (!operand) return std::nullopt;
    return expression.op == Op::logical_not ? *operand == 0 : apply(Op::sub, 0, *operand);
}

} // namespace

std::optional<std::int64_t> evaluate(const Expression& expression, const Environment& environment) {
    switch (expression.kind) {
    case Expression::Kind::integer:
        return expression.value;
    case Expression::Kind::hole:
    case Expression::Kind::symbol:
        return environment(expression);
    case Expression::Kind::call:
        if (expression.name == "min") return evaluate_chain(Op::min, expression.operands, environment);
        if (expression.name == "max") return evaluate_chain(Op::max, expression.operands, environment);
        return environment(expression);
    case Expression::Kind::unary:
        return evaluate_unary(expression, environment);
    case Expression::Kind::binary:
        if (expression.operands.size() != 2) return std::nullopt;
        return evaluate_chain(expression.op, expression.operands, environment);
    }
    return std::nullopt;
}

std::optional<std::int64_t> no_environment(const Expression&) {
    return std::nullopt;
}

Expression integer(std::int64_t value) {
    Expression result;
    result.value = value;
    return result;
}

namespace {

Expression named(Expression::Kind kind, std::string name, std::vector<Expression> operands = {}) {
    Expression result;
    result.kind = kind;
    result.name = std::move(name);
    result.operands = std::move(operands);
    return result;
}

} // namespace

Expression hole(std::string name) {
    return named(Expression::Kind::hole, std::move(name));
}
Expression symbol(std::string name) {
    return named(Expression::Kind::symbol, std::move(name));
}
Expression call(std::string name, std::vector<Expression> operands) {
    return named(Expression::Kind::call, std::move(name), std::move(operands));
}
Expression unary(SizeExpression::Op op, Expression operand) {
    Expression result;
    result.kind = Expression::Kind::unary;
    result.op = op;
    result.operands.push_back(std::move(operand));
    return result;
}
Expression binary(SizeExpression::Op op, Expression left, Expression right) {
    Expression result;
    result.kind = Expression::Kind::binary;
    result.op = op;
    result.operands.reserve(2);
    result.operands.push_back(std::move(left));
    result.operands.push_back(std::move(right));
    return result;
}

const std::vector<ExpressionFunction>& expression_functions() {
    static const std::vector<ExpressionFunction> functions = {
        {"extent", "extent(loop)", 1, 1},
        {"lanes", "lanes(dtype)", 1, 1},
        {"max", "max(a, b)", 2, 16},
        {"min", "min(a, b)", 2, 16},
        {"stride", "stride(argument, axis)", 2, 2},
    };
    return functions;
}

void for_each_hole(const Expression& expression, const std::function<void(const Expression&)>& visit) {
    if (expression.kind == Expression::Kind::hole) visit(expression);
    for (const Expression& operand : expression.operands)
        for_each_hole(operand, visit);
}

Expression fill_holes(const Expression& expression,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& value) {
    if (expression.kind == Expression::Kind::hole) {
        const Value known = value(expression.name);
        if (!known) return expression;
        Expression result = integer(*known);
        result.at = expression.at;
        return result;
    }
    bool changed = false;
    Expression result = expression;
    for (Expression& operand : result.operands) {
        Expression filled = fill_holes(operand, value);
        changed = changed || !(filled == operand);
        operand = std::move(filled);
    }
    if (!changed) return result;
    if (const Value constant = evaluate(result, no_environment)) {
        Expression folded = integer(*constant);
        folded.at = expression.at;
        return folded;
    }
    return result;
}

} // namespace tilewright::dsl
