// dsl/base/size_expression.cpp: one parser by precedence climbing, one printer, arithmetic without undefined behaviour.
#include "dsl/base/size_expression.h"

#include <algorithm>
#include <stdexcept>

#include "dsl/base/error.h"

namespace tilewright {
namespace {

using Op = SizeExpression::Op;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool starts_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80) != 0;
}
bool continues_name(char c) {
    return starts_name(c) || is_digit(c);
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    /// Operators that bind at least as tightly as `lowest`; brackets hold what may stand outside of them.
    SizeExpression read(int lowest) {
        lowest_ = lowest;
        return operation(lowest);
    }
    std::string_view rest() {
        skip_blanks();
        return text_;
    }
    void expect_end() {
        if (!rest().empty()) fail("'" + std::string(rest()) + "' after the expression");
    }

  private:
    [[noreturn]] static void fail(const std::string& found) { throw std::invalid_argument(found); }

    SizeExpression operation(int lowest) {
        int highest = kProductPrecedence;
        SizeExpression left;
        if (lowest <= kNotPrecedence && take_word("not")) {
            enter();
            left = SizeExpression::unary(Op::logical_not, operation(kNotPrecedence));
            --depth_;
            highest = kNotPrecedence - 1;
        } else {
            left = operand();
        }
        for (int chain = 0;; ++chain) {
            const SizeOperator* const found = take_operator(lowest, highest);
            if (found == nullptr) return left;
            if (chain >= kMaxSizeChain) fail("an expression of too many operators");
            left = SizeExpression::binary(found->op, std::move(left), operation(found->precedence + 1));
            // Comparisons do not chain.
            if (found->precedence == kComparisonPrecedence) highest = kComparisonPrecedence - 1;
        }
    }
    SizeExpression operand() {
        enter();
        SizeExpression result = take("-") ? negated(operand()) : atom();
        --depth_;
        return result;
    }
    void enter() {
        if (++depth_ > kMaxSizeDepth) fail("an expression nested too deeply");
    }
    static SizeExpression negated(SizeExpression operand) {
        return operand.is_constant() ? SizeExpression::integer(-operand.constant())
                                     : SizeExpression::unary(Op::neg, std::move(operand));
    }
    SizeExpression atom() {
        if (take("(")) {
            SizeExpression inside = operation(lowest_);
            expect(")");
            return inside;
        }
        if (rest().empty()) fail("the end where a size is expected");
        const char c = text_[0];
        if (is_digit(c)) return integer();
        if (!starts_name(c)) fail("found '" + std::string(1, c) + "' where a size is expected");
        return symbol_or_call();
    }
    SizeExpression integer() {
        std::int64_t value = 0;
        while (!text_.empty() && is_digit(text_[0])) {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[0] - '0', &value))
                fail("an integer beyond 64 bits");
            text_.remove_prefix(1);
        }
        if (!text_.empty() && starts_name(text_[0])) fail("a name glued to a number");
        return SizeExpression::integer(value);
    }
    SizeExpression symbol_or_call() {
        std::size_t n = 0;
        while (n < text_.size() && continues_name(text_[n]))
            ++n;
        if (n + 1 < text_.size() && text_[n] == '.' && is_digit(text_[n + 1])) {
            ++n;
            while (n < text_.size() && is_digit(text_[n]))
                ++n;
        }
        std::string name(text_.substr(0, n));
        text_.remove_prefix(n);
        if ((name != "min" && name != "max") || !take("(")) return SizeExpression::symbol(std::move(name));
        SizeExpression left = operation(lowest_);
        if (!take(",")) fail("no comma in " + name + "(a, b)");
        SizeExpression right = operation(lowest_);
        expect(")");
        return SizeExpression::call(std::move(name), {std::move(left), std::move(right)});
    }

    const SizeOperator* take_operator(int lowest, int highest) {
        skip_blanks();
        for (const SizeOperator& each : kSizeOperators) {
            if (each.precedence < lowest || each.precedence > highest) continue;
            if (starts_name(each.text[0]) ? take_word(each.text) : take(each.text)) return &each;
        }
        return nullptr;
    }
    void expect(std::string_view bracket) {
        if (!take(bracket)) fail("no closing parenthesis");
    }
    void skip_blanks() {
        while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t'))
            text_.remove_prefix(1);
    }
    bool take(std::string_view token) {
        skip_blanks();
        if (!text_.starts_with(token)) return false;
        text_.remove_prefix(token.size());
        return true;
    }
    bool take_word(std::string_view word) {
        skip_blanks();
        const bool goes_on =
            text_.size() > word.size() && (continues_name(text_[word.size()]) || text_[word.size()] == '.');
        return !goes_on && take(word);
    }

    std::string_view text_;
    int lowest_ = 1;
    int depth_ = 0;
};

