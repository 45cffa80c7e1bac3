// dsl/model/halide_size.cpp: one operation of Halide's for one of ours.
#include "dsl/model/halide_size.h"

namespace tilewright::dsl {

using Halide::Expr;

Expr size_operation(SizeExpression::Op op, const Expr& a, const Expr& b, bool positive) {
    switch (op) {
    case SizeExpression::Op::add:
        return a + b;
    case SizeExpression::Op::sub:
        return a - b;
    case SizeExpression::Op::mul:
        return a * b;
    case SizeExpression::Op::min:
        return Halide::min(a, b);
    case SizeExpression::Op::max:
        return Halide::max(a, b);
    case SizeExpression::Op::logical_and:
        return a && b;
    case SizeExpression::Op::logical_or:
        return a || b;
    default:
        break;
    }
    if (is_comparison(op)) return compare(op, a, b);
    // Halide's // and % round towards minus infinity for positive divisors alone.
    const bool divides = op == SizeExpression::Op::floordiv;
    const Expr plain = divides ? a / b : a % b;
    if (positive) return plain;
    const Expr zero = Halide::Internal::make_zero(a.type());
    const Expr turned = divides ? (zero - a) / (zero - b) : zero - (zero - a) % (zero - b);
    return Halide::select(b > zero, plain, turned);
}

Expr size_operation(const SizeExpression& tree, const Expr& a, const Expr& b) {
    const SizeExpression& right = tree.operands()[1];
    return size_operation(tree.op(), a, b, right.is_constant() && right.constant() > 0);
}

Expr halide_size(const SizeExpression& tree, const std::function<Expr(const SizeExpression&)>& leaf) {
    using Op = SizeExpression::Op;
    if (tree.is_constant()) return static_cast<int32_t>(tree.constant());
    if (tree.op() == Op::symbol || tree.op() == Op::hole || tree.op() == Op::call) return leaf(tree);
    Expr result = halide_size(tree.operands()[0], leaf);
    if (tree.op() == Op::neg) return -result;
    if (tree.op() == Op::logical_not) return !result;
    for (const SizeExpression& operand : tree.operands().subspan(1)) {
        const bool positive = operand.is_constant() && operand.constant() > 0;
        result = size_operation(tree.op(), result, halide_size(operand, leaf), positive);
    }
    return result;
}

Expr halide_size(const SizeExpression& tree, const std::map<std::string, Halide::Param<int32_t>>& sizes) {
    return halide_size(tree, [&](const SizeExpression& symbol) -> Expr { return sizes.at(symbol.name()); });
}

} // namespace tilewright::dsl
