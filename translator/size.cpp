// translator/size.cpp: parsing, printing, evaluating and comparing size expressions.
#include "translator/size.h"

#include <algorithm>
#include <cctype>

#include "dsl/base/error.h"

namespace tilewright::translator {
namespace {

constexpr int kMaxDepth = 100;

bool starts_name(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}
bool continues_name(char c) {
    return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::optional<std::int64_t> fold(const std::string& op, std::int64_t a, std::int64_t b) {
    std::int64_t out = 0;
    if (op == "+") return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    if (op == "-") return __builtin_sub_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    if (op == "*") return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
    if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
    std::int64_t quotient = a / b;
    std::int64_t remainder = a % b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) {
        --quotient;
        remainder += b;
    }
    return op == "//" ? quotient : remainder;
}

/// Recursive descent over one expression.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::optional<SizeTree> run() {
        std::optional<SizeTree> tree = sum();
        skip();
        if (tree && at_ < text_.size()) return fail("'" + std::string(text_.substr(at_)) + "' after the expression");
        return tree;
    }
    std::string why;

  private:
    std::optional<SizeTree> fail(const std::string& reason) {
        if (why.empty()) why = reason;
        return std::nullopt;
    }
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
            ++at_;
    }
    bool take(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    std::optional<SizeTree> sum() {
        std::optional<SizeTree> left = term();
        while (left) {
            const char* op = take("+") ? "+" : take("-") ? "-" : nullptr;
            if (op == nullptr) break;
            std::optional<SizeTree> right = term();
            if (!right) return std::nullopt;
            left = SizeTree::binary(op, *left, *right);
        }
        return left;
    }
    std::optional<SizeTree> term() {
        std::optional<SizeTree> left = factor();
        while (left) {
            const char* op = take("//") ? "//" : take("*") ? "*" : take("%") ? "%" : nullptr;
            if (op == nullptr) break;
            std::optional<SizeTree> right = factor();
            if (!right) return std::nullopt;
            left = SizeTree::binary(op, *left, *right);
        }
        return left;
    }
    std::optional<SizeTree> factor() {
        if (++depth_ > kMaxDepth) return fail("an expression nested too deeply");
        std::optional<SizeTree> tree = atom();
        --depth_;
        return tree;
    }
    std::optional<SizeTree> atom() {
        skip();
        if (at_ >= text_.size()) return fail("the end where a size is expected");
        char c = text_[at_];
        if (take("-")) {
            std::optional<SizeTree> operand = factor();
            if (!operand) return std::nullopt;
            return SizeTree::binary("-", SizeTree::integer(0), *operand);
        }
        if (take("(")) {
            std::optional<SizeTree> inner = sum();
            if (!inner) return std::nullopt;
            if (!take(")")) return fail("no closing parenthesis");
            return inner;
        }
        if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
            std::int64_t value = 0;
            while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, text_[at_] - '0', &value))
                    return fail("an integer beyond 64 bits");
                ++at_;
            }
            if (at_ < text_.size() && starts_name(text_[at_])) return fail("a name glued to a number");
            return SizeTree::integer(value);
        }
        if (!starts_name(c)) return fail("found '" + std::string(1, c) + "' where a size is expected");
        std::size_t start = at_;
        while (at_ < text_.size() && continues_name(text_[at_]))
            ++at_;
        std::string name(text_.substr(start, at_ - start));
        if ((name == "min" || name == "max") && take("(")) {
            std::optional<SizeTree> a = sum();
            if (!a) return std::nullopt;
            if (!take(",")) return fail("no comma in " + name + "(a, b)");
            std::optional<SizeTree> b = sum();
            if (!b) return std::nullopt;
            if (!take(")")) return fail("no closing parenthesis");
            return SizeTree::call(name, {*a, *b});
        }
        if (at_ + 1 < text_.size() && text_[at_] == '.' &&
            std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0) {
            ++at_;
            while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
                ++at_;
            name = std::string(text_.substr(start, at_ - start));
        }
        return SizeTree::symbol(name);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

int precedence(const SizeTree::Node& node) {
    if (node.kind == SizeTree::Kind::integer) return node.value < 0 ? 1 : 3;
    if (node.kind != SizeTree::Kind::binary) return 3;
    return node.name == "+" || node.name == "-" ? 1 : 2;
}