/// Of numbers and names, which need no parentheses.
constexpr int kAtomPrecedence = kNegationPrecedence + 1;

int precedence_of(const SizeExpression& e, SizeStyle style) {
    if (e.is_constant() && e.constant() < 0 && style != SizeStyle::schedule) return kSumPrecedence;
    if (e.op() == Op::neg) return kNegationPrecedence;
    if (e.op() == Op::logical_not) return kNotPrecedence;
    const SizeOperator* const found = find_operator(e.op());
    return found == nullptr ? kAtomPrecedence : found->precedence;
}

SizeExpression constant_or(std::optional<std::int64_t> value, Op op, SizeExpression&& left, SizeExpression&& right) {
    return value ? SizeExpression::integer(*value) : SizeExpression::binary(op, std::move(left), std::move(right));
}

} // namespace

// -- making -----------------------------------------------------------------------------------------------------------

SizeExpression::SizeExpression() {
    static const std::shared_ptr<const Node> zero = std::make_shared<Node>();
    node_ = zero;
}

SizeExpression SizeExpression::node(Op op, std::vector<SizeExpression> operands, std::string name, Position at) {
    int height = 1;
    for (const SizeExpression& operand : operands)
        height = std::max(height, operand.height() + 1);
    return SizeExpression(std::make_shared<const Node>(Node{op, height, 0, std::move(name), std::move(operands), at}));
}

SizeExpression SizeExpression::integer(std::int64_t value, Position at) {
    return SizeExpression(std::make_shared<const Node>(Node{Op::integer, 1, value, {}, {}, at}));
}

SizeExpression SizeExpression::symbol(std::string name, Position at) {
    return node(Op::symbol, {}, std::move(name), at);
}

SizeExpression SizeExpression::hole(std::string name, Position at) {
    return node(Op::hole, {}, std::move(name), at);
}

SizeExpression SizeExpression::unary(Op op, SizeExpression operand, Position at) {
    return node(op, {std::move(operand)}, {}, at);
}

SizeExpression SizeExpression::binary(Op op, SizeExpression left, SizeExpression right, Position at) {
    std::vector<SizeExpression> operands;
    operands.reserve(2);
    operands.push_back(std::move(left));
    operands.push_back(std::move(right));
    return node(op, std::move(operands), {}, at);
}

SizeExpression SizeExpression::call(std::string name, std::vector<SizeExpression> operands, Position at) {
    if (name == "min" || name == "max") return node(name == "min" ? Op::min : Op::max, std::move(operands), {}, at);
    return node(Op::call, std::move(operands), std::move(name), at);
}

SizeExpression SizeExpression::folded(Op op, SizeExpression left, SizeExpression right) {
    if (left.is_constant() && right.is_constant())
        return constant_or(apply(op, left.constant(), right.constant()), op, std::move(left), std::move(right));
    auto is = [](const SizeExpression& e, std::int64_t value) { return e.is_constant() && e.constant() == value; };
    if (op == Op::add && is(left, 0)) return right;
    if ((op == Op::add || op == Op::sub) && is(right, 0)) return left;
    if (op == Op::mul && (is(left, 0) || is(right, 0))) return integer(0);
    if (op == Op::mul && is(left, 1)) return right;
    if ((op == Op::mul || op == Op::floordiv) && is(right, 1)) return left;
    if (op == Op::mod && is(right, 1)) return integer(0);
    return binary(op, std::move(left), std::move(right));
}

