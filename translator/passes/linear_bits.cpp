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

std::string make_constant(std::uint64_t bits, const std::string& dtype, Builder& builder) {
    return builder.once({dtype, {}}, Op::constant, {}, {attr::value(literal(bits, *integer_type({dtype, {}})))});
}

/// A number that no iteration changes: a value before the loop, or zero.
struct Number {
    std::string name;         ///< "" is zero
    std::uint64_t mask = 0;   ///< bits that may be set
    bool is_constant = false; ///< they are

    bool is_zero() const { return name.empty(); }
    std::optional<std::uint64_t> known() const { return is_constant || is_zero() ? std::optional(mask) : std::nullopt; }
};

/// Makes numbers. What is known of their bits is folded.
class Numbers {
  public:
    Numbers(Values& values, int line) : builder_(values, operations_) { builder_.at_line(line); }
    std::vector<Operation>& operations() { return operations_; }

    Number constant(std::uint64_t bits, const std::string& dtype) {
        return bits == 0 ? Number{} : Number{make_constant(bits, dtype, builder_), bits, true};
    }

    Number exclusive_or(const Number& a, const Number& b, const std::string& dtype) {
        if (a.is_zero()) return b;
        if (b.is_zero()) return a;
        if (a.name == b.name) return {};
        if (a.is_constant && b.is_constant) return constant(a.mask ^ b.mask, dtype);
        return {builder_.once({dtype, {}}, Op::bitwise_xor, {a.name, b.name}), a.mask | b.mask};
    }

    Number masked_by(const Number& a, std::uint64_t bits, const std::string& dtype) {
        const std::uint64_t left = a.mask & bits;
        if (left == 0) return {};
        if (left == a.mask) return a;
        if (a.is_constant) return constant(left, dtype);
        return {builder_.once({dtype, {}}, Op::bitwise_and, {a.name, constant(bits, dtype).name}), left};
    }

    Number shift(const Number& a, int by, const std::string& dtype) {
        const std::uint64_t left = shifted(a.mask, by, *integer_type({dtype, {}}));
        if (left == 0) return {};
        if (a.is_constant) return constant(left, dtype);
        const std::string count = make_constant(static_cast<std::uint64_t>(std::abs(by)), dtype, builder_);
        return {builder_.once({dtype, {}}, by < 0 ? Op::left_shift : Op::right_shift, {a.name, count}), left};
    }

    Number cast(const Number& a, const std::string& from, const std::string& to) {
        if (a.is_zero() || from == to) return a;
        const std::uint64_t left = extended(a.mask, *integer_type({from, {}})) & low_bits(integer_type({to, {}})->bits);
        if (left == 0) return {};
        if (a.is_constant) return constant(left, to);
        return {builder_.once({to, {}}, Op::cast, {a.name}), left};
    }

    /// Whether the one bit that `a` may have is set.
    Number truth(const Number& a, const std::string& dtype) {
        if (a.is_zero() || dtype == "bool") return a;
        if (a.is_constant) return constant(1, "bool");
        return {builder_.once({"bool", {}}, Op::not_equal, {a.name, zero(dtype)}), 1};
    }

    /// The sum of numbers[k] over the bits k of an index, for each index.
    std::string table(const std::map<int, std::string>& numbers, const std::string& dtype) {
        const Size extent = Size::integer(std::int64_t{1} << (numbers.rbegin()->first + 1));
        const std::string index = builder_.once({"int64", {extent}}, Op::iota, {}, {attr::axis(0)});
        const Type truths{"bool", {extent}}, all{dtype, {extent}};
        std::string sum;
        for (const auto& [bit, number] : numbers) {
            const std::string one = constant(std::uint64_t{1} << bit, "int64").name;
            const std::string left = builder_.once({"int64", {extent}}, Op::bitwise_and, {index, one});
            const std::string is_set = builder_.once(truths, Op::not_equal, {left, zero("int64")});
            const std::string term = builder_.once(all, Op::where, {is_set, number, zero(dtype)});
            sum = sum.empty() ? term : builder_.once(all, Op::bitwise_xor, {sum, term});
        }
        return sum;
    }

    Number where(const Number& condition, const Number& a, const std::string& dtype) {
        if (condition.is_zero() || a.is_zero()) return {};
        if (condition.is_constant) return a;
        return {builder_.once({dtype, {}}, Op::where, {condition.name, a.name, zero(dtype)}), a.mask};
    }

  private:
    std::vector<Operation> operations_;
    Builder builder_;

    std::string zero(const std::string& dtype) { return make_constant(0, dtype, builder_); }
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
    std::map<Bit, Number> choices; ///< the number where the bit is set
    Number number;
    int depth = 0; ///< choices one after the other
};

class Loop {
  public:
    /// `values`: of the program, whose loop it is.
    Loop(Operation& loop, Values& values)
        : loop_(loop), values_(values), body_(loop.regions[0]), numbers_(values, loop.line), end_(values) {}

