// dsl/language/expression.h: evaluating, building and walking the expressions of a schedule: those of sizes
// (dsl/base/size_expression.h) with holes, functions and places in the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// Values for the holes, symbols and calls of an Expression (?tile, X.0, cores, lanes(float64), extent(k), ...);
/// nullopt for what it does not know. min and max are not asked for. Space resolves holes and variants itself.
using Environment = std::function<std::optional<std::int64_t>(const Expression&)>;

/// Evaluates integer and boolean arithmetic (booleans are 0 and 1; // and % floor as in Python; `and` and `or` look at
/// the right side only where the left one does not decide). nullopt where a name is unknown, on division by zero
/// and on overflow.
std::optional<std::int64_t> evaluate(const Expression& expression, const Environment& environment);

/// An environment that knows nothing.
std::optional<std::int64_t> no_environment(const Expression& expression);

Expression integer(std::int64_t value);
Expression hole(std::string name);
Expression symbol(std::string name);
Expression call(std::string name, std::vector<Expression> operands);
Expression unary(SizeExpression::Op op, Expression operand);
Expression binary(SizeExpression::Op op, Expression left, Expression right);

/// The names of the functions that may stand in an expression, and how many arguments each takes.
struct ExpressionFunction {
    const char* name;
    const char* usage;
    int min_arguments;
    int max_arguments;
};
const std::vector<ExpressionFunction>& expression_functions();

/// Calls `visit` with every hole in textual order, as often as it stands there.
void for_each_hole(const Expression& expression, const std::function<void(const Expression&)>& visit);

/// Replaces holes by values and computes what becomes constant by that: ?tile // 2 -> 2048. Parts without a hole stay
/// as written.
Expression fill_holes(const Expression& expression,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& value);

} // namespace tilewright::dsl
