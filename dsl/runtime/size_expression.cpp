// dsl/runtime/size_expression.cpp: parser, printer and evaluator of size expressions.
#include "dsl/runtime/size_expression.h"

#include <algorithm>
#include <stdexcept>

namespace tilewright::runtime {
namespace {

using Op = SizeExpression::Op;

// Deeper trees come only from damaged text; the limit keeps the recursion and the evaluation stack small.
constexpr int kMaxDepth = 64;

bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (static_cast<unsigned char>(c) >= 0x80);
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    SizeExpression disjunction(int depth) {
        SizeExpression left = conjunction(depth);
        while (take_word("or"))
            left = binary(Op::logical_or, std::move(left), conjunction(depth + 1));
        return left;
    }
    std::string_view rest() {
        skip_blanks();
        return text_;
    }

  private:
    SizeExpression conjunction(int depth) {
        SizeExpression left = negation(depth);
        while (take_word("and"))
            left = binary(Op::logical_and, std::move(left), negation(depth + 1));
        return left;
    }
    SizeExpression negation(int depth) {
        check_depth(depth);
        if (!take_word("not")) return comparison(depth);
        SizeExpression result;
        result.op = Op::logical_not;
        result.operands.push_back(negation(depth + 1));
        return result;
    }
    SizeExpression comparison(int depth) {
        SizeExpression left = sum(depth);
        static constexpr std::pair<std::string_view, Op> kComparisons[] = {
            {"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}};
        for (auto [spelling, op] : kComparisons)
            if (take(spelling)) return binary(op, std::move(left), sum(depth + 1));
        return left;
    }
    SizeExpression sum(int depth) {
        SizeExpression left = product(depth);
        for (int n = depth;; ++n) {
            check_depth(n);
            if (take("+"))
                left = binary(Op::add, std::move(left), product(depth + 1));
            else if (take("-"))
                left = binary(Op::sub, std::move(left), product(depth + 1));
            else
                return left;
        }
    }
    SizeExpression product(int depth) {
        SizeExpression left = factor(depth);
        for (int n = depth;; ++n) {
            check_depth(n);
            if (take("*"))
                left = binary(Op::mul, std::move(left), factor(depth + 1));
            else if (take("//"))
                left = binary(Op::floordiv, std::move(left), factor(depth + 1));
            else if (take("%"))
                left = binary(Op::mod, std::move(left), factor(depth + 1));
            else
                return left;
        }
    }
    SizeExpression factor(int depth) {
        check_depth(depth);
        if (take("-")) {
            SizeExpression operand = factor(depth + 1);
            if (operand.op == Op::integer) {
                operand.value = -operand.value;
                return operand;
            }
            SizeExpression result;
            result.op = Op::neg;
            result.operands.push_back(std::move(operand));
            return result;
        }
        if (take("(")) {
            SizeExpression inner = disjunction(depth + 1);
            if (!take(")")) throw std::invalid_argument("expected ')'");
            return inner;
        }
        skip_blanks();
        if (!text_.empty() && is_digit(text_[0])) return integer();
        if (!text_.empty() && is_name_start(text_[0])) return symbol_or_call(depth);
        throw std::invalid_argument(text_.empty() ? "expected a size, but the line ends"
                                                  : "expected a size at '" + std::string(text_.substr(0, 12)) + "'");
    }
    SizeExpression integer() {
        SizeExpression result;
        while (!text_.empty() && is_digit(text_[0])) {
            if (__builtin_mul_overflow(result.value, std::int64_t{10}, &result.value) ||
                __builtin_add_overflow(result.value, std::int64_t{text_[0] - '0'}, &result.value))
                throw std::invalid_argument("the integer does not fit int64");
            text_.remove_prefix(1);
        }
        return result;
    }
    SizeExpression symbol_or_call(int depth) {
        std::size_t n = 0;
        while (n < text_.size() && (is_name_start(text_[n]) || is_digit(text_[n])))
            ++n;
        if (n + 1 < text_.size() && text_[n] == '.' && is_digit(text_[n + 1])) {
            ++n;
            while (n < text_.size() && is_digit(text_[n]))
                ++n;
        }
        SizeExpression result;
        result.op = Op::symbol;
        result.name = std::string(text_.substr(0, n));
        text_.remove_prefix(n);
        if ((result.name == "min" || result.name == "max") && take("(")) {
            result.op = result.name == "min" ? Op::min : Op::max;
            result.name.clear();
            result.operands.push_back(disjunction(depth + 1));
            if (!take(",")) throw std::invalid_argument("expected ',' between two operands of min or max");
            result.operands.push_back(disjunction(depth + 1));
            if (!take(")")) throw std::invalid_argument("expected ')'");
        }
        return result;
    }
    static SizeExpression binary(Op op, SizeExpression left, SizeExpression right) {
        SizeExpression result;
        result.op = op;
        result.operands.push_back(std::move(left));
        result.operands.push_back(std::move(right));
        return result;
    }
    static void check_depth(int depth) {
        if (depth > kMaxDepth) throw std::invalid_argument("the expression is nested too deeply");
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
        if (!text_.starts_with(word)) return false;
        if (text_.size() > word.size() &&
            (is_name_start(text_[word.size()]) || is_digit(text_[word.size()]) || text_[word.size()] == '.'))
            return false;
        text_.remove_prefix(word.size());
        return true;
    }

    std::string_view text_;
};

struct Spelling {
    std::string_view text;
    int precedence;
};

Spelling spelling(Op op) {
    switch (op) {
    case Op::logical_or:
        return {" or ", 1};
    case Op::logical_and:
        return {" and ", 2};
    case Op::logical_not:
        return {"not ", 3};
    case Op::eq:
        return {" == ", 4};
    case Op::ne:
        return {" != ", 4};
    case Op::lt:
        return {" < ", 4};
    case Op::le:
        return {" <= ", 4};
    case Op::gt:
        return {" > ", 4};
    case Op::ge:
        return {" >= ", 4};
    case Op::add:
        return {" + ", 5};
    case Op::sub:
        return {" - ", 5};
    case Op::mul:
        return {"*", 6};
    case Op::floordiv:
        return {" // ", 6};
    case Op::mod:
        return {" % ", 6};
    case Op::neg:
        return {"-", 7};
    case Op::min:
        return {"min", 8};
    case Op::max:
        return {"max", 8};
    default:
        return {"", 8};
    }
}

void print(const SizeExpression& e, int outer, std::string& out) {
    auto [text, precedence] = spelling(e.op);
    if (e.op == Op::integer) {
        out += e.value < 0 && outer > 5 ? "(" + std::to_string(e.value) + ")" : std::to_string(e.value);
        return;
    }
    if (e.op == Op::symbol) {
        out += e.name;
        return;
    }
    if (e.op == Op::min || e.op == Op::max) {
        out += text;
        out += '(';
        print(e.operands[0], 0, out);
        out += ", ";
        print(e.operands[1], 0, out);
        out += ')';
        return;
    }
    bool parentheses = precedence < outer;
    if (parentheses) out += '(';
    if (e.operands.size() == 1) {
        out += text;
        print(e.operands[0], precedence, out);
    } else {
        // Comparisons do not chain, so both sides of one need parentheses round another.
        print(e.operands[0], precedence == 4 ? 5 : precedence, out);
        out += text;
        print(e.operands[1], precedence + 1, out);
    }
    if (parentheses) out += ')';
}

bool apply(Op op, std::int64_t a, std::int64_t b, std::int64_t& r) {
    switch (op) {
    case Op::add:
        return !__builtin_add_overflow(a, b, &r);
    case Op::sub:
        return !__builtin_sub_overflow(a, b, &r);
    case Op::mul:
        return !__builtin_mul_overflow(a, b, &r);
    case Op::floordiv:
    case Op::mod: {
        if (b == 0 || (a == INT64_MIN && b == -1)) return false;
        std::int64_t quotient = a / b, remainder = a % b;
        bool adjust = remainder != 0 && ((remainder < 0) != (b < 0));
        r = op == Op::floordiv ? quotient - adjust : remainder + (adjust ? b : 0);
        return true;
    }
    case Op::min:
        r = std::min(a, b);
        return true;
    case Op::max:
        r = std::max(a, b);
        return true;
    case Op::eq:
        r = a == b;
        return true;
    case Op::ne:
        r = a != b;
        return true;
    case Op::lt:
        r = a < b;
        return true;
    case Op::le:
        r = a <= b;
        return true;
    case Op::gt:
        r = a > b;
        return true;
    case Op::ge:
        r = a >= b;
        return true;
    case Op::logical_and:
        r = a && b;
        return true;
    case Op::logical_or:
        r = a || b;
        return true;
    default:
        return false;
    }
}

bool is_comparison(Op op) {
    return op >= Op::eq && op <= Op::ge;
}

} // namespace

SizeExpression parse_size_prefix(std::string_view& text) {
    Reader reader(text);
    SizeExpression result = reader.disjunction(0);
    text = reader.rest();
    return result;
}

SizeExpression parse_size(std::string_view text) {
    SizeExpression result = parse_size_prefix(text);
    if (!text.empty())
        throw std::invalid_argument("unexpected '" + std::string(text.substr(0, 12)) + "' after the expression");
    return result;
}

std::string print_size(const SizeExpression& expression) {
    std::string out;
    print(expression, 0, out);
    return out;
}

CompiledSize CompiledSize::compile(const SizeExpression& e, const std::function<int(const std::string&)>& slot) {
    CompiledSize result;
    if (e.op == Op::integer) {
        result.constant_ = e.value;
        return result;
    }
    if (e.op == Op::symbol) {
        result.shape_ = Shape::symbol;
        result.symbol_ = slot(e.name);
        return result;
    }
    if (is_comparison(e.op) && e.operands[0].op == Op::symbol &&
        (e.operands[1].op == Op::integer || e.operands[1].op == Op::symbol)) {
        bool constant = e.operands[1].op == Op::integer;
        result.shape_ = constant ? Shape::compare_constant : Shape::compare_symbol;
        result.compare_ = e.op;
        result.symbol_ = slot(e.operands[0].name);
        result.constant_ = constant ? e.operands[1].value : slot(e.operands[1].name);
        return result;
    }
    // How many elements a call has decides between versions: such a condition is met by every small call.
    if (is_comparison(e.op) && e.operands[1].op == Op::integer && result.append_sum(e.operands[0], slot, 0)) {
        result.shape_ = Shape::compare_sum;
        result.compare_ = e.op;
        result.constant_ = e.operands[1].value;
        return result;
    }
    result.append(e, slot, 0);
    result.shape_ = Shape::code;
    std::int64_t folded = 0;
    bool reads_symbols =
        std::any_of(result.code_.begin(), result.code_.end(), [](auto& i) { return i.op == Op::symbol; });
    if (!reads_symbols && result.run(nullptr, folded)) {
        result.shape_ = Shape::constant;
        result.constant_ = folded;
    }
    return result;
}

bool CompiledSize::append_sum(const SizeExpression& e, const std::function<int(const std::string&)>& slot, int depth) {
    if (depth > kMaxDepth) return false;
    const bool is_sum = e.op == Op::add;
    if (is_sum && !append_sum(e.operands[0], slot, depth + 1)) return false;
    if (!append_product(is_sum ? e.operands[1] : e, slot, depth + 1)) return false;
    factors_.push_back(kEndOfProduct);
    return true;
}

bool CompiledSize::append_product(const SizeExpression& e, const std::function<int(const std::string&)>& slot,
                                  int depth) {
    if (depth > kMaxDepth) return false;
    const bool is_product = e.op == Op::mul;
    if (is_product && !append_product(e.operands[0], slot, depth + 1)) return false;
    const SizeExpression& factor = is_product ? e.operands[1] : e;
    if (factor.op != Op::symbol) return false;
    factors_.push_back(slot(factor.name));
    return true;
}

void CompiledSize::append(const SizeExpression& e, const std::function<int(const std::string&)>& slot, int depth) {
    // A left-deep chain of n operators needs a stack of 2, a right-deep one n: the depth bounds both.
    if (depth > 4 * kMaxDepth) throw std::invalid_argument("the expression is nested too deeply");
    for (const SizeExpression& operand : e.operands)
        append(operand, slot, depth + 1);
    code_.push_back({e.op, e.op == Op::symbol ? slot(e.name) : e.value});
}

bool CompiledSize::run(const std::int64_t* symbols, std::int64_t& result) const {
    std::int64_t stack[4 * kMaxDepth + 4];
    int top = -1;
    for (const Instruction& instruction : code_) {
        switch (instruction.op) {
        case Op::integer:
            stack[++top] = instruction.operand;
            break;
        case Op::symbol:
            stack[++top] = symbols[instruction.operand];
            break;
        case Op::neg:
            if (stack[top] == INT64_MIN) return false;
            stack[top] = -stack[top];
            break;
        case Op::logical_not:
            stack[top] = !stack[top];
            break;
        default:
            --top;
            if (!apply(instruction.op, stack[top], stack[top + 1], stack[top])) return false;
        }
    }
    result = stack[0];
    return true;
}

} // namespace tilewright::runtime
