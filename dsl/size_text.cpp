// dsl/size_text.cpp: a precedence-climbing parser over a few tokens.
#include "dsl/size_text.h"

#include <cctype>
#include <utility>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/expression.h"

namespace tilewright::dsl {
namespace {

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) { advance(); }

    Expression whole() {
        Expression result = binary_at(1);
        if (!token_.empty()) fail();
        return result;
    }

  private:
    std::string_view text_;
    std::size_t next_ = 0;
    std::string token_;
    int depth_ = 0;

    [[noreturn]] void fail() const {
        throw InternalError("size expression '" + std::string(text_) + "': unexpected '" + token_ + "'.");
    }
    static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
    void advance() {
        while (next_ < text_.size() && text_[next_] == ' ')
            ++next_;
        const std::size_t begin = next_;
        if (next_ == text_.size()) {
            token_.clear();
            return;
        }
        if (is_name(text_[next_])) {
            while (next_ < text_.size() && is_name(text_[next_]))
                ++next_;
        } else {
            const std::string_view two = text_.substr(next_, 2);
            next_ += two == "//" || two == "==" || two == "!=" || two == "<=" || two == ">=" ? 2 : 1;
        }
        token_ = std::string(text_.substr(begin, next_ - begin));
    }
    void expect(const char* what) {
        if (token_ != what) fail();
        advance();
    }
    Expression binary_at(int lowest) {
        if (++depth_ > 200) fail();
        Expression left = operand();
        for (int precedence = binary_precedence(token_); precedence >= lowest && precedence > 0;
             precedence = binary_precedence(token_)) {
            std::string operation = token_;
            advance();
            left = binary(std::move(operation), std::move(left), binary_at(precedence + 1));
        }
        --depth_;
        return left;
    }
    Expression operand() {
        if (token_ == "-" || token_ == "not") {
            std::string operation = token_;
            advance();
            return unary(std::move(operation), binary_at(kNegationPrecedence));
        }
        if (token_ == "(") {
            advance();
            Expression inside = binary_at(1);
            expect(")");
            return inside;
        }
        if (token_.empty() || !is_name(token_[0])) fail();
        const std::string word = token_;
        advance();
        if (std::isdigit(static_cast<unsigned char>(word[0]))) {
            if (word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos) fail();
            return integer(std::stoll(word));
        }
        if (token_ != "(") return symbol(word);
        std::vector<Expression> operands;
        do {
            advance();
            operands.push_back(binary_at(1));
        } while (token_ == ",");
        expect(")");
        return call(word, std::move(operands));
    }
};

} // namespace

Expression parse_size_text(std::string_view text) {
    return Parser(text).whole();
}

std::optional<std::int64_t> constant_size(const std::string& text) {
    if (text.empty()) return std::nullopt;
    return evaluate(parse_size_text(text), no_environment);
}

} // namespace tilewright::dsl