SizeExpression SizeExpression::folded() const {
    if (operands().empty() || op() == Op::call || operands().size() > 2) return *this;
    if (op() == Op::neg) return folded(Op::sub, integer(0), operands()[0].folded());
    if (op() == Op::logical_not) return unary(op(), operands()[0].folded());
    SizeExpression left = operands()[0].folded(), right = operands()[1].folded();
    const bool is_condition = op() >= Op::eq;
    return is_condition ? binary(op(), std::move(left), std::move(right))
                        : folded(op(), std::move(left), std::move(right));
}

// -- reading and printing ---------------------------------------------------------------------------------------------

SizeExpression parse_size_prefix(std::string_view& text) {
    Parser parser(text);
    SizeExpression result = parser.read(1);
    text = parser.rest();
    return result;
}

SizeExpression parse_condition(std::string_view text) {
    Parser parser(text);
    SizeExpression result = parser.read(1);
    parser.expect_end();
    return result;
}

std::optional<SizeExpression> try_parse_size(std::string_view text, std::string* why) {
    try {
        Parser parser(text);
        const SizeExpression result = parser.read(kSumPrecedence);
        parser.expect_end();
        return result.folded();
    } catch (const std::invalid_argument& error) {
        if (why != nullptr) *why = error.what();
        return std::nullopt;
    }
}

SizeExpression parse_size(std::string_view text) {
    std::string why;
    std::optional<SizeExpression> size = try_parse_size(text, &why);
    if (!size) throw InternalError("size '" + std::string(text) + "': not a size expression: " + why + ".");
    return *size;
}

std::optional<std::int64_t> constant_size(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const SizeExpression size = parse_size(text);
    return size.is_constant() ? std::optional(size.constant()) : std::nullopt;
}

std::string SizeExpression::text(SizeStyle style) const {
    std::string out;
    print(0, style, out);
    return out;
}

void SizeExpression::print(int outer, SizeStyle style, std::string& out) const {
    if (op() == Op::symbol || op() == Op::hole) {
        out.append(op() == Op::hole ? "?" : "").append(name());
        return;
    }
    if (op() == Op::min || op() == Op::max || op() == Op::call) {
        out += op() == Op::call ? std::string_view(name()) : spelling(op());
        const char* separator = "(";
        for (const SizeExpression& operand : operands()) {
            out += std::exchange(separator, ", ");
            operand.print(0, style, out);
        }
        out += ')';
        return;
    }
    const int precedence = precedence_of(*this, style);
    const bool parentheses = precedence < outer;
    if (parentheses) out += '(';
    if (op() == Op::integer) {
        out += std::to_string(constant());
    } else if (operands().size() == 1) {
        out += op() == Op::neg ? "-" : "not ";
        // -5 is a number, so the negation of 5 is written -(5); --x would be legal, but reads badly.
        const bool apart = op() == Op::neg && (operands()[0].is_constant() || operands()[0].op() == Op::neg);
        operands()[0].print(apart ? kAtomPrecedence + 1 : precedence, style, out);
    } else {
        // Comparisons do not chain, so both sides of one need parentheses round another.
        operands()[0].print(precedence == kComparisonPrecedence ? precedence + 1 : precedence, style, out);
        const std::string_view blank = op() == Op::mul && style == SizeStyle::plan ? "" : " ";
        out.append(blank).append(spelling(op())).append(blank);
        operands()[1].print(precedence + 1, style, out);
    }
    if (parentheses) out += ')';
}

// -- asking -----------------------------------------------------------------------------------------------------------

void SizeExpression::collect_symbols(std::set<std::string>& symbols) const {
    if (op() == Op::symbol) symbols.insert(name());
    for (const SizeExpression& operand : operands())
        operand.collect_symbols(symbols);
}

std::vector<std::string> SizeExpression::symbols() const {
    std::vector<std::string> found;
    append_symbols(found);
    return found;
}

void SizeExpression::append_symbols(std::vector<std::string>& symbols) const {
    if (op() == Op::symbol && std::ranges::find(symbols, name()) == symbols.end()) symbols.push_back(name());
    for (const SizeExpression& operand : operands())
        operand.append_symbols(symbols);
}

bool SizeExpression::operator==(const SizeExpression& other) const {
    if (node_ == other.node_) return true;
    return op() == other.op() && constant() == other.constant() && name() == other.name() &&
           std::ranges::equal(operands(), other.operands());
}

} // namespace tilewright
