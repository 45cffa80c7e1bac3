// translator/ir/literal.h: the values of `const`.
#pragma once

#include <string>

#include "Halide.h"

namespace tilewright::translator {

/// Whether `text` is a literal of that dtype: true, -3, 2.5, 1e-300, nan, -inf, 1.5-2j (complex).
bool is_literal(const std::string& text, const std::string& dtype);
/// The two halves of a complex literal, as literals: 1.5-2j -> 1.5, -2.
std::pair<std::string, std::string> halves_of(const std::string& text);
/// Its value with exact bits. Requires is_literal() and a dtype with kernels.
Halide::Expr literal(const std::string& text, const std::string& dtype);

} // namespace tilewright::translator