std::string wrapped(const SizeTree& tree, int least) {
    std::string text = tree.text();
    return precedence(tree.node()) >= least ? text : "(" + text + ")";
}

/// monomial (sorted atoms) -> coefficient
using Polynomial = std::map<std::vector<std::string>, std::int64_t>;

std::string print(const Polynomial& polynomial) {
    std::string text;
    for (const auto& [atoms, coefficient] : polynomial) {
        if (coefficient == 0) continue;
        if (!text.empty()) text += " + ";
        text += std::to_string(coefficient);
        for (const std::string& atom : atoms)
            text += "*" + atom;
    }
    return text.empty() ? "0" : text;
}

constexpr std::size_t kMaxTerms = 256;

Polynomial opaque(const SizeTree& tree);

Polynomial polynomial_of(const SizeTree& tree) {
    const SizeTree::Node& node = tree.node();
    if (node.kind == SizeTree::Kind::integer) return {{{}, node.value}};
    if (node.kind == SizeTree::Kind::symbol) return {{{node.name}, 1}};
    if (node.kind == SizeTree::Kind::call || node.name == "//" || node.name == "%") return opaque(tree);
    Polynomial a = polynomial_of(node.operands[0]);
    Polynomial b = polynomial_of(node.operands[1]);
    if (node.name != "*") {
        for (const auto& [atoms, coefficient] : b) {
            std::int64_t& sum = a[atoms];
            // Modular arithmetic is a ring too, so equal normal forms stay equal values.
            sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                            (node.name == "+" ? static_cast<std::uint64_t>(coefficient)
                                                              : 0 - static_cast<std::uint64_t>(coefficient)));
        }
        std::erase_if(a, [](const auto& term) { return term.second == 0; });
        return a;
    }
    if (a.size() * b.size() > kMaxTerms) return opaque(tree);
    Polynomial out;
    for (const auto& [atoms_a, ca] : a) {
        for (const auto& [atoms_b, cb] : b) {
            std::vector<std::string> atoms = atoms_a;
            atoms.insert(atoms.end(), atoms_b.begin(), atoms_b.end());
            std::sort(atoms.begin(), atoms.end());
            std::int64_t& sum = out[atoms];
            sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) +
                                            static_cast<std::uint64_t>(ca) * static_cast<std::uint64_t>(cb));
        }
    }
    std::erase_if(out, [](const auto& term) { return term.second == 0; });
    return out;
}

Polynomial opaque(const SizeTree& tree) {
    const SizeTree::Node& node = tree.node();
    std::vector<std::string> operands;
    for (const SizeTree& operand : node.operands)
        operands.push_back(print(polynomial_of(operand)));
    if (node.kind == SizeTree::Kind::call || node.name == "*") std::sort(operands.begin(), operands.end());
    std::string atom;
    atom.append("[").append(operands[0]).append(" ").append(node.name).append(" ").append(operands[1]).append("]");
    return {{{atom}, 1}};
}

} // namespace

SizeTree SizeTree::integer(std::int64_t value) {
    return SizeTree(std::make_shared<Node>(Node{Kind::integer, value, "", {}}));
}

SizeTree SizeTree::symbol(std::string name) {
    return SizeTree(std::make_shared<Node>(Node{Kind::symbol, 0, std::move(name), {}}));
}

SizeTree SizeTree::binary(const std::string& op, SizeTree a, SizeTree b) {
    if (a.is_constant() && b.is_constant()) {
        if (std::optional<std::int64_t> folded = fold(op, a.constant(), b.constant())) return integer(*folded);
    }
    auto is = [](const SizeTree& tree, std::int64_t value) { return tree.is_constant() && tree.constant() == value; };
    if (op == "+" && is(a, 0)) return b;
    if ((op == "+" || op == "-") && is(b, 0)) return a;
    if (op == "*" && (is(a, 0) || is(b, 0))) return integer(0);
    if (op == "*" && is(a, 1)) return b;
    if ((op == "*" || op == "//") && is(b, 1)) return a;
    if (op == "%" && is(b, 1)) return integer(0);
    return SizeTree(std::make_shared<Node>(Node{Kind::binary, 0, op, {std::move(a), std::move(b)}}));
}

