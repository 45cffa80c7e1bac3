// dsl/language/schedule_text.h: the text of schedules and spaces. parse(print(s)) == s, and print is canonical.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// Longest text that is read; longer ones are refused before they are looked at.
inline constexpr std::size_t kMaxScheduleBytes = 1 << 20;
/// Deepest nesting of blocks, parentheses and operators that is read.
inline constexpr int kMaxScheduleDepth = 64;

/// Reads a schedule or a space. Never runs code, never recurses deeper than a fixed limit.
/// Throws ScheduleError with file:line:column, what was expected, and what to write instead.
Schedule parse_schedule(std::string_view text, const std::string& file = "<schedule>");

/// The canonical text: one statement a line, one space after commas, comments kept. The first line says schedule where
/// is_concrete(), else space; a hole's values stand where it is used first.
std::string print_schedule(const Schedule& schedule);

/// Canonical text of a part, without comments; holes appear by name alone, without their values.
std::string print_expression(const Expression& expression);
std::string print_directive(const Directive& directive);
std::string print_statement(const Statement& statement);

/// 32 hexadecimal digits; comments and layout do not count.
std::string schedule_digest(const Schedule& schedule);

} // namespace tilewright::dsl
