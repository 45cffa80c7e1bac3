// translator/size.h: arithmetic on size expressions ("(X.0 + 1023) // 1024") and their symbolic comparison.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "translator/program.h"

namespace tilewright::translator {

/// A size expression as a tree. Immutable and shared.
class SizeTree {
  public:
    enum class Kind { integer, symbol, binary, call };
    struct Node {
        Kind kind = Kind::integer;
        std::int64_t value = 0; ///< integer
        std::string name;       ///< symbol, operator (+ - * // %) or function (min, max)
        std::vector<SizeTree> operands;
    };

    SizeTree() = default;
    explicit SizeTree(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    static SizeTree integer(std::int64_t value);
    static SizeTree symbol(std::string name);
    /// Folds constants and the neutral elements of + * //. nullopt-free: overflow stays unfolded.
    static SizeTree binary(const std::string& op, SizeTree a, SizeTree b);
    static SizeTree call(const std::string& name, std::vector<SizeTree> operands);

    const Node& node() const { return *node_; }
    bool is_constant() const { return node_->kind == Kind::integer; }
    std::int64_t constant() const { return node_->value; }
    /// With the fewest parentheses that keep the tree.
    std::string text() const;
    Size size() const;
    /// Floors as Python. nullopt where a symbol is unknown, on division by zero and on overflow.
    std::optional<std::int64_t> evaluate(const std::map<std::string, std::int64_t>& symbols) const;
    void collect_symbols(std::set<std::string>& symbols) const;

  private:
    std::shared_ptr<const Node> node_;
};

/// nullopt where the text is no size expression; `why` then says what was found.
std::optional<SizeTree> try_parse_size(std::string_view text, std::string* why = nullptr);
/// Requires text that was read before (throws InternalError otherwise).
SizeTree parse_size(std::string_view text);
inline SizeTree tree_of(const Size& size) {
    return parse_size(size.text);
}

SizeTree operator+(const SizeTree& a, const SizeTree& b);
SizeTree operator-(const SizeTree& a, const SizeTree& b);
SizeTree operator*(const SizeTree& a, const SizeTree& b);
SizeTree floor_div(const SizeTree& a, const SizeTree& b);
SizeTree floor_mod(const SizeTree& a, const SizeTree& b);
/// (a + b - 1) // b
SizeTree ceil_div(const SizeTree& a, std::int64_t b);
/// How many numbers range(first, stop, step) has: max(0, ceil((stop - first) / step)).
SizeTree trips(const SizeTree& first, const SizeTree& stop, std::int64_t step);
SizeTree product(const std::vector<Size>& shape);

/// A normal form: equal texts mean equal values (a polynomial over symbols and opaque //, %, min, max).
std::string normal_form(const SizeTree& tree);
inline bool same_size(const Size& a, const Size& b) {
    return a.text == b.text || normal_form(tree_of(a)) == normal_form(tree_of(b));
}
bool same_shape(const std::vector<Size>& a, const std::vector<Size>& b);

} // namespace tilewright::translator
