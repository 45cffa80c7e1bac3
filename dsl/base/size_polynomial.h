// dsl/base/size_polynomial.h: the normal form of sizes, by which two of them are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dsl/base/size_expression.h"

namespace tilewright {

/// Equal texts mean equal values: a polynomial over symbols and opaque //, %, min, max. Requires a number.
std::string normal_form(const SizeExpression& size);
/// Whether the normal forms are equal.
bool same_size(const SizeExpression& a, const SizeExpression& b);
/// The difference a - b where it is a number.
std::optional<std::int64_t> constant_difference(const SizeExpression& a, const SizeExpression& b);
/// The polynomial multiplied out; nullopt where some part of it is opaque.
std::optional<SizeExpression> multiplied_out(const SizeExpression& size);

} // namespace tilewright
