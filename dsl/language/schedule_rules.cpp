// dsl/language/schedule_rules.cpp: rules of holes and variants, checked once for the parser and for spaces made by
// code.
#include "dsl/language/schedule_rules.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "dsl/base/spelling.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

using Op = SizeExpression::Op;

bool is_comparison(const Expression& e) {
    return tilewright::is_comparison(e.op());
}

std::optional<std::int64_t> number_in(const std::string& text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// What may stand on the other side of a variant: a name or a number.
std::optional<std::string> option_text(const Expression& e) {
    if (e.op() == Op::symbol) return e.name();
    if (e.is_constant()) return std::to_string(e.constant());
    return std::nullopt;
}

std::string without_digits(std::string text) {
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
}

class Rules {
  public:
    Rules(const Schedule& space, bool spelling) : space_(space), spelling_(spelling) {}

    std::vector<Violation> run() {
        variants();
        for (const HoleDomain& domain : space_.holes)
            hole_domain(domain);
        statements(space_.statements);
        for (const HoleDomain& domain : space_.holes) {
            if (used_.count(domain.name) == 0) {
                add(domain.at, "?" + domain.name + ": no directive uses this hole",
                    "Use it as an argument of a directive, or take it out.");
            }
        }
        std::stable_sort(found_.begin(), found_.end(), [](const Violation& a, const Violation& b) {
            return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
        });
        return std::move(found_);
    }

  private:
    void add(Position at, std::string message, std::string hint) {
        found_.push_back(Violation{at, "", "", std::move(message), std::move(hint)});
    }

    void variants() {
        for (const VariantChoice& choice : space_.variants) {
            if (!variants_.emplace(choice.name, &choice).second) {
                add(choice.at, "variant " + choice.name + " is given twice",
                    "Write it once: variant " + choice.name + " = {a, b} where both are open.");
            }
            if (choice.options.empty()) add(choice.at, "variant " + choice.name + " has no option", "Name one.");
            std::set<std::string> seen;
            for (const std::string& option : choice.options) {
                if (seen.insert(option).second) continue;
                add(choice.at, "variant " + choice.name + " lists " + option + " twice", "Write each option once.");
            }
        }
    }

    void hole_domain(const HoleDomain& domain) {
        if (!declared_.insert(domain.name).second) {
            add(domain.at, "?" + domain.name + ": this hole is declared twice",
                "Write its values once, and ?" + domain.name + " alone after that.");
        }
        if (domain.values.empty()) add(domain.at, "?" + domain.name + ": this hole has no value", "Give it one.");
        std::set<std::int64_t> seen;
        for (const std::int64_t value : domain.values) {
            if (seen.insert(value).second) continue;
            add(domain.at, "?" + domain.name + ": the value " + std::to_string(value) + " stands there twice",
                "Write each value once.");
        }
    }

    void holes_of(const Expression& expression, bool directive) {
        for_each_hole(expression, [&](const Expression& hole) {
            if (declared_.count(hole.name()) == 0) {
                std::vector<std::string> names(declared_.begin(), declared_.end());
                const auto near = near_name(hole.name(), names);
                add(hole.at(), "?" + hole.name() + ": this hole is not declared",
                    (near ? "Is ?" + *near + " meant? " : "") + "Declare it where it stands first: ?" + hole.name() +
                        "{1, 2, 4}.");
            }
            if (directive) used_.insert(hole.name());
        });
    }

    void statements(const std::vector<Statement>& list) {
        for (const Statement& statement : list) {
            for_each_expression(statement.chain, [&](const Expression& each) { holes_of(each, true); });
            if (statement.kind == Statement::Kind::where) {
                holes_of(statement.condition, false);
                comparisons(statement.condition);
            }
            if (statement.kind == Statement::Kind::when) condition(statement.condition);
            const bool body = statement.kind == Statement::Kind::when && statement.alternatives.size() != 1;
            if (body) add(statement.at, "when has no body", "Write when condition { statements }.");
            if (statement.kind == Statement::Kind::choose && statement.alternatives.empty()) {
                add(statement.at, "choose has no branch", "Write choose { a | b }.");
            }
            for (const std::vector<Statement>& branch : statement.alternatives)
                statements(branch);
        }
    }

    const VariantChoice* variant_in(const Expression& e) const {
        if (e.op() != Op::symbol) return nullptr;
        const auto found = variants_.find(e.name());
        return found == variants_.end() ? nullptr : found->second;
    }

    /// A comparison with a variant on one side names one of its options on the other.
    bool comparison(const Expression& e) {
        const bool left = variant_in(e.operands()[0]) != nullptr;
        const VariantChoice* choice = variant_in(e.operands()[left ? 0 : 1]);
        if (choice == nullptr) return false;
        const Expression& other = e.operands()[left ? 1 : 0];
        const bool equality = e.op() == Op::eq || e.op() == Op::ne;
        if (!equality) {
            const bool numbers = std::all_of(choice->options.begin(), choice->options.end(),
                                             [](const std::string& option) { return number_in(option).has_value(); });
            if (!numbers) {
                add(e.at(),
                    "variant " + choice->name + " is compared by '" + std::string(spelling(e.op())) +
                        "', but its options are names",
                    "Compare it by == or !=.");
            }
            return true;
        }
        const auto option = option_text(other);
        if (!option) return false;
        const auto& options = choice->options;
        if (spelling_ && std::find(options.begin(), options.end(), *option) == options.end()) {
            const auto near = near_name(*option, options);
            // lanes1 beside lanes2 is another option, not a misspelt one.
            if (near && without_digits(*near) != without_digits(*option)) {
                add(other.at(), "variant " + choice->name + " has no option '" + *option + "'",
                    "Is '" + *near + "' meant? Its options here: " + joined(options) + ".");
            }
        }
        return true;
    }

    /// In a `where`, where anything else may stand too.
    void comparisons(const Expression& e) {
        if (is_comparison(e) && comparison(e)) return;
        for (const Expression& operand : e.operands())
            comparisons(operand);
    }

    /// Of a `when`: and, or, not over comparisons with variants, and nothing else.
    void condition(const Expression& e) {
        if (e.op() >= Op::logical_and) {
            for (const Expression& operand : e.operands())
                condition(operand);
            return;
        }
        if (is_comparison(e) && option_text(e.operands()[0]) && option_text(e.operands()[1]) && comparison(e)) return;
        std::string hint = "Conditions of 'when' compare variants with their options";
        hint +=
            variants_.empty()
                ? ": write variant name = {a, b} first."
                : ": when " + space_.variants.front().name + " == " +
                      (space_.variants.front().options.empty() ? "option" : space_.variants.front().options.front()) +
                      " { ... }.";
        if (is_comparison(e) && e.operands()[0].op() == Op::symbol) {
            std::vector<std::string> names;
            for (const auto& [name, choice] : variants_)
                names.push_back(name);
            if (const auto near = near_name(e.operands()[0].name(), names)) hint = "Is '" + *near + "' meant? " + hint;
        }
        add(e.at(), "'" + print_expression(e) + "' compares no variant that is declared above", hint);
    }

    const Schedule& space_;
    bool spelling_;
    std::vector<Violation> found_;
    std::map<std::string, const VariantChoice*> variants_;
    std::set<std::string> declared_;
    std::set<std::string> used_;
};

std::optional<Expression> bound_comparison(const Expression& e, const VariantLookup& option) {
    if (e.op() != Op::eq && e.op() != Op::ne) return std::nullopt;
    for (const int side : {0, 1}) {
        const Expression& variant = e.operands()[side];
        if (variant.op() != Op::symbol) continue;
        const auto chosen = option(variant.name());
        const auto other = option_text(e.operands()[1 - side]);
        if (chosen && other) return Expression::integer((*chosen == *other) == (e.op() == Op::eq));
    }
    return std::nullopt;
}

} // namespace

std::vector<Violation> check_space(const Schedule& space, bool spelling) {
    return Rules(space, spelling).run();
}

Expression bind_variants(const Expression& expression, const VariantLookup& option) {
    if (is_comparison(expression)) {
        if (const auto bound = bound_comparison(expression, option)) return *bound;
    }
    if (expression.op() == Op::symbol) {
        if (const auto chosen = option(expression.name())) {
            if (const auto number = number_in(*chosen)) return Expression::integer(*number);
        }
        return expression;
    }
    // extent(norm), lanes(float64): a loop, a dtype, not a variant of that name.
    if (expression.op() == Op::call) return expression;
    return expression.with_operands([&](const Expression& operand) { return bind_variants(operand, option); });
}

} // namespace tilewright::dsl
