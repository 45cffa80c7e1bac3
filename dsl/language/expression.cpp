// dsl/language/expression.cpp: walks over the holes of an expression.
#include "dsl/language/expression.h"

namespace tilewright::dsl {

std::optional<std::int64_t> no_environment(const Expression&) {
    return std::nullopt;
}

void for_each_hole(const Expression& expression, const std::function<void(const Expression&)>& visit) {
    if (expression.op() == Expression::Op::hole) visit(expression);
    for (const Expression& operand : expression.operands())
        for_each_hole(operand, visit);
}

Expression fill_holes(const Expression& expression,
                      const std::function<std::optional<std::int64_t>(const std::string&)>& value) {
    const bool is_hole = expression.op() == Expression::Op::hole;
    const Expression filled =
        expression.with_operands([&](const Expression& operand) { return fill_holes(operand, value); });
    if (!is_hole && filled == expression) return expression;
    const auto constant = is_hole ? value(expression.name()) : filled.evaluate(no_environment);
    return constant ? Expression::integer(*constant) : filled;
}

} // namespace tilewright::dsl
