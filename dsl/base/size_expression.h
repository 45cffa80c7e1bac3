// dsl/base/size_expression.h: integer arithmetic and conditions over sizes ("(X.0 + 1023) // 1024"): read, printed,
// folded and evaluated. Programs, plans and schedules speak of sizes in this one language; a schedule's expressions
// have holes and functions besides (dsl/language/expression.h).
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

/// Where something stands in a text; both count from 1, 0 means "made by code". What is written is the same wherever it
/// stands: any two positions are equal.
struct Position {
    int line = 0;
    int column = 0;
    bool operator==(const Position&) const { return true; }
};

/// How sizes are written in programs (`a * (-1)`), plans (`a*(-1)`) and schedules (`a * -1`).
enum class SizeStyle { program, plan, schedule };

/// A tree over int64, immutable and shared. Truth is 1, falsehood 0; `//` and `%` floor as in Python.
class SizeExpression {
  public:
    enum class Op : std::uint8_t {
        integer,
        symbol, ///< X.0, the first extent of X; n, an integer argument; cores
        hole,   ///< ?tile, in schedules alone, as `call`
        call,   ///< extent(k), lanes(float64), stride(X, 0)
        add,
        sub,
        mul,
        floordiv,
        mod,
        neg,
        min, ///< of two operands; in schedules of two to 16
        max, ///< the same
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
    static SizeExpression integer(std::int64_t value, Position at = {});
    static SizeExpression symbol(std::string name, Position at = {});
    static SizeExpression hole(std::string name, Position at = {});
    /// As written: nothing is computed.
    static SizeExpression unary(Op op, SizeExpression operand, Position at = {});
    static SizeExpression binary(Op op, SizeExpression left, SizeExpression right, Position at = {});
    /// min(...) and max(...), of two operands at least, are operations; any other name is a call.
    static SizeExpression call(std::string name, std::vector<SizeExpression> operands, Position at = {});
    /// Computes constants and drops the neutral elements of + * // %. What overflows stays as it is.
    static SizeExpression folded(Op op, SizeExpression left, SizeExpression right);
    /// Folded from its leaves on; -x becomes 0 - x. Conditions themselves stay. Of programs and plans: what schedules
    /// alone have (calls, min and max of several) stays as it is.
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
    const std::string& name() const; ///< of a symbol, a hole, a call
    std::span<const SizeExpression> operands() const;
    bool is_constant() const { return op() == Op::integer; }
    std::int64_t constant() const; ///< of an integer
    Position at() const;
    int height() const; ///< of the tree: 1 without operands

    /// The same operation on what `change` makes of each operand.
    template <class Change> SizeExpression with_operands(const Change& change) const;
    /// With the fewest parentheses that read back to the same tree.
    std::string text(SizeStyle style = SizeStyle::program) const;
    void collect_symbols(std::set<std::string>& symbols) const;
    /// Each once, in the order in which they appear.
    std::vector<std::string> symbols() const;
    /// The same tree. Cheaper than same_size, which finds more.
    bool operator==(const SizeExpression& other) const;

    /// `value_of(leaf)` gives optional<int64> for symbols, holes and calls. `and` and `or` look at the right side only
    /// where the left one does not decide. nullopt where a leaf that counts is unknown, on division by zero and on
    /// overflow.
    template <class Lookup> std::optional<std::int64_t> evaluate(const Lookup& value_of) const;

  private:
    struct Node;
    explicit SizeExpression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    static SizeExpression node(Op op, std::vector<SizeExpression> operands, std::string name, Position at);
    void print(int outer, SizeStyle style, std::string& out) const;
    void append_symbols(std::vector<std::string>& symbols) const;

    std::shared_ptr<const Node> node_;
};

struct SizeExpression::Node {
    Op op = Op::integer;
    int height = 1;
    std::int64_t value = 0;
    std::string name;
    std::vector<SizeExpression> operands;
    Position at;
};

inline SizeExpression::Op SizeExpression::op() const {
    return node_->op;
}
inline const std::string& SizeExpression::name() const {
    return node_->name;
}
inline std::span<const SizeExpression> SizeExpression::operands() const {
    return node_->operands;
}
inline std::int64_t SizeExpression::constant() const {
    return node_->value;
}
inline Position SizeExpression::at() const {
    return node_->at;
}
inline int SizeExpression::height() const {
    return node_->height;
}

template <class Change> SizeExpression SizeExpression::with_operands(const Change& change) const {
    if (operands().empty()) return *this;
    std::vector<SizeExpression> changed;
    for (const SizeExpression& operand : operands())
        changed.push_back(change(operand));
    return node(op(), std::move(changed), name(), at());
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
    case Op::hole:
    case Op::call:
    case Op::neg:
    case Op::logical_not:
        break;
    }
    return std::nullopt;
}

template <class Lookup> std::optional<std::int64_t> SizeExpression::evaluate(const Lookup& value_of) const {
    if (op() == Op::integer) return constant();
    if (op() == Op::symbol || op() == Op::hole || op() == Op::call) return value_of(*this);
    std::optional<std::int64_t> result = operands()[0].evaluate(value_of);
    if (result && op() == Op::logical_not) return *result == 0;
    if (result && op() == Op::neg) return apply(Op::sub, 0, *result);
    for (const SizeExpression& operand : operands().subspan(1)) {
        if (!result) return std::nullopt;
        if (op() == Op::logical_and && *result == 0) return 0;
        if (op() == Op::logical_or && *result != 0) return 1;
        const std::optional<std::int64_t> next = operand.evaluate(value_of);
        result = next ? apply(op(), *result, *next) : std::nullopt;
    }
    return result;
}

} // namespace tilewright