    /// What has to stand before the loop, where it was changed.
    std::optional<std::vector<Operation>> run() {
        Block& body = loop_.regions[0];
        for (const auto& [name, type] : body.parameters)
            follows_.insert(name);
        for (const Operation& operation : body.operations) {
            const bool follows = !operation.regions.empty() ||
                                 std::any_of(operation.operands.begin(), operation.operands.end(),
                                             [&](const std::string& name) { return follows_.count(name) != 0; });
            if (follows) follows_.insert(operation.result);
            if (integer_type(operation.type)) forms_[operation.result] = form(operation);
        }
        std::vector<Operation> made;
        end_.enter(made);
        end_.at_line(loop_.line);
        bool changed = false;
        for (std::size_t k = 0; k < body.yields.size(); ++k) {
            const auto found = forms_.find(body.yields[k]);
            if (found == forms_.end() || !pays(found->second, body.parameters[k].first)) continue;
            body.yields[k] = value_of(found->second, values_.type(body.yields[k]).dtype);
            changed = true;
        }
        if (!changed) return std::nullopt;
        std::ranges::move(made, std::back_inserter(body.operations));
        return numbers_.operations();
    }

  private:
    Operation& loop_;
    Values& values_;
    Values body_;
    Numbers numbers_;
    Builder end_;                   ///< at the end of the body
    std::set<std::string> follows_; ///< those that follow from what is carried
    std::map<std::string, Form> forms_;

    static bool is_fixed(const Form& form) { return form.atoms.empty() && form.choices.empty(); }

    // -- forms -------------------------------------------------------------------------------------------------------

    /// The value as it stands.
    Form source(const std::string& name) {
        const Integer type = *integer_type(values_.type(name));
        Form out;
        if (type.bits == 1) {
            out.choices[{name, 0}] = numbers_.constant(1, "bool");
            return out;
        }
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
        if (body_.has(name)) return source(name);
        if (const Operation* const constant = values_.made_by(name, Op::constant))
            if (const auto known = linear(*constant)) return *known;
        Form out; // from outside of the loop
        out.number = {name, low_bits(integer_type(values_.type(name))->bits)};
        return out;
    }

    Form form(const Operation& operation) {
        std::optional<Form> out;
        const bool numbers = std::all_of(operation.operands.begin(), operation.operands.end(),
                                         [&](const std::string& name) { return integer_type(values_.type(name)); });
        if (numbers && operation.regions.empty()) out = linear(operation);
        return out ? *out : source(operation.result);
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
            if (is_fixed(b) && b.number.known()) return masked(a, *b.number.known(), dtype);
            if (is_fixed(a) && a.number.known()) return masked(b, *a.number.known(), dtype);
            return std::nullopt;
        }
        if (op == Op::right_shift || op == Op::left_shift) {
            const Form by = form_of(operands[1]);
            const auto count = by.number.known();
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

    Number inverted(const Number& truth) { return numbers_.exclusive_or(truth, numbers_.constant(1, "bool"), "bool"); }

    static void set(Form& form, const Bit& bit, const Number& number) {
        if (number.is_zero())
            form.choices.erase(bit);
        else
            form.choices[bit] = number;
    }

    void add(Form& form, const Bit& bit, const Number& number, const std::string& dtype) {
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
    template <class Make, class FromBit>
    Form changed(const Form& form, const Atom::Change& change, Make number, FromBit from_bit) {
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
            [&](const Number& value) { return numbers_.masked_by(value, mask, dtype); },
            [&](int bit) { return ((mask >> bit) & 1U) != 0 ? bit : -1; });
    }

    std::optional<Form> shift(const Form& form, int by, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        if (type.bits == 1) return std::nullopt;
        return changed(
            form, {by < 0 ? Op::left_shift : Op::right_shift, dtype, static_cast<std::uint64_t>(std::abs(by))},
            [&](const Number& value) { return numbers_.shift(value, by, dtype); },
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
            form, {Op::cast, to, 0}, [&](const Number& value) { return numbers_.cast(value, from, to); },
            [&](int bit) {
                if (bit >= after.bits) return -1;
                return bit < before.bits ? bit : before.is_signed ? before.bits - 1 : -1;
            });
    }

    std::optional<Form> truth(const Form& form, const std::string& dtype) {
        const Integer type = *integer_type({dtype, {}});
        std::uint64_t possible = form.number.mask;
        for (const auto& [bit, value] : form.choices)
            possible |= value.mask;
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
            numbers.insert(number.name);
        }
        const bool others_are_there = std::all_of(sources.begin(), sources.end(), [&](const std::string& name) {
            return name == parameter || follows_.count(name) == 0;
        });
        return form.depth >= kFewestChoices && form.atoms.size() <= kMostAtoms && numbers.size() <= kMostNumbers &&
               sources.count(parameter) != 0 && others_are_there;
    }

