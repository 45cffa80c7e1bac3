// dsl/language/schedule_lexer.h: the text of a schedule as tokens with positions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// Thrown inside the parser alone; callers see ScheduleError.
struct Problem {
    Violation violation;
};

[[noreturn]] void fail(Position at, std::string message, std::string hint);

struct Token {
    enum class Kind {
        word,    ///< a name or a keyword
        number,  ///< decimal digits; `value` is its magnitude
        hole,    ///< ?tile; `text` is the name without the question mark
        mark,    ///< an operator or a bracket
        comment, ///< `text` is what follows `#`, without one space and without blanks at the end
        newline,
        end,
        bad ///< nothing of ours; `text` is what stands there, `problem` says why
    };
    Kind kind = Kind::end;
    std::string_view text;
    std::uint64_t value = 0;
    std::string_view problem;
    std::size_t offset = 0;     ///< in bytes, where the token starts
    std::size_t end_offset = 0; ///< in bytes, just after it
    Position at;
};

/// Longest name that is read, in bytes.
inline constexpr std::size_t kMaxNameBytes = 255;

/// Ends with one `end` token. Tokens point into `text`. Throws Problem for what is not read at all: what is too long,
/// not UTF-8, has control characters or a byte order mark.
std::vector<Token> tokenize(std::string_view text);

/// The first character as "U+200B".
std::string code_point(std::string_view text);

/// Whether `text` is a name as the lexer reads it: letters, digits and _, no digit first.
bool is_name(std::string_view text);

} // namespace tilewright::dsl
