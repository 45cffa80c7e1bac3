// dsl/language/token_stream.h: reading tokens one after the other, and saying what was expected instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/language/schedule_lexer.h"

namespace tilewright::dsl {

/// In single quotes, shortened where it is long.
std::string quoted(std::string_view text);

class TokenStream {
  public:
    explicit TokenStream(std::string_view text) : tokens_(tokenize(text)) {}

    /// Takes an opening bracket. Inside, ends of lines do not count and comments are put aside.
    void open();
    /// Takes the closing bracket; what follows it counts again.
    const Token& close();

    const Token& peek() const { return tokens_[position_]; }
    Token::Kind kind() const { return peek().kind; }
    const Token& next();
    bool at_end() const { return kind() == Token::Kind::end; }
    bool is_mark(std::string_view mark) const { return kind() == Token::Kind::mark && peek().text == mark; }
    bool is_word(std::string_view word) const { return kind() == Token::Kind::word && peek().text == word; }
    /// A mark follows the current token directly, whatever the layout.
    bool next_is_mark(std::string_view mark) const;
    /// Neither the end of the line or the text nor a comment.
    bool is_printable() const;
    bool skip_mark(std::string_view mark);

    /// "expected '(' after ..., found ...".
    void expect_mark(std::string_view mark, const std::string& after, const std::string& hint);
    std::string name(const std::string& what, const std::string& hint);
    /// Throws Problem at the current token.
    [[noreturn]] void expected(const std::string& what, const std::string& hint) const;

    /// A line that starts with '.' goes on with the chain above: moves to that '.'.
    bool continues_chain();
    /// The current token is the first on its line.
    bool on_new_line() const;
    /// The current token stands on the line of a statement that ended.
    bool follows_statement() const;
    std::vector<std::string> take_loose_comments() { return std::move(loose_comments_); }

  private:
    void skip_layout();

    std::vector<Token> tokens_;
    std::size_t position_ = 0;
    int free_layout_ = 0;
    std::vector<std::string> loose_comments_;
};

} // namespace tilewright::dsl
