// dsl/model/halide_size.h: size expressions as expressions of Halide.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "Halide.h"
#include "dsl/base/size_expression.h"

namespace tilewright::dsl {

/// One operation on numbers, with Python's // and %, a comparison, or one of truths; `a` and `b` are its operands.
/// `positive`: `b` is known to be above 0.
Halide::Expr size_operation(SizeExpression::Op op, const Halide::Expr& a, const Halide::Expr& b, bool positive);
/// The operation of a tree, on what its operands have become.
Halide::Expr size_operation(const SizeExpression& tree, const Halide::Expr& a, const Halide::Expr& b);

/// In 32 bits; `leaf` gives symbols and calls.
Halide::Expr halide_size(const SizeExpression& tree, const std::function<Halide::Expr(const SizeExpression&)>& leaf);
/// Throws std::out_of_range for a symbol that `sizes` does not have.
Halide::Expr halide_size(const SizeExpression& tree, const std::map<std::string, Halide::Param<int32_t>>& sizes);

} // namespace tilewright::dsl
