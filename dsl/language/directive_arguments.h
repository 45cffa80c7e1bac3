// dsl/language/directive_arguments.h: whether what stands in a directive's brackets is what it takes.
#pragma once

#include <string>
#include <vector>

#include "dsl/language/directive_signature.h"
#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// How a directive is usually written, without an optional tail strategy: "split(loop, outer, inner, factor)".
std::string short_usage(const std::string& verb);

/// "split(i, io" for what was read so far.
std::string written(const std::string& verb, const std::vector<Expression>& arguments);

/// Whether a directive, perhaps made by code, is written this way.
bool fits(const DirectiveSignature& signature, const Directive& directive);

/// "a loop name after 'split('": what the next argument would be.
std::string expected_argument(const std::string& verb, const std::vector<Expression>& arguments);

/// Fills directive.arguments by the first way to write directive.verb that fits. Throws Problem at the first argument
/// that does not, or at the closing bracket where one is missing.
const DirectiveSignature& match_arguments(Directive& directive, std::vector<Expression> arguments, Position close);

} // namespace tilewright::dsl
