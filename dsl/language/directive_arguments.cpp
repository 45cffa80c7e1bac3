// dsl/language/directive_arguments.cpp: arguments against the signatures of a verb.
#include "dsl/language/directive_arguments.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/base/spelling.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/token_stream.h"

namespace tilewright::dsl {
namespace {

/// The letters of DirectiveSignature::roles, taken apart.
struct Pattern {
    std::string roles;
    std::size_t required = 0;
    bool repeats = false;

    explicit Pattern(std::string_view text) {
        repeats = !text.empty() && text.back() == '+';
        if (repeats) text.remove_suffix(1);
        required = std::min(text.find('?'), text.size());
        roles = std::string(text);
        std::erase(roles, '?');
    }
    bool takes(std::size_t count) const {
        if (repeats) return count > 0 && count % roles.size() == 0;
        return count >= required && count <= roles.size();
    }
    std::optional<ArgumentRole> role(std::size_t index) const {
        if (repeats) return static_cast<ArgumentRole>(roles[index % roles.size()]);
        if (index >= roles.size()) return std::nullopt;
        return static_cast<ArgumentRole>(roles[index]);
    }
    /// An argument must follow `count` arguments.
    bool needs_more(std::size_t count) const {
        return repeats ? count == 0 || count % roles.size() != 0 : count < required;
    }
};

std::vector<const DirectiveSignature*> forms(std::string_view verb) {
    std::vector<const DirectiveSignature*> result;
    for (const DirectiveSignature& signature : directive_signatures()) {
        if (signature.verb == verb) result.push_back(&signature);
    }
    return result;
}

bool is_plain_name(const Expression& e) {
    return e.op() == Expression::Op::symbol && e.name().find('.') == std::string::npos;
}

bool fits(ArgumentRole role, const Expression& e) {
    switch (role) {
    case ArgumentRole::loop:
    case ArgumentRole::new_loop:
    case ArgumentRole::stage:
        return is_plain_name(e);
    case ArgumentRole::expression: {
        // guard_with_if in the place of a factor is a forgotten factor; auto might be the name of a scalar.
        const auto& tails = role_words(ArgumentRole::tail);
        const bool tail = is_plain_name(e) && e.name().find('_') != std::string::npos;
        return !(tail && std::find(tails.begin(), tails.end(), e.name()) != tails.end());
    }
    case ArgumentRole::anything:
        return true;
    default: {
        const auto& words = role_words(role);
        return is_plain_name(e) && std::find(words.begin(), words.end(), e.name()) != words.end();
    }
    }
}

/// The index of the first argument that does not fit, or the number of arguments.
std::size_t first_misfit(const Pattern& pattern, const std::vector<Expression>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto role = pattern.role(i);
        if (!role || !fits(*role, arguments[i])) return i;
    }
    return arguments.size();
}

Argument argument_of(ArgumentRole role, Expression e) {
    Argument argument;
    argument.at = e.at();
    const bool name = role == ArgumentRole::anything ? is_plain_name(e) : role != ArgumentRole::expression;
    if (name) {
        argument.name = e.name();
    } else {
        argument.kind = Argument::Kind::expression;
        argument.expression = std::move(e);
    }
    return argument;
}

/// The form that explains best what is wrong: one that takes as many arguments, else the first.
const DirectiveSignature& closest(const std::vector<const DirectiveSignature*>& all, std::size_t count) {
    for (const DirectiveSignature* form : all) {
        if (Pattern(form->roles).takes(count)) return *form;
    }
    return *all.front();
}

std::string without_tail(std::string_view usage) {
    std::string text(usage);
    const std::string optional_tail = "[, tail])";
    if (text.ends_with(optional_tail)) text.replace(text.size() - optional_tail.size(), optional_tail.size(), ")");
    return text;
}

std::string word_hint(ArgumentRole role, const Expression& e) {
    const auto& words = role_words(role);
    if (words.empty()) return "";
    const auto near = e.op() == Expression::Op::symbol ? near_name(e.name(), words) : std::nullopt;
    return (near ? "Is '" + *near + "' meant? " : "") + "Known: " + joined(words) + ". ";
}

[[noreturn]] void misfit(const std::string& verb, const DirectiveSignature& form, std::vector<Expression> arguments,
                         Position close) {
    const Pattern pattern(form.roles);
    const std::size_t at = first_misfit(pattern, arguments);
    if (at == arguments.size()) {
        const std::string role = role_name(*pattern.role(at));
        fail(close, "expected " + role + " after " + quoted(written(verb, arguments)) + ", found ')'",
             "Write " + without_tail(form.usage) + ".");
    }
    const Expression wrong = arguments[at];
    arguments.resize(at);
    const std::string after = quoted(written(verb, arguments) + (at > 0 ? "," : ""));
    const std::string found = quoted(print_expression(wrong));
    const auto role = pattern.role(at);
    const bool past_factor = !role || *role == ArgumentRole::tail;
    const std::string usage = "Write " + (past_factor ? std::string(form.usage) : without_tail(form.usage)) + ".";
    if (!role) fail(wrong.at(), "expected ')' after " + quoted(written(verb, arguments)) + ", found " + found, usage);
    fail(wrong.at(), "expected " + role_name(*role) + " after " + after + ", found " + found,
         word_hint(*role, wrong) + usage);
}

} // namespace

