// dsl/language/schedule_lexer.cpp: characters to tokens; what is no text is refused first, with words.
#include "dsl/language/schedule_lexer.h"

#include <array>
#include <cstdio>

#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_ascii_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// One character: its code point and its length in bytes; length 0 where the bytes are not UTF-8.
struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 0;
};

Character character_at(std::string_view text, std::size_t i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) return {first, 1};
    std::size_t bytes = 0;
    std::uint32_t code = 0;
    std::uint32_t least = 0;
    if ((first & 0xE0) == 0xC0) {
        bytes = 2, code = first & 0x1F, least = 0x80;
    } else if ((first & 0xF0) == 0xE0) {
        bytes = 3, code = first & 0x0F, least = 0x800;
    } else if ((first & 0xF8) == 0xF0) {
        bytes = 4, code = first & 0x07, least = 0x10000;
    } else {
        return {};
    }
    if (i + bytes > text.size()) return {};
    for (std::size_t k = 1; k < bytes; ++k) {
        if (!is_continuation(text[i + k])) return {};
        code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3F);
    }
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
    return {code, bytes};
}

/// Letters beyond ASCII may stand in names, as in Python; what is invisible, a blank or turns the text around may not.
bool is_foreign_letter(std::uint32_t code) {
    if (code <= 0xA0 || code == 0xAD) return false;
    if (code >= 0x2000 && code <= 0x206F) return false; // blanks, zero-width and direction marks
    if (code == 0x3000 || code == 0xFEFF || code == 0x1680 || code == 0x180E) return false;
    return !(code >= 0xFFF0 && code <= 0xFFFF) && !(code >= 0xE0000 && code <= 0xE007F);
}

std::size_t name_start(std::string_view text, std::size_t i) {
    if (i >= text.size()) return 0;
    if (is_ascii_letter(text[i])) return 1;
    if (static_cast<unsigned char>(text[i]) < 0x80) return 0;
    const Character c = character_at(text, i);
    return c.bytes > 0 && is_foreign_letter(c.code) ? c.bytes : 0;
}

/// Bytes of the name (letters and digits) at i.
std::size_t name_bytes(std::string_view text, std::size_t i) {
    std::size_t end = i;
    while (end < text.size()) {
        const std::size_t bytes = is_digit(text[end]) ? 1 : name_start(text, end);
        if (bytes == 0) break;
        end += bytes;
    }
    return end - i;
}

