// dsl/language/schedule.cpp: questions that a schedule answers about itself, and equality.
#include "dsl/language/schedule.h"

#include <algorithm>

#include "dsl/base/error.h"
#include "dsl/language/expression.h"

namespace tilewright::dsl {
namespace {

bool has_hole(const std::vector<Directive>& chain) {
    bool found = false;
    for_each_expression(chain, [&](const Expression& expression) {
        for_each_hole(expression, [&](const Expression&) { found = true; });
    });
    return found;
}

} // namespace

bool Schedule::is_concrete() const {
    const auto decided = [](const VariantChoice& choice) { return choice.options.size() == 1; };
    const auto plain = [](const Statement& statement) {
        return statement.kind == Statement::Kind::directives && !has_hole(statement.chain);
    };
    return holes.empty() && std::all_of(variants.begin(), variants.end(), decided) &&
           std::all_of(statements.begin(), statements.end(), plain);
}

std::map<std::string, std::string> Schedule::variant() const {
    std::map<std::string, std::string> chosen;
    for (const VariantChoice& choice : variants) {
        if (choice.options.size() != 1) {
            throw InternalError("schedule of " + function + ": variant " + choice.name + " has " +
                                std::to_string(choice.options.size()) + " options, so none is chosen.");
        }
        chosen[choice.name] = choice.options.front();
    }
    return chosen;
}

bool operator==(const Schedule& a, const Schedule& b) {
    const auto by_name = [](std::vector<HoleDomain> domains) {
        std::ranges::sort(domains, {}, &HoleDomain::name);
        return domains;
    };
    return a.function == b.function && a.target == b.target && a.variants == b.variants &&
           a.statements == b.statements && by_name(a.holes) == by_name(b.holes) &&
           a.header_comments == b.header_comments && a.footer_comments == b.footer_comments &&
           a.function_comment == b.function_comment;
}

std::string Violation::text(const std::string& file) const {
    std::string result = file;
    if (at.line > 0) {
        if (!result.empty()) result += ':';
        result += std::to_string(at.line) + ":" + std::to_string(at.column);
    }
    if (!result.empty()) result += ": ";
    result += message;
    if (!message.empty() && message.back() != '.' && message.back() != '?') result += '.';
    if (!hint.empty()) result += " " + hint;
    return result;
}

} // namespace tilewright::dsl
