// dsl/language/token_stream.cpp: layout, look-ahead and recovery.
#include "dsl/language/token_stream.h"

#include <algorithm>
#include <utility>

namespace tilewright::dsl {
namespace {

constexpr std::size_t kMaxQuoted = 48;

std::string found_text(const Token& token) {
    switch (token.kind) {
    case Token::Kind::end:
        return "the end of the text";
    case Token::Kind::newline:
        return "the end of the line";
    case Token::Kind::comment:
        return "a comment";
    case Token::Kind::hole:
        return quoted("?" + std::string(token.text));
    default:
        return quoted(token.text);
    }
}

} // namespace

std::string quoted(std::string_view text) {
    if (text.size() <= kMaxQuoted) return "'" + std::string(text) + "'";
    std::size_t bytes = kMaxQuoted - 3;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80)
        --bytes;
    return "'" + std::string(text.substr(0, bytes)) + "...'";
}

void TokenStream::skip_layout() {
    while (kind() == Token::Kind::newline || kind() == Token::Kind::comment) {
        if (kind() == Token::Kind::comment) loose_comments_.emplace_back(peek().text);
        ++position_;
    }
}

void TokenStream::open() {
    ++free_layout_;
    next();
}

const Token& TokenStream::close() {
    --free_layout_;
    return next();
}

const Token& TokenStream::next() {
    const Token& token = tokens_[position_];
    if (token.kind == Token::Kind::bad) expected("a token", "");
    if (token.kind != Token::Kind::end) ++position_;
    if (free_layout_ > 0) skip_layout();
    return token;
}

bool TokenStream::next_is_mark(std::string_view mark) const {
    if (at_end()) return false;
    const Token& following = tokens_[position_ + 1];
    return following.kind == Token::Kind::mark && following.text == mark;
}

bool TokenStream::is_printable() const {
    return !at_end() && kind() != Token::Kind::newline && kind() != Token::Kind::comment;
}

bool TokenStream::skip_mark(std::string_view mark) {
    if (!is_mark(mark)) return false;
    next();
    return true;
}

void TokenStream::expect_mark(std::string_view mark, const std::string& after, const std::string& hint) {
    if (!is_mark(mark)) expected("'" + std::string(mark) + "' " + after, hint);
    next();
}

std::string TokenStream::name(const std::string& what, const std::string& hint) {
    if (kind() != Token::Kind::word) expected(what, hint);
    if (peek().text == "and" || peek().text == "or" || peek().text == "not") {
        expected(what, quoted(peek().text) + " is an operator and cannot be a name.");
    }
    return std::string(next().text);
}

void TokenStream::expected(const std::string& what, const std::string& hint) const {
    const Token& token = peek();
    if (token.kind == Token::Kind::bad) {
        const bool visible = !token.text.empty() && static_cast<unsigned char>(token.text.front()) < 0x80;
        // Blanks and marks beyond ASCII look like nothing or like something else.
        const std::string found = visible ? found_text(token) : "character " + code_point(token.text);
        fail(token.at, "unexpected " + found, token.problem.empty() ? hint : std::string(token.problem));
    }
    fail(token.at, "expected " + what + ", found " + found_text(token), hint);
}

bool TokenStream::continues_chain() {
    std::size_t ahead = position_;
    while (tokens_[ahead].kind == Token::Kind::newline || tokens_[ahead].kind == Token::Kind::comment)
        ++ahead;
    if (ahead == position_ || tokens_[ahead].kind != Token::Kind::mark || tokens_[ahead].text != ".") return false;
    skip_layout();
    return true;
}

bool TokenStream::on_new_line() const {
    return position_ == 0 || tokens_[position_ - 1].kind == Token::Kind::newline;
}

bool TokenStream::follows_statement() const {
    if (on_new_line()) return false;
    const Token& last = tokens_[position_ - 1];
    return last.kind != Token::Kind::mark || (last.text != "{" && last.text != "|");
}

} // namespace tilewright::dsl
