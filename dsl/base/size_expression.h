// dsl/base/size_expression.h: integer arithmetic and conditions over sizes ("(X.0 + 1023) // 1024"): read, printed,
// folded and evaluated. Programs, plans and schedules speak of sizes in this one language; a schedule's expressions
// (dsl/language/expression.h) have its operators too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

/// A tree over int64, immutable and shared. Truth is 1, falsehood 0; `//` and `%` floor as in Python.
class SizeExpression {
  public:
    enum class Op : std::uint8_t {
        integer,
        symbol, ///< X.0, the first extent of X; n, an integer argument
        add,
        sub,
        mul,
        floordiv,
        mod,
        neg,
        min,
        max,
        eq,
        ne,
        lt,
        le,
        gt,
        ge,
        logical_and,
        logical_or,
        logical_not
    };

    /// 0
    SizeExpression();
    static SizeExpression integer(std::int64_t value);
    static SizeExpression symbol(std::string name);
    /// As written: nothing is computed.
    static SizeExpression unary(Op op, SizeExpression operand);
    static SizeExpression binary(Op op, SizeExpression left, SizeExpression right);
    /// Computes constants and drops the neutral elements of + * // %. What overflows stays as it is.
    static SizeExpression folded(Op op, SizeExpression left, SizeExpression right);
    /// Folded from its leaves on; -x becomes 0 - x. Conditions themselves stay.
    SizeExpression folded() const;

    friend SizeExpression operator+(const SizeExpression& a, const SizeExpression& b) { return folded(Op::add, a, b); }
    friend SizeExpression operator-(const SizeExpression& a, const SizeExpression& b) { return folded(Op::sub, a, b); }
    friend SizeExpression operator*(const SizeExpression& a, const SizeExpression& b) { return folded(Op::mul, a, b); }
    friend SizeExpression floor_div(const SizeExpression& a, const SizeExpression& b) {
        return folded(Op::floordiv, a, b);
    }
    friend SizeExpression floor_mod(const SizeExpression& a, const SizeExpression& b) { return folded(Op::mod, a, b); }
    friend SizeExpression smaller_of(const SizeExpression& a, const SizeExpression& b) { return folded(Op::min, a, b); }
    friend SizeExpression larger_of(const SizeExpression& a, const SizeExpression& b) { return folded(Op::max, a, b); }
    /// (a + b - 1) // b
    friend SizeExpression ceil_div(const SizeExpression& a, std::int64_t b) {
        return floor_div(a + integer(b - 1), integer(b));
    }

    Op op() const;
    const std::string& name() const; ///< of a symbol
    std::span<const SizeExpression> operands() const;
    bool is_constant() const { return op() == Op::integer; }
    std::int64_t constant() const; ///< of an integer

    /// With the fewest parentheses that read back to the same tree. Programs have blanks around `*`; plans have none.
    std::string text(std::string_view times = " * ") const;
    void collect_symbols(std::set<std::string>& symbols) const;
    /// Each once, in the order in which they appear.
    std::vector<std::string> symbols() const;
    /// The same tree. Cheaper than same_size, which finds more.
    bool operator==(const SizeExpression& other) const;

    /// `value_of(name)` gives optional<int64>. `and` and `or` look at the right side only where the left one does not
    /// decide. nullopt where a symbol that counts is unknown, on division by zero and on overflow.
    template <class Lookup> std::optional<std::int64_t> evaluate(const Lookup& value_of) const;

  private:
    struct Node;
    explicit SizeExpression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    void print(int outer, std::string_view times, std::string& out) const;
    void append_symbols(std::vector<std::string>& symbols) const;

    std::shared_ptr<const Node> node_;
};

struct SizeExpression::Node {
    Op op = Op::integer;
    std::uint8_t count = 0; ///< of operands
    std::int64_t value = 0;
    std::string name;
    std::array<SizeExpression, 2> operands{SizeExpression(nullptr), SizeExpression(nullptr)};
};

inline SizeExpression::Op SizeExpression::op() const {
    return node_->op;
}
inline const std::string& SizeExpression::name() const {
    return node_->name;
}
inline std::span<const SizeExpression> SizeExpression::operands() const {
    return {node_->operands.data(), node_->count};
}
inline std::int64_t SizeExpression::constant() const {
    return node_->value;
}

// -- reading ----------------------------------------------------------------------------------------------------------

/// Deeper brackets come only from damaged text.
inline constexpr int kMaxSizeDepth = 100;
/// Operators side by side, for the same reason.
inline constexpr int kMaxSizeChain = 1000;

/// A number that is the whole text, folded. nullopt where it is none; `why` then says what was found.
std::optional<SizeExpression> try_parse_size(std::string_view text, std::string* why = nullptr);
/// The same of text that was read before. Throws InternalError otherwise.
SizeExpression parse_size(std::string_view text);
/// The value of a number without symbols ("64", "16 * 4"); nullopt for all else, and for no text.
std::optional<std::int64_t> constant_size(std::string_view text);
/// A number or a condition in front of `text`, as written; what follows it is left in `text`. Throws
/// std::invalid_argument with what was found.
SizeExpression parse_size_prefix(std::string_view& text);
/// A number or a condition that is the whole text, as written. Throws std::invalid_argument.
SizeExpression parse_condition(std::string_view text);

