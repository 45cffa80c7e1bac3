// dsl/base/size_polynomial.cpp: polynomials over symbols; what is no polynomial is an atom of them.
#include "dsl/base/size_polynomial.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace tilewright {
namespace {

using Op = SizeExpression::Op;
/// monomial (sorted atoms) -> coefficient
using Polynomial = std::map<std::vector<std::string>, std::int64_t>;

constexpr std::size_t kMaxTerms = 256;

std::string print(const Polynomial& polynomial) {
    std::string text;
    for (const auto& [atoms, coefficient] : polynomial) {
        if (!text.empty()) text += " + ";
        text += std::to_string(coefficient);
        for (const std::string& atom : atoms)
            text += "*" + atom;
    }
    return text.empty() ? "0" : text;
}

Polynomial polynomial_of(const SizeExpression& size);

Polynomial opaque(const SizeExpression& size) {
    std::string left = print(polynomial_of(size.operands()[0])), right = print(polynomial_of(size.operands()[1]));
    const bool commutes = size.op() == Op::min || size.op() == Op::max || size.op() == Op::mul;
    if (commutes && right < left) std::swap(left, right);
    std::string atom;
    atom.append("[").append(left).append(" ").append(spelling(size.op())).append(" ").append(right).append("]");
    return {{{std::move(atom)}, 1}};
}

// Modular arithmetic is a ring too, so equal normal forms stay equal values.
std::int64_t wrapping(std::uint64_t value) {
    return static_cast<std::int64_t>(value);
}

Polynomial polynomial_of(const SizeExpression& size) {
    switch (size.op()) {
    case Op::integer:
        return size.constant() == 0 ? Polynomial() : Polynomial{{{}, size.constant()}};
    case Op::symbol:
        return {{{size.name()}, 1}};
    case Op::add:
    case Op::sub:
    case Op::mul:
        break;
    default:
        return opaque(size);
    }
    Polynomial a = polynomial_of(size.operands()[0]);
    const Polynomial b = polynomial_of(size.operands()[1]);
    if (size.op() != Op::mul) {
        for (const auto& [atoms, coefficient] : b) {
            std::int64_t& sum = a[atoms];
            const auto other = static_cast<std::uint64_t>(coefficient);
            sum = wrapping(static_cast<std::uint64_t>(sum) + (size.op() == Op::add ? other : 0 - other));
        }
        std::erase_if(a, [](const auto& term) { return term.second == 0; });
        return a;
    }
    if (a.size() * b.size() > kMaxTerms) return opaque(size);
    Polynomial out;
    for (const auto& [atoms_a, ca] : a) {
        for (const auto& [atoms_b, cb] : b) {
            std::vector<std::string> atoms = atoms_a;
            atoms.insert(atoms.end(), atoms_b.begin(), atoms_b.end());
            std::sort(atoms.begin(), atoms.end());
            std::int64_t& sum = out[atoms];
            sum = wrapping(static_cast<std::uint64_t>(sum) +
                           static_cast<std::uint64_t>(ca) * static_cast<std::uint64_t>(cb));
        }
    }
    std::erase_if(out, [](const auto& term) { return term.second == 0; });
    return out;
}

} // namespace

std::string normal_form(const SizeExpression& size) {
    return print(polynomial_of(size));
}

bool same_size(const SizeExpression& a, const SizeExpression& b) {
    if (a == b) return true;
    // Most sizes that are compared are symbols and numbers.
    if (a.operands().empty() && b.operands().empty()) return false;
    return polynomial_of(a) == polynomial_of(b);
}

std::optional<std::int64_t> constant_difference(const SizeExpression& a, const SizeExpression& b) {
    if (a == b) return 0;
    const Polynomial difference = polynomial_of(a - b);
    if (difference.empty()) return 0;
    if (difference.size() > 1 || !difference.begin()->first.empty()) return std::nullopt;
    return difference.begin()->second;
}

std::optional<SizeExpression> multiplied_out(const SizeExpression& size) {
    const Polynomial polynomial = polynomial_of(size);
    SizeExpression sum;
    for (const auto& [atoms, coefficient] : polynomial) {
        SizeExpression term = SizeExpression::integer(coefficient);
        for (const std::string& atom : atoms) {
            if (atom.starts_with('[')) return std::nullopt;
            term = term * SizeExpression::symbol(atom);
        }
        sum = sum + term;
    }
    return sum;
}

} // namespace tilewright