std::string short_usage(const std::string& verb) {
    const auto all = forms(verb);
    return all.empty() ? verb + "()" : without_tail(all.front()->usage);
}

std::string written(const std::string& verb, const std::vector<Expression>& arguments) {
    std::string text = verb + "(";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        // Long lists are cut in the middle: the last argument is where the reader looks.
        if (i > 0) text += ", ";
        if (i > 0 && i + 1 < arguments.size() && text.size() > 24) {
            text += "..., ";
            i = arguments.size() - 1;
        }
        text += print_expression(arguments[i]);
    }
    return text;
}

bool fits(const DirectiveSignature& signature, const Directive& directive) {
    const Pattern pattern(signature.roles);
    if (directive.has_block != signature.has_block || !pattern.takes(directive.arguments.size())) return false;
    for (std::size_t k = 0; k < directive.arguments.size(); ++k) {
        const ArgumentRole role = *pattern.role(k);
        if (role == ArgumentRole::anything) continue;
        const Argument& argument = directive.arguments[k];
        if ((role == ArgumentRole::expression) != (argument.kind == Argument::Kind::expression)) return false;
        const auto& words = role_words(role);
        if (!words.empty() && std::ranges::find(words, argument.name) == words.end()) return false;
    }
    return true;
}

std::string expected_argument(const std::string& verb, const std::vector<Expression>& arguments) {
    const auto all = forms(verb);
    std::string what = "an argument";
    for (const DirectiveSignature* form : all) {
        const Pattern pattern(form->roles);
        if (first_misfit(pattern, arguments) != arguments.size()) continue;
        if (const auto role = pattern.role(arguments.size())) {
            what = role_name(*role);
            if (arguments.empty() && !pattern.needs_more(0)) what = "')' or " + what;
            break;
        }
        if (arguments.empty()) what = "')'";
    }
    return what + " after " + quoted(written(verb, arguments) + (arguments.empty() ? "" : ","));
}

const DirectiveSignature& match_arguments(Directive& directive, std::vector<Expression> arguments, Position close) {
    const auto all = forms(directive.verb);
    for (const DirectiveSignature* form : all) {
        const Pattern pattern(form->roles);
        if (!pattern.takes(arguments.size()) || first_misfit(pattern, arguments) != arguments.size()) continue;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            directive.arguments.push_back(argument_of(*pattern.role(i), std::move(arguments[i])));
        }
        return *form;
    }
    misfit(directive.verb, closest(all, arguments.size()), std::move(arguments), close);
}

} // namespace tilewright::dsl