SizeTree SizeTree::call(const std::string& name, std::vector<SizeTree> operands) {
    if (operands[0].is_constant() && operands[1].is_constant()) {
        std::int64_t a = operands[0].constant();
        std::int64_t b = operands[1].constant();
        return integer(name == "min" ? std::min(a, b) : std::max(a, b));
    }
    return SizeTree(std::make_shared<Node>(Node{Kind::call, 0, name, std::move(operands)}));
}

std::string SizeTree::text() const {
    const Node& node = *node_;
    switch (node.kind) {
    case Kind::integer:
        return std::to_string(node.value);
    case Kind::symbol:
        return node.name;
    case Kind::call:
        return node.name + "(" + node.operands[0].text() + ", " + node.operands[1].text() + ")";
    case Kind::binary:
        break;
    }
    int level = precedence(node);
    // 0 - x is how a leading minus is kept; it prints as it reads.
    return wrapped(node.operands[0], level) + " " + node.name + " " + wrapped(node.operands[1], level + 1);
}

Size SizeTree::size() const {
    Size out;
    out.text = text();
    out.is_constant = is_constant();
    out.constant = out.is_constant ? constant() : 0;
    return out;
}

std::optional<std::int64_t> SizeTree::evaluate(const std::map<std::string, std::int64_t>& symbols) const {
    const Node& node = *node_;
    if (node.kind == Kind::integer) return node.value;
    if (node.kind == Kind::symbol) {
        auto found = symbols.find(node.name);
        if (found == symbols.end()) return std::nullopt;
        // An extent below 0 is how callers write "unknown"; an integer scalar may be negative.
        if (found->second < 0 && node.name.find('.') != std::string::npos) return std::nullopt;
        return found->second;
    }
    std::optional<std::int64_t> a = node.operands[0].evaluate(symbols);
    std::optional<std::int64_t> b = node.operands[1].evaluate(symbols);
    if (!a || !b) return std::nullopt;
    if (node.kind == Kind::call) return node.name == "min" ? std::min(*a, *b) : std::max(*a, *b);
    return fold(node.name, *a, *b);
}

void SizeTree::collect_symbols(std::set<std::string>& symbols) const {
    if (node_->kind == Kind::symbol) symbols.insert(node_->name);
    for (const SizeTree& operand : node_->operands)
        operand.collect_symbols(symbols);
}

std::optional<SizeTree> try_parse_size(std::string_view text, std::string* why) {
    Parser parser(text);
    std::optional<SizeTree> tree = parser.run();
    if (!tree && why != nullptr) *why = parser.why;
    return tree;
}

SizeTree parse_size(std::string_view text) {
    std::string why;
    std::optional<SizeTree> tree = try_parse_size(text, &why);
    if (!tree) throw InternalError("size '" + std::string(text) + "': not a size expression: " + why + ".");
    return *tree;
}

SizeTree operator+(const SizeTree& a, const SizeTree& b) {
    return SizeTree::binary("+", a, b);
}
SizeTree operator-(const SizeTree& a, const SizeTree& b) {
    return SizeTree::binary("-", a, b);
}
SizeTree operator*(const SizeTree& a, const SizeTree& b) {
    return SizeTree::binary("*", a, b);
}
SizeTree floor_div(const SizeTree& a, const SizeTree& b) {
    return SizeTree::binary("//", a, b);
}
SizeTree floor_mod(const SizeTree& a, const SizeTree& b) {
    return SizeTree::binary("%", a, b);
}
SizeTree ceil_div(const SizeTree& a, std::int64_t b) {
    return floor_div(a + SizeTree::integer(b - 1), SizeTree::integer(b));
}

SizeTree trips(const SizeTree& first, const SizeTree& stop, std::int64_t step) {
    const SizeTree distance = step > 0 ? stop - first : first - stop;
    const SizeTree trips = ceil_div(distance, step > 0 ? step : -step);
    if (trips.is_constant()) return SizeTree::integer(std::max<std::int64_t>(0, trips.constant()));
    return SizeTree::call("max", {trips, SizeTree::integer(0)});
}

SizeTree product(const std::vector<Size>& shape) {
    SizeTree out = SizeTree::integer(1);
    for (const Size& extent : shape)
        out = out * tree_of(extent);
    return out;
}

std::string normal_form(const SizeTree& tree) {
    return print(polynomial_of(tree));
}

bool same_shape(const std::vector<Size>& a, const std::vector<Size>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < a.size(); ++k) {
        if (!same_size(a[k], b[k])) return false;
    }
    return true;
}

} // namespace tilewright::translator
