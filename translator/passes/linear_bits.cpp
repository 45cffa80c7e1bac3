// translator/passes/linear_bits.cpp: integers as sums (xor) of moved bits of a few sources, and of numbers that no
// iteration changes, each behind one bit of a source.
#include "translator/passes/passes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "translator/ir/builder.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/dtypes.h"
#include "translator/ir/size.h"
#include "translator/ir/walk.h"

namespace tilewright::translator {
namespace {

/// Fewer choices in a row than this are as fast as they stand.
constexpr int kFewestChoices = 3;
/// More make the numbers before the loop long: the number of a bit grows with every choice behind it.
constexpr int kMostChoices = 12;
constexpr std::size_t kMostNumbers = 16;
constexpr std::size_t kMostAtoms = 4;
/// A table has the sums of the numbers behind so many bits; fewer are chosen one by one.
constexpr int kTableBits = 8;
constexpr std::size_t kFewestInTable = 4;

struct Integer {
    int bits = 0; ///< 1: a truth
    bool is_signed = false;
};

/// Numbers of no dimensions alone.
std::optional<Integer> integer_type(const Type& type) {
    if (!type.shape.empty()) return std::nullopt;
    const DTypeInfo* dtype = find_dtype(type.dtype);
    if (dtype->kind == DTypeKind::boolean) return Integer{1, false};
    if (dtype->kind == DTypeKind::signed_integer) return Integer{dtype->bits(), true};
    if (dtype->kind == DTypeKind::unsigned_integer) return Integer{dtype->bits(), false};
    return std::nullopt;
}

std::uint64_t low_bits(int count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// The bits of a number of another type after a cast from `from`: a sign goes on above.
std::uint64_t extended(std::uint64_t bits, const Integer& from) {
    const bool negative = from.is_signed && ((bits >> (from.bits - 1)) & 1U) != 0;
    return negative ? bits | ~low_bits(from.bits) : bits;
}

std::uint64_t shifted(std::uint64_t bits, int by, const Integer& type) {
    if (by < 0) return (bits << -by) & low_bits(type.bits);
    const std::uint64_t wide = extended(bits, type);
    const std::uint64_t moved =
        type.is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(wide) >> by) : wide >> by;
    return moved & low_bits(type.bits);
}

std::string literal(std::uint64_t bits, const Integer& type) {
    if (type.bits == 1) return bits != 0 ? "true" : "false";
    if (type.is_signed) return std::to_string(static_cast<std::int64_t>(extended(bits, type)));
    return std::to_string(bits);
}

std::optional<std::uint64_t> literal_bits(const Operation& constant, const Integer& type) {
    const std::string& text = constant.attributes.at(attr::value);
    if (text == "true") return 1;
    if (text == "false") return 0;
    try {
        const std::uint64_t value = type.is_signed ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text);
        return value & low_bits(type.bits);
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

/// Numbers that no iteration changes, by the names of values before the loop; "" is zero. What is known of their bits
/// is folded.
class Numbers {
  public:
    Numbers(Values& values, int line) : builder_(values, operations_) { builder_.at_line(line); }
    std::vector<Operation>& operations() { return operations_; }

    std::string constant(std::uint64_t bits, const std::string& dtype) {
        if (bits == 0) return "";
        const Integer type = *integer_type({dtype, {}});
        const std::string name = builder_.once({dtype, {}}, Op::constant, {}, {attr::value(literal(bits, type))});
        constants_[name] = bits;
        return name;
    }
    std::string zero(const std::string& dtype) {
        return builder_.once({dtype, {}}, Op::constant, {}, {attr::value(literal(0, *integer_type({dtype, {}})))});
    }

    /// Bits that may be set.
    std::uint64_t mask(const std::string& name, const Integer& type) const {
        if (name.empty()) return 0;
        if (const auto known = constants_.find(name); known != constants_.end()) return known->second;
        const auto found = masks_.find(name);
        return found == masks_.end() ? low_bits(type.bits) : found->second;
    }

    std::string exclusive_or(const std::string& a, const std::string& b, const std::string& dtype) {
        if (a.empty()) return b;
        if (b.empty()) return a;
        if (a == b) return "";
        const Integer type = *integer_type({dtype, {}});
        if (is_constant(a) && is_constant(b)) return constant(constants_.at(a) ^ constants_.at(b), dtype);
        return masked(builder_.once({dtype, {}}, Op::bitwise_xor, {a, b}), mask(a, type) | mask(b, type));
    }

    std::string masked_by(const std::string& a, std::uint64_t bits, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        const std::uint64_t left = mask(a, type) & bits;
        if (left == 0) return "";
        if (left == mask(a, type)) return a;
        if (is_constant(a)) return constant(left, dtype);
        return masked(builder_.once({dtype, {}}, Op::bitwise_and, {a, constant(bits, dtype)}), left);
    }

    std::string shift(const std::string& a, int by, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        const std::uint64_t left = shifted(mask(a, type), by, type);
        if (left == 0) return "";
        if (is_constant(a)) return constant(left, dtype);
        const std::string count = by == 0 ? zero(dtype) : constant(static_cast<std::uint64_t>(std::abs(by)), dtype);
        return masked(builder_.once({dtype, {}}, by < 0 ? Op::left_shift : Op::right_shift, {a, count}), left);
    }

    std::string cast(const std::string& a, const std::string& from, const std::string& to) {
        if (a.empty() || from == to) return a;
        const Integer before = *integer_type({from, {}}), after = *integer_type({to, {}});
        const std::uint64_t wide = extended(mask(a, before), before);
        const std::uint64_t left = wide & low_bits(after.bits);
        if (left == 0) return "";
        if (is_constant(a)) return constant(left, to);
        return masked(builder_.once({to, {}}, Op::cast, {a}), left);
    }

    /// Whether the one bit that `a` may have is set.
    std::string truth(const std::string& a, const std::string& dtype) {
        if (a.empty() || dtype == "bool") return a;
        if (is_constant(a)) return constant(1, "bool");
        return masked(builder_.once({"bool", {}}, Op::not_equal, {a, zero(dtype)}), 1);
    }

    /// The sum of numbers[k] over the bits k of an index, for each index.
    std::string table(const std::map<int, std::string>& numbers, const std::string& dtype) {
        const Size extent = Size::integer(std::int64_t{1} << (numbers.rbegin()->first + 1));
        const std::string index = builder_.once({"int64", {extent}}, Op::iota, {}, {attr::axis(0)});
        const Type truths{"bool", {extent}}, all{dtype, {extent}};
        std::string sum;
        for (const auto& [bit, number] : numbers) {
            const std::string one = constant(std::uint64_t{1} << bit, "int64");
            const std::string left = builder_.once({"int64", {extent}}, Op::bitwise_and, {index, one});
            const std::string is_set = builder_.once(truths, Op::not_equal, {left, zero("int64")});
            const std::string term = builder_.once(all, Op::where, {is_set, number, zero(dtype)});
            sum = sum.empty() ? term : builder_.once(all, Op::bitwise_xor, {sum, term});
        }
        return sum;
    }

    std::string where(const std::string& condition, const std::string& a, const std::string& dtype) {
        if (condition.empty() || a.empty()) return "";
        if (is_constant(condition)) return a;
        return masked(builder_.once({dtype, {}}, Op::where, {condition, a, zero(dtype)}),
                      mask(a, *integer_type({dtype, {}})));
    }

    std::optional<std::uint64_t> known(const std::string& name) const {
        if (name.empty()) return 0;
        const auto found = constants_.find(name);
        return found == constants_.end() ? std::nullopt : std::optional(found->second);
    }

  private:
    std::vector<Operation> operations_;
    Builder builder_;
    std::map<std::string, std::uint64_t> constants_, masks_;

    bool is_constant(const std::string& name) const { return constants_.count(name) != 0; }
    std::string masked(const std::string& name, std::uint64_t bits) {
        masks_[name] = bits;
        return name;
    }
};

/// A bit of a value of the loop.
using Bit = std::pair<std::string, int>;

/// A value of the loop after shifts, masks and casts.
struct Atom {
    struct Change {
        Op op;
        std::string dtype;
        std::uint64_t number = 0; ///< how far, or the mask
    };
    std::string source;
    std::vector<Change> changes;
    std::array<int, 64> from{}; ///< which bit of the source each bit is, -1 for none

    std::string key() const {
        std::string out = source;
        for (const Change& change : changes)
            out += " " + text_of(change.op) + " " + change.dtype + " " + std::to_string(change.number);
        return out;
    }
};

/// The exclusive or of all of it. Of a truth there are only choices.
struct Form {
    std::map<std::string, Atom> atoms;
    std::map<Bit, std::string> choices; ///< the number where the bit is set
    std::string number;
    int depth = 0; ///< choices one after the other
};

class Loop {
  public:
    /// `values`: of the program, whose loop it is.
    Loop(Operation& loop, Values& values) : loop_(loop), values_(values), numbers_(values, loop.line) {}

    /// What has to stand before the loop, where it was changed.
    std::optional<std::vector<Operation>> run() {
        Block& body = loop_.regions[0];
        for (const auto& [name, type] : body.parameters)
            follows_.insert(name);
        inside_ = follows_;
        for (const Operation& operation : body.operations) {
            inside_.insert(operation.result);
            for (const auto& [name, type] : operation.more_results)
                inside_.insert(name);
            const bool follows = !operation.regions.empty() ||
                                 std::any_of(operation.operands.begin(), operation.operands.end(),
                                             [&](const std::string& name) { return follows_.count(name) != 0; });
            if (follows) follows_.insert(operation.result);
            if (integer_type(operation.type)) forms_[operation.result] = form(operation);
        }
        std::vector<Operation> made;
        Builder end(values_, made);
        end.at_line(loop_.line);
        bool changed = false;
        for (std::size_t k = 0; k < body.yields.size(); ++k) {
            const auto found = forms_.find(body.yields[k]);
            if (found == forms_.end() || !pays(found->second, body.parameters[k].first)) continue;
            body.yields[k] = value_of(found->second, values_.type(body.yields[k]).dtype, end);
            changed = true;
        }
        if (!changed) return std::nullopt;
        std::ranges::move(made, std::back_inserter(body.operations));
        return numbers_.operations();
    }

  private:
    Operation& loop_;
    Values& values_;
    Numbers numbers_;
    std::set<std::string> inside_;  ///< values of the body
    std::set<std::string> follows_; ///< those that follow from what is carried
    std::map<std::string, Form> forms_;

    static bool is_fixed(const Form& form) { return form.atoms.empty() && form.choices.empty(); }

    // -- forms -------------------------------------------------------------------------------------------------------

    /// The value as it stands.
    Form source(const std::string& name) const {
        const Integer type = *integer_type(values_.type(name));
        Form out;
        if (type.bits == 1) return out;
        Atom atom;
        atom.source = name;
        atom.from.fill(-1);
        for (int bit = 0; bit < type.bits; ++bit)
            atom.from[static_cast<std::size_t>(bit)] = bit;
        out.atoms.emplace(atom.key(), std::move(atom));
        return out;
    }

    Form form_of(const std::string& name) {
        const auto found = forms_.find(name);
        if (found != forms_.end()) return found->second;
        Form out;
        if (inside_.count(name) == 0) {
            const Operation* const constant = values_.made_by(name, Op::constant);
            const auto known = constant == nullptr ? std::nullopt : linear(*constant);
            if (known) return *known;
            out.number = name; // from outside of the loop
        } else if (values_.type(name).dtype == "bool") {
            out.choices[{name, 0}] = numbers_.constant(1, "bool");
        } else {
            out = source(name);
        }
        return out;
    }

    Form form(const Operation& operation) {
        std::optional<Form> out;
        const bool numbers = std::all_of(operation.operands.begin(), operation.operands.end(),
                                         [&](const std::string& name) { return integer_type(values_.type(name)); });
        if (numbers && operation.regions.empty()) out = linear(operation);
        if (out) return *out;
        if (operation.type.dtype != "bool") return source(operation.result);
        Form truth;
        truth.choices[{operation.result, 0}] = numbers_.constant(1, "bool");
        return truth;
    }

    std::optional<Form> linear(const Operation& operation) {
        const Op op = operation.op;
        const std::string& dtype = operation.type.dtype;
        const auto& operands = operation.operands;
        if (op == Op::constant) {
            const auto bits = literal_bits(operation, *integer_type(operation.type));
            if (!bits) return std::nullopt;
            Form out;
            out.number = numbers_.constant(*bits, dtype);
            return out;
        }
        if (op == Op::cast) return cast(form_of(operands[0]), values_.type(operands[0]).dtype, dtype);
        if (op == Op::bitwise_xor || op == Op::logical_xor) {
            if (values_.type(operands[0]).dtype != dtype) return std::nullopt;
            return sum(form_of(operands[0]), form_of(operands[1]), dtype);
        }
        if (op == Op::bitwise_and) {
            const Form a = form_of(operands[0]), b = form_of(operands[1]);
            if (is_fixed(b) && numbers_.known(b.number)) return masked(a, *numbers_.known(b.number), dtype);
            if (is_fixed(a) && numbers_.known(a.number)) return masked(b, *numbers_.known(a.number), dtype);
            return std::nullopt;
        }
        if (op == Op::right_shift || op == Op::left_shift) {
            const Form by = form_of(operands[1]);
            const auto count = numbers_.known(by.number);
            const int bits = integer_type(operation.type)->bits;
            if (!is_fixed(by) || !count || *count >= static_cast<std::uint64_t>(bits)) return std::nullopt;
            return shift(form_of(operands[0]),
                         op == Op::left_shift ? -static_cast<int>(*count) : static_cast<int>(*count), dtype);
        }
        if (op == Op::not_equal || op == Op::equal) {
            const std::string& of = values_.type(operands[0]).dtype;
            if (values_.type(operands[1]).dtype != of) return std::nullopt;
            std::optional<Form> out = cast(sum(form_of(operands[0]), form_of(operands[1]), of), of, "bool");
            if (out && op == Op::equal) out->number = inverted(out->number);
            return out;
        }
        if (op == Op::logical_not) {
            std::optional<Form> out = cast(form_of(operands[0]), values_.type(operands[0]).dtype, "bool");
            if (out) out->number = inverted(out->number);
            return out;
        }
        if (op == Op::where) return choice(form_of(operands[0]), form_of(operands[1]), form_of(operands[2]), dtype);
        return std::nullopt;
    }

    std::string inverted(const std::string& truth) {
        return numbers_.exclusive_or(truth, numbers_.constant(1, "bool"), "bool");
    }

    static void set(Form& form, const Bit& bit, const std::string& number) {
        if (number.empty())
            form.choices.erase(bit);
        else
            form.choices[bit] = number;
    }

    void add(Form& form, const Bit& bit, const std::string& number, const std::string& dtype) {
        const auto found = form.choices.find(bit);
        set(form, bit, found == form.choices.end() ? number : numbers_.exclusive_or(found->second, number, dtype));
    }

    Form sum(Form a, const Form& b, const std::string& dtype) {
        for (const auto& [key, atom] : b.atoms)
            if (a.atoms.erase(key) == 0) a.atoms.emplace(key, atom);
        for (const auto& [bit, number] : b.choices)
            add(a, bit, number, dtype);
        a.number = numbers_.exclusive_or(a.number, b.number, dtype);
        a.depth = std::max(a.depth, b.depth);
        return a;
    }

    /// The same done to each part. `from_bit`: which bit of the atom before a bit of the new one is, -1 for none.
    template <class Number, class FromBit>
    Form changed(const Form& form, const Atom::Change& change, Number number, FromBit from_bit) {
        Form out;
        out.depth = form.depth;
        for (const auto& [key, atom] : form.atoms) {
            Atom next = atom;
            next.changes.push_back(change);
            bool any = false;
            for (int bit = 0; bit < 64; ++bit) {
                const int before = from_bit(bit);
                const int source = before < 0 ? -1 : atom.from[static_cast<std::size_t>(before)];
                next.from[static_cast<std::size_t>(bit)] = source;
                any = any || source >= 0;
            }
            if (any) out.atoms.emplace(next.key(), std::move(next));
        }
        for (const auto& [bit, value] : form.choices)
            set(out, bit, number(value));
        out.number = number(form.number);
        return out;
    }

    Form masked(const Form& form, std::uint64_t mask, const std::string& dtype) {
        if (dtype == "bool") return mask != 0 ? form : Form{};
        return changed(
            form, {Op::bitwise_and, dtype, mask},
            [&](const std::string& value) { return numbers_.masked_by(value, mask, dtype); },
            [&](int bit) { return ((mask >> bit) & 1U) != 0 ? bit : -1; });
    }

    std::optional<Form> shift(const Form& form, int by, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        if (type.bits == 1) return std::nullopt;
        return changed(
            form, {by < 0 ? Op::left_shift : Op::right_shift, dtype, static_cast<std::uint64_t>(std::abs(by))},
            [&](const std::string& value) { return numbers_.shift(value, by, dtype); },
            [&](int bit) {
                if (bit >= type.bits || bit + by < 0) return -1;
                return bit + by < type.bits ? bit + by : type.is_signed ? type.bits - 1 : -1;
            });
    }

    /// nullopt for the truth of a number that may have several bits set.
    std::optional<Form> cast(const Form& form, const std::string& from, const std::string& to) {
        if (from == to) return form;
        const Integer before = *integer_type({from, {}}), after = *integer_type({to, {}});
        if (after.bits == 1) return truth(form, from);
        if (before.bits == 1) {
            Form out;
            out.depth = form.depth;
            for (const auto& [bit, value] : form.choices)
                set(out, bit, numbers_.cast(value, from, to));
            out.number = numbers_.cast(form.number, from, to);
            return out;
        }
        return changed(
            form, {Op::cast, to, 0}, [&](const std::string& value) { return numbers_.cast(value, from, to); },
            [&](int bit) {
                if (bit >= after.bits) return -1;
                return bit < before.bits ? bit : before.is_signed ? before.bits - 1 : -1;
            });
    }

    std::optional<Form> truth(const Form& form, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        std::uint64_t possible = numbers_.mask(form.number, type);
        for (const auto& [bit, value] : form.choices)
            possible |= numbers_.mask(value, type);
        for (const auto& [key, atom] : form.atoms)
            for (int bit = 0; bit < type.bits; ++bit)
                if (atom.from[static_cast<std::size_t>(bit)] >= 0) possible |= std::uint64_t{1} << bit;
        if (std::popcount(possible) > 1) return std::nullopt;
        Form out;
        out.depth = form.depth;
        if (possible == 0) return out;
        const auto bit = static_cast<std::size_t>(std::countr_zero(possible));
        for (const auto& [at, value] : form.choices)
            set(out, at, numbers_.truth(value, dtype));
        for (const auto& [key, atom] : form.atoms)
            add(out, {atom.source, atom.from[bit]}, numbers_.constant(1, "bool"), "bool");
        out.number = numbers_.truth(form.number, dtype);
        return out;
    }

    std::optional<Form> choice(const Form& condition, const Form& a, const Form& b, const std::string& dtype) {
        const Form difference = sum(a, b, dtype);
        if (!is_fixed(difference)) return std::nullopt;
        Form out = b;
        out.depth = 1 + std::max({condition.depth, a.depth, b.depth});
        if (out.depth > kMostChoices) return std::nullopt;
        for (const auto& [bit, truth] : condition.choices)
            add(out, bit, numbers_.where(truth, difference.number, dtype), dtype);
        out.number =
            numbers_.exclusive_or(out.number, numbers_.where(condition.number, difference.number, dtype), dtype);
        return out;
    }

    // -- values ------------------------------------------------------------------------------------------------------

    /// Long chains that come from the carried value itself; what else they read is there before.
    bool pays(const Form& form, const std::string& parameter) const {
        std::set<std::string> sources, numbers;
        for (const auto& [key, atom] : form.atoms)
            sources.insert(atom.source);
        for (const auto& [bit, number] : form.choices) {
            sources.insert(bit.first);
            numbers.insert(number);
        }
        const bool others_are_there = std::all_of(sources.begin(), sources.end(), [&](const std::string& name) {
            return name == parameter || follows_.count(name) == 0;
        });
        return form.depth >= kFewestChoices && form.atoms.size() <= kMostAtoms && numbers.size() <= kMostNumbers &&
               sources.count(parameter) != 0 && others_are_there;
    }

    std::string constant(std::uint64_t bits, const std::string& dtype, Builder& end) {
        return end.once({dtype, {}}, Op::constant, {}, {attr::value(literal(bits, *integer_type({dtype, {}})))});
    }

    std::string atom_value(const Atom& atom, Builder& end) {
        std::string value = atom.source;
        for (const Atom::Change& change : atom.changes) {
            const bool cast = change.op == Op::cast;
            value = cast ? end.once({change.dtype, {}}, Op::cast, {value})
                         : end.once({change.dtype, {}}, change.op, {value, constant(change.number, change.dtype, end)});
        }
        return value;
    }

    std::string value_of(const Form& form, const std::string& dtype, Builder& end) {
        // Bits behind which the same number stands decide together.
        std::map<std::string, std::vector<Bit>> groups;
        for (const auto& [bit, number] : form.choices)
            groups[number].push_back(bit);
        std::vector<std::string> terms = looked_up(groups, dtype, end);
        for (const auto& [number, bits] : groups)
            terms.push_back(end.once({dtype, {}}, Op::where, {odd(bits, end), number, constant(0, dtype, end)}));
        // What is there before the choices comes last: the choices are added as a tree beside it.
        while (terms.size() > 1) {
            std::vector<std::string> half;
            for (std::size_t k = 0; k + 1 < terms.size(); k += 2)
                half.push_back(end.once({dtype, {}}, Op::bitwise_xor, {terms[k], terms[k + 1]}));
            if (terms.size() % 2 != 0) half.push_back(terms.back());
            terms = std::move(half);
        }
        std::string rest = form.number;
        for (const auto& [key, atom] : form.atoms) {
            const std::string value = atom_value(atom, end);
            rest = rest.empty() ? value : end.once({dtype, {}}, Op::bitwise_xor, {rest, value});
        }
        if (terms.empty()) return rest.empty() ? constant(0, dtype, end) : rest;
        return rest.empty() ? terms[0] : end.once({dtype, {}}, Op::bitwise_xor, {terms[0], rest});
    }

    /// Numbers behind bits that lie side by side, from a table of their sums; they are taken out of `groups`.
    std::vector<std::string> looked_up(std::map<std::string, std::vector<Bit>>& groups, const std::string& dtype,
                                       Builder& end) {
        // Sources, each with its place beside that of the first one -> bit of the first one -> number.
        std::map<std::vector<Bit>, std::map<int, std::string>> rows;
        for (const auto& [number, bits] : groups) {
            std::vector<Bit> sources;
            bool truths = false;
            for (const auto& [source, bit] : bits) {
                sources.emplace_back(source, bit - bits[0].second);
                truths = truths || values_.type(source).dtype == "bool";
            }
            if (!truths) rows[sources][bits[0].second] = number;
        }
        std::vector<std::string> terms;
        for (const auto& [sources, numbers] : rows) {
            for (auto first = numbers.begin(); first != numbers.end();) {
                auto behind = first;
                std::map<int, std::string> window;
                for (; behind != numbers.end() && behind->first - first->first < kTableBits; ++behind)
                    window[behind->first - first->first] = behind->second;
                if (window.size() >= kFewestInTable) {
                    const std::string table = numbers_.table(window, dtype);
                    terms.push_back(end.once({dtype, {}}, Op::take,
                                             {table, place(sources, first->first, window.rbegin()->first + 1, end)},
                                             {attr::axis(0)}));
                    for (const auto& [bit, number] : window)
                        groups.erase(number);
                }
                first = behind;
            }
        }
        return terms;
    }

    /// `count` bits of the sum of the sources, from bit `first` of the first one on.
    std::string place(const std::vector<Bit>& sources, int first, int count, Builder& end) {
        std::string all;
        for (const auto& [source, beside] : sources) {
            std::string value = source;
            const auto by = static_cast<std::uint64_t>(first + beside);
            const std::string& dtype = values_.type(source).dtype;
            // Of its type: bits above it are zeros, or its sign, and nobody asks for them.
            if (by > 0) value = end.once({dtype, {}}, Op::right_shift, {value, constant(by, dtype, end)});
            if (dtype != "int64") value = end.once({"int64", {}}, Op::cast, {value});
            all = all.empty() ? value : end.once({"int64", {}}, Op::bitwise_xor, {all, value});
        }
        return end.once({"int64", {}}, Op::bitwise_and, {all, constant(low_bits(count), "int64", end)});
    }

    /// Whether an odd number of the bits is set.
    std::string odd(const std::vector<Bit>& bits, Builder& end) {
        const bool truths = std::all_of(bits.begin(), bits.end(),
                                        [&](const Bit& bit) { return values_.type(bit.first).dtype == "bool"; });
        if (truths) {
            std::string all = bits[0].first;
            for (std::size_t k = 1; k < bits.size(); ++k)
                all = end.once({"bool", {}}, Op::logical_xor, {all, bits[k].first});
            return all;
        }
        // Where they lie at one place, the sources are added once for all places.
        const bool aligned =
            std::all_of(bits.begin(), bits.end(), [&](const Bit& bit) { return bit.second == bits[0].second; });
        const std::string dtype = widest(bits);
        std::string all;
        for (const Bit& bit : bits) {
            std::string value = bit.first;
            if (values_.type(value).dtype != dtype) value = end.once({dtype, {}}, Op::cast, {value});
            if (!aligned)
                value = end.once({dtype, {}}, Op::right_shift,
                                 {value, constant(static_cast<std::uint64_t>(bit.second), dtype, end)});
            all = all.empty() ? value : end.once({dtype, {}}, Op::bitwise_xor, {all, value});
        }
        const std::uint64_t mask = aligned ? std::uint64_t{1} << bits[0].second : 1;
        const std::string one = end.once({dtype, {}}, Op::bitwise_and, {all, constant(mask, dtype, end)});
        return end.once({"bool", {}}, Op::not_equal, {one, constant(0, dtype, end)});
    }

    std::string widest(const std::vector<Bit>& bits) const {
        std::string dtype;
        int most = 0;
        for (const Bit& bit : bits) {
            const std::string& own = values_.type(bit.first).dtype;
            if (integer_type({own, {}})->bits > most) {
                most = integer_type({own, {}})->bits;
                dtype = own;
            }
        }
        return dtype;
    }
};

} // namespace

Program linear_bits(const Program& program) {
    Values values(program);
    values.number_above();
    Program out = program;
    bool changed = false;
    rewrite<Order::inner_first>(out.body, [&](Operation& operation, Place& place) {
        if (operation.op != Op::for_loop) return Fate::keeps;
        if (auto before = Loop(operation, values).run()) {
            std::ranges::move(*before, std::back_inserter(place.out));
            changed = true;
        }
        return Fate::keeps;
    });
    return changed ? without_dead_code(out) : out;
}

} // namespace tilewright::translator