// -- operators --------------------------------------------------------------------------------------------------------

/// How tightly operators bind: or 1, and 2, not 3, comparisons 4, + and - 5, * // % 6, unary - 7.
inline constexpr int kNotPrecedence = 3;
inline constexpr int kComparisonPrecedence = 4;
inline constexpr int kSumPrecedence = 5;
inline constexpr int kProductPrecedence = 6;
inline constexpr int kNegationPrecedence = 7;

struct SizeOperator {
    SizeExpression::Op op;
    std::string_view text;
    int precedence;
};

/// Those between two sides. A spelling stands before the one that it starts with.
inline constexpr std::array<SizeOperator, 13> kSizeOperators = {
    {{SizeExpression::Op::logical_or, "or", 1},
     {SizeExpression::Op::logical_and, "and", 2},
     {SizeExpression::Op::eq, "==", kComparisonPrecedence},
     {SizeExpression::Op::ne, "!=", kComparisonPrecedence},
     {SizeExpression::Op::le, "<=", kComparisonPrecedence},
     {SizeExpression::Op::ge, ">=", kComparisonPrecedence},
     {SizeExpression::Op::lt, "<", kComparisonPrecedence},
     {SizeExpression::Op::gt, ">", kComparisonPrecedence},
     {SizeExpression::Op::add, "+", kSumPrecedence},
     {SizeExpression::Op::sub, "-", kSumPrecedence},
     {SizeExpression::Op::floordiv, "//", kProductPrecedence},
     {SizeExpression::Op::mul, "*", kProductPrecedence},
     {SizeExpression::Op::mod, "%", kProductPrecedence}}};

/// nullptr for what stands between no two sides.
constexpr const SizeOperator* find_operator(std::string_view text) {
    for (const SizeOperator& each : kSizeOperators)
        if (each.text == text) return &each;
    return nullptr;
}
constexpr const SizeOperator* find_operator(SizeExpression::Op op) {
    for (const SizeOperator& each : kSizeOperators)
        if (each.op == op) return &each;
    return nullptr;
}
/// As it is written: +, not, min, ...
constexpr std::string_view spelling(SizeExpression::Op op) {
    if (const SizeOperator* found = find_operator(op)) return found->text;
    return op == SizeExpression::Op::neg   ? "-"
           : op == SizeExpression::Op::min ? "min"
           : op == SizeExpression::Op::max ? "max"
                                           : "not";
}
constexpr bool is_comparison(SizeExpression::Op op) {
    return op >= SizeExpression::Op::eq && op <= SizeExpression::Op::ge;
}

/// A comparison: of numbers a truth, of Halide's expressions one of them.
template <class T> constexpr auto compare(SizeExpression::Op op, const T& a, const T& b) -> decltype(a == b) {
    using Op = SizeExpression::Op;
    switch (op) {
    case Op::eq:
        return a == b;
    case Op::ne:
        return a != b;
    case Op::lt:
        return a < b;
    case Op::le:
        return a <= b;
    case Op::gt:
        return a > b;
    default:
        return a >= b;
    }
}

/// Of two numbers or truths. nullopt on overflow and division by zero.
inline std::optional<std::int64_t> apply(SizeExpression::Op op, std::int64_t a, std::int64_t b) {
    using Op = SizeExpression::Op;
    std::int64_t result = 0;
    auto unless = [&result](bool overflows) { return overflows ? std::nullopt : std::optional(result); };
    switch (op) {
    case Op::add:
        return unless(__builtin_add_overflow(a, b, &result));
    case Op::sub:
        return unless(__builtin_sub_overflow(a, b, &result));
    case Op::mul:
        return unless(__builtin_mul_overflow(a, b, &result));
    case Op::floordiv:
    case Op::mod: {
        if (b == 0) return std::nullopt;
        // INT64_MIN / -1 and INT64_MIN % -1 trap.
        if (b == -1) return op == Op::mod ? std::optional<std::int64_t>(0) : apply(Op::sub, 0, a);
        const bool adjust = a % b != 0 && (a < 0) != (b < 0);
        return op == Op::floordiv ? a / b - adjust : a % b + (adjust ? b : 0);
    }
    case Op::min:
        return std::min(a, b);
    case Op::max:
        return std::max(a, b);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
        return compare(op, a, b);
    case Op::logical_and:
        return a != 0 && b != 0;
    case Op::logical_or:
        return a != 0 || b != 0;
    case Op::integer:
    case Op::symbol:
    case Op::neg:
    case Op::logical_not:
        break;
    }
    return std::nullopt;
}

template <class Lookup> std::optional<std::int64_t> SizeExpression::evaluate(const Lookup& value_of) const {
    if (op() == Op::integer) return constant();
    if (op() == Op::symbol) return value_of(name());
    const std::optional<std::int64_t> a = operands()[0].evaluate(value_of);
    if (!a) return std::nullopt;
    if (op() == Op::logical_not) return *a == 0;
    if (op() == Op::neg) return apply(Op::sub, 0, *a);
    if (op() == Op::logical_and && *a == 0) return 0;
    if (op() == Op::logical_or && *a != 0) return 1;
    const std::optional<std::int64_t> b = operands()[1].evaluate(value_of);
    return b ? apply(op(), *a, *b) : std::nullopt;
}

} // namespace tilewright