    std::string constant(std::uint64_t bits, const std::string& dtype) { return make_constant(bits, dtype, end_); }

    std::string atom_value(const Atom& atom) {
        std::string value = atom.source;
        for (const Atom::Change& change : atom.changes) {
            const bool cast = change.op == Op::cast;
            value = cast ? end_.once({change.dtype, {}}, Op::cast, {value})
                         : end_.once({change.dtype, {}}, change.op, {value, constant(change.number, change.dtype)});
        }
        return value;
    }

    std::string value_of(const Form& form, const std::string& dtype) {
        // Bits behind which the same number stands decide together.
        std::map<std::string, std::vector<Bit>> groups;
        for (const auto& [bit, number] : form.choices)
            groups[number.name].push_back(bit);
        std::vector<std::string> terms = looked_up(groups, dtype);
        for (const auto& [number, bits] : groups)
            terms.push_back(end_.once({dtype, {}}, Op::where, {odd(bits), number, constant(0, dtype)}));
        // What is there before the choices comes last: the choices are added as a tree beside it.
        while (terms.size() > 1) {
            std::vector<std::string> half;
            for (std::size_t k = 0; k + 1 < terms.size(); k += 2)
                half.push_back(end_.once({dtype, {}}, Op::bitwise_xor, {terms[k], terms[k + 1]}));
            if (terms.size() % 2 != 0) half.push_back(terms.back());
            terms = std::move(half);
        }
        std::string rest = form.number.name;
        for (const auto& [key, atom] : form.atoms) {
            const std::string value = atom_value(atom);
            rest = rest.empty() ? value : end_.once({dtype, {}}, Op::bitwise_xor, {rest, value});
        }
        if (terms.empty()) return rest.empty() ? constant(0, dtype) : rest;
        return rest.empty() ? terms[0] : end_.once({dtype, {}}, Op::bitwise_xor, {terms[0], rest});
    }

    /// Numbers behind bits that lie side by side, from a table of their sums; they are taken out of `groups`.
    std::vector<std::string> looked_up(std::map<std::string, std::vector<Bit>>& groups, const std::string& dtype) {
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
                    terms.push_back(end_.once({dtype, {}}, Op::take,
                                              {table, place(sources, first->first, window.rbegin()->first + 1)},
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
    std::string place(const std::vector<Bit>& sources, int first, int count) {
        std::string all;
        for (const auto& [source, beside] : sources) {
            std::string value = source;
            const auto by = static_cast<std::uint64_t>(first + beside);
            const std::string& dtype = values_.type(source).dtype;
            // Of its type: bits above it are zeros, or its sign, and nobody asks for them.
            if (by > 0) value = end_.once({dtype, {}}, Op::right_shift, {value, constant(by, dtype)});
            if (dtype != "int64") value = end_.once({"int64", {}}, Op::cast, {value});
            all = all.empty() ? value : end_.once({"int64", {}}, Op::bitwise_xor, {all, value});
        }
        return end_.once({"int64", {}}, Op::bitwise_and, {all, constant(low_bits(count), "int64")});
    }

    /// Whether an odd number of the bits is set.
    std::string odd(const std::vector<Bit>& bits) {
        const bool truths = std::all_of(bits.begin(), bits.end(),
                                        [&](const Bit& bit) { return values_.type(bit.first).dtype == "bool"; });
        if (truths) {
            std::string all = bits[0].first;
            for (std::size_t k = 1; k < bits.size(); ++k)
                all = end_.once({"bool", {}}, Op::logical_xor, {all, bits[k].first});
            return all;
        }
        // Where they lie at one place, the sources are added once for all places.
        const bool aligned =
            std::all_of(bits.begin(), bits.end(), [&](const Bit& bit) { return bit.second == bits[0].second; });
        const std::string dtype = widest(bits);
        std::string all;
        for (const Bit& bit : bits) {
            std::string value = bit.first;
            if (values_.type(value).dtype != dtype) value = end_.once({dtype, {}}, Op::cast, {value});
            if (!aligned)
                value = end_.once({dtype, {}}, Op::right_shift,
                                  {value, constant(static_cast<std::uint64_t>(bit.second), dtype)});
            all = all.empty() ? value : end_.once({dtype, {}}, Op::bitwise_xor, {all, value});
        }
        const std::uint64_t mask = aligned ? std::uint64_t{1} << bits[0].second : 1;
        const std::string one = end_.once({dtype, {}}, Op::bitwise_and, {all, constant(mask, dtype)});
        return end_.once({"bool", {}}, Op::not_equal, {one, constant(0, dtype)});
    }

    std::string widest(const std::vector<Bit>& bits) const {
        const auto bits_of = [&](const Bit& bit) { return integer_type(values_.type(bit.first))->bits; };
        return values_.type(std::ranges::max_element(bits, {}, bits_of)->first).dtype;
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