std::string hexadecimal(const char* format, unsigned value) {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

void need_readable(std::string_view text) {
    if (text.size() > kMaxScheduleBytes) {
        fail({1, 1},
             "a schedule of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(kMaxScheduleBytes) +
                 " are read.",
             "Is this the file you meant?");
    }
    if (text.substr(0, 3) == "\xEF\xBB\xBF")
        fail({1, 1}, "the text starts with a byte order mark.", "Save it as UTF-8 without one.");
    Position at{1, 1};
    for (std::size_t i = 0; i < text.size();) {
        const Character c = character_at(text, i);
        if (c.bytes == 0) {
            const unsigned byte = static_cast<unsigned char>(text[i]);
            fail(at, "byte " + hexadecimal("0x%02X", byte) + " is not UTF-8.", "Save the text as UTF-8.");
        }
        if (c.code == '\r' && (i + 1 >= text.size() || text[i + 1] != '\n'))
            fail(at, "a carriage return without a line feed.", "End lines with LF or CR LF.");
        const bool control =
            (c.code < 0x20 && c.code != '\n' && c.code != '\r' && c.code != '\t') || (c.code >= 0x7F && c.code < 0xA0);
        if (control) {
            fail(at, "control character " + code_point(text.substr(i)) + ".",
                 "A schedule is plain text. Is this the file you meant?");
        }
        i += c.bytes;
        ++at.column;
        if (c.code == '\n') at = {at.line + 1, 1};
    }
}

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    std::vector<Token> run() {
        for (;;) {
            skip_blanks();
            Token token = next();
            token.end_offset = i_;
            tokens_.push_back(token);
            if (token.kind == Token::Kind::end) return std::move(tokens_);
            if (token.kind == Token::Kind::newline) {
                ++at_.line;
                at_.column = 1;
            }
        }
    }

  private:
    void advance(std::size_t bytes) {
        for (std::size_t k = 0; k < bytes; ++k)
            at_.column += is_continuation(text_[i_ + k]) ? 0 : 1;
        i_ += bytes;
    }

    void skip_blanks() {
        while (i_ < text_.size() && (text_[i_] == ' ' || text_[i_] == '\t'))
            advance(1);
    }

    Token take(Token::Kind kind, std::size_t bytes) {
        Token token;
        token.kind = kind;
        token.text = text_.substr(i_, bytes);
        token.offset = i_;
        token.at = at_;
        advance(bytes);
        return token;
    }

    Token bad(std::size_t bytes, std::string_view problem) {
        Token token = take(Token::Kind::bad, bytes);
        token.problem = problem;
        return token;
    }

    Token next() {
        if (i_ >= text_.size()) return take(Token::Kind::end, 0);
        const char c = text_[i_];
        if (c == '\n') return take(Token::Kind::newline, 1);
        if (c == '\r') return take(Token::Kind::newline, 2); // \n follows
        if (c == '#') return comment();
        if (is_digit(c)) return number();
        if (c == '?') return hole();
        if (name_start(text_, i_) > 0) return word();
        return mark();
    }

    Token comment() {
        std::size_t end = i_;
        while (end < text_.size() && text_[end] != '\n' && text_[end] != '\r')
            ++end;
        Token token = take(Token::Kind::comment, end - i_);
        token.text.remove_prefix(1);
        if (!token.text.empty() && token.text.front() == ' ') token.text.remove_prefix(1);
        while (!token.text.empty() && (token.text.back() == ' ' || token.text.back() == '\t')) {
            token.text.remove_suffix(1);
        }
        return token;
    }

    Token number() {
        std::size_t digits = 0;
        while (i_ + digits < text_.size() && is_digit(text_[i_ + digits]))
            ++digits;
        if (const std::size_t letters = name_bytes(text_, i_ + digits)) {
            return bad(digits + letters, "Numbers are digits alone: write 65536, not 64K, 65_536 or 0x10000.");
        }
        if (digits > 1 && text_[i_] == '0') return bad(digits, "Numbers have no leading zeros.");
        Token token = take(Token::Kind::number, digits);
        constexpr std::uint64_t kLargest = std::uint64_t{1} << 63; // of the most negative number
        for (const char digit : token.text) {
            const auto value = static_cast<std::uint64_t>(digit - '0');
            if (token.value > (kLargest - value) / 10) {
                token.kind = Token::Kind::bad;
                token.problem = "Numbers are of 64 bits: at most 9223372036854775807.";
                return token;
            }
            token.value = token.value * 10 + value;
        }
        return token;
    }

    Token hole() {
        const std::size_t bytes = name_start(text_, i_ + 1) > 0 ? name_bytes(text_, i_ + 1) : 0;
        if (bytes == 0) return bad(1, "A hole is ?name, or ?name{1, 2, 4} where it is declared.");
        if (bytes > kMaxNameBytes) return bad(1 + bytes, "Names have at most 255 bytes.");
        Token token = take(Token::Kind::hole, 1 + bytes);
        token.text.remove_prefix(1);
        return token;
    }

    Token word() {
        const std::size_t bytes = name_bytes(text_, i_);
        if (bytes > kMaxNameBytes) return bad(bytes, "Names have at most 255 bytes.");
        return take(Token::Kind::word, bytes);
    }

    Token mark() {
        static constexpr std::string_view kDouble[] = {"//", "==", "!=", "<=", ">="};
        for (const std::string_view two : kDouble) {
            if (text_.substr(i_, 2) == two) return take(Token::Kind::mark, 2);
        }
        static constexpr std::string_view kSingle = "(){},.;|=+-*%<>";
        if (kSingle.find(text_[i_]) != std::string_view::npos) return take(Token::Kind::mark, 1);
        const std::string_view rest = text_.substr(i_);
        if (rest.front() == '/') return bad(1, "Division is //, which rounds down.");
        if (rest.front() == '&') return bad(rest.substr(0, 2) == "&&" ? 2 : 1, "Write 'and'.");
        if (rest.front() == '!') return bad(1, "Write 'not', or != for 'differs'.");
        if (rest.front() == '"' || rest.front() == '\'') return bad(1, "Names are written without quotes.");
        return bad(character_at(text_, i_).bytes, "");
    }

    std::string_view text_;
    std::size_t i_ = 0;
    Position at_{1, 1};
    std::vector<Token> tokens_;
};

} // namespace

void fail(Position at, std::string message, std::string hint) {
    throw Problem{{at, "", "", std::move(message), std::move(hint)}};
}

std::vector<Token> tokenize(std::string_view text) {
    need_readable(text);
    return Lexer(text).run();
}

std::string code_point(std::string_view text) {
    return text.empty() ? "" : hexadecimal("U+%04X", character_at(text, 0).code);
}

bool is_name(std::string_view text) {
    return name_start(text, 0) > 0 && name_bytes(text, 0) == text.size() && text.size() <= kMaxNameBytes;
}

} // namespace tilewright::dsl
