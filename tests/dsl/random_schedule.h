// tests/dsl/random_schedule.h: random schedules and spaces as data, for properties that hold for all of them.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "dsl/base/error.h"
#include "dsl/language/directive_signature.h"
#include "dsl/language/schedule.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl::testing {

inline bool is_readable(const std::string& text) {
    try {
        parse_schedule(text);
        return true;
    } catch (const ScheduleError&) {
        return false;
    }
}

struct RandomScheduleOptions {
    bool space = false;
    bool comments = true;
    bool wheres = true;
    int max_statements = 6;
    int max_depth = 3;
};

class RandomSchedule {
  public:
    RandomSchedule(std::mt19937_64& rng, RandomScheduleOptions options) : rng_(rng), options_(options) {}

    Schedule make() {
        result_ = Schedule();
        result_.function = pick({"get_labels", "KMeans.fit", "f.<locals>.g", "<lambda>", "größe"});
        result_.target = pick({"x86-64", "x86-64-v3", "x86-64-v4", "host", "cuda", "cuda-sm_70"});
        result_.header_comments = comments();
        result_.function_comment = trailing();
        for (int i = below(3); i > 0; --i)
            variant(i);
        result_.statements = statements(options_.space ? options_.max_depth : 0);
        result_.footer_comments = comments();
        return std::move(result_);
    }

  private:
    int below(int n) { return static_cast<int>(rng_() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    std::string pick(const std::vector<std::string>& words) { return words[below(static_cast<int>(words.size()))]; }
    std::string name() {
        return pick({"i", "j", "k", "io", "ii", "labels", "nearest", "norm_2", "where", "choose", "variant", "as", "in",
                     "für", "_x", "update", "when", "inline"});
    }
    std::string comment() {
        return pick({"", "plain", " two  blanks", "# more", "a { b | c } ?x", "été", "tab\there"});
    }
    std::vector<std::string> comments() {
        std::vector<std::string> lines;
        if (options_.comments && chance(20)) lines.resize(1 + below(2));
        for (std::string& line : lines)
            line = comment();
        return lines;
    }
    std::string trailing() { return options_.comments && chance(20) ? comment() : ""; }

    void variant(int i) {
        VariantChoice choice;
        choice.name = i % 2 == 0 ? "norm" : "chunk";
        const std::vector<std::string> all = i % 2 == 0 ? std::vector<std::string>{"serial", "lanes", "inline"}
                                                        : std::vector<std::string>{"1", "4", "16"};
        if (!result_.variants.empty() && result_.variants.back().name == choice.name) return;
        choice.options.assign(all.begin(), all.begin() + (options_.space ? 1 + below(3) : 1));
        choice.comments = comments();
        choice.trailing_comment = trailing();
        result_.variants.push_back(choice);
    }

    Expression expression(int depth, bool hole_allowed = true) {
        if (options_.space && hole_allowed && chance(40)) return hole_use();
        switch (below(depth > 0 ? 9 : 3)) {
        case 0:
            return Expression::integer(chance(50) ? below(100) : static_cast<std::int64_t>(rng_()));
        case 1:
            return Expression::symbol(pick({"cores", "X.0", "means.1", "n", "l2_bytes"}));
        case 2:
            return chance(50) ? Expression::integer(-below(20)) : Expression::integer(1 << below(17));
        case 3:
            return Expression::call("lanes", {Expression::symbol("float64")});
        case 4:
            return Expression::call(pick({"min", "max"}),
                                    {expression(depth - 1), expression(depth - 1), expression(depth - 1)});
        case 5:
            return Expression::unary(chance(50) ? SizeExpression::Op::neg : SizeExpression::Op::logical_not,
                                     expression(depth - 1));
        default:
            return Expression::binary(
                kSizeOperators[static_cast<std::size_t>(below(static_cast<int>(kSizeOperators.size())))].op,
                expression(depth - 1), expression(depth - 1));
        }
    }

    Expression hole_use() {
        const int count = static_cast<int>(result_.holes.size());
        if (count > 0 && chance(50)) return Expression::hole(result_.holes[below(count)].name);
        HoleDomain domain;
        domain.name = "h" + std::to_string(count);
        const std::int64_t first = below(8) - 2;
        for (int i = 1 + below(4); i > 0; --i)
            domain.values.push_back(first + 3 * i);
        result_.holes.push_back(domain);
        return Expression::hole(domain.name);
    }

    Directive directive(int depth, bool may_make) {
        for (;;) {
            const auto& all = directive_signatures();
            const DirectiveSignature& form = all[below(static_cast<int>(all.size()))];
            if (form.makes_stage && !may_make) continue;
            Directive result;
            result.verb = form.verb;
            bool optional = false;
            bool repeat = form.roles.ends_with('+');
            do {
                for (const char role : form.roles) {
                    if (role == '?') optional = true;
                    if (role == '?' || role == '+') continue;
                    if (optional && chance(50)) return block(result, form, depth);
                    result.arguments.push_back(argument(static_cast<ArgumentRole>(role)));
                }
            } while (repeat && chance(40) && result.arguments.size() < 6);
            return block(result, form, depth);
        }
    }

    Directive block(Directive result, const DirectiveSignature& form, int depth) {
        if (!form.has_block || depth <= 0) return result;
        result.has_block = true;
        for (int i = below(4); i > 0; --i)
            result.block.push_back(directive(depth - 1, false));
        return result;
    }

    Argument argument(ArgumentRole role) {
        Argument result;
        const auto& words = role_words(role);
        if (role == ArgumentRole::expression) {
            result.kind = Argument::Kind::expression;
            result.expression = expression(2);
        } else {
            result.name = words.empty() ? name() : pick(words);
        }
        return result;
    }

    std::vector<Statement> statements(int depth) {
        std::vector<Statement> list;
        for (int i = below(options_.max_statements + 1); i > 0; --i)
            list.push_back(statement(depth));
        return list;
    }

    Statement statement(int depth) {
        Statement result;
        result.comments = comments();
        result.trailing_comment = trailing();
        const int kind = depth > 0 ? below(10) : 9;
        if (kind < 3) {
            result.kind = Statement::Kind::choose;
            for (int i = 1 + below(3); i > 0; --i)
                result.alternatives.push_back(statements(depth - 1));
        } else if (kind == 3 && !result_.variants.empty()) {
            result.kind = Statement::Kind::when;
            const VariantChoice& choice = result_.variants[below(static_cast<int>(result_.variants.size()))];
            const std::string option = choice.options[below(static_cast<int>(choice.options.size()))];
            const Expression right =
                choice.name == "chunk" ? Expression::integer(std::stoi(option)) : Expression::symbol(option);
            result.condition = Expression::binary(chance(50) ? SizeExpression::Op::eq : SizeExpression::Op::ne,
                                                  Expression::symbol(choice.name), right);
            if (chance(30)) result.condition = Expression::unary(SizeExpression::Op::logical_not, result.condition);
            result.alternatives.push_back(statements(depth - 1));
        } else if (kind == 4 && options_.wheres && !result_.holes.empty()) {
            result.kind = Statement::Kind::where;
            const auto any_hole = [&] {
                return Expression::hole(result_.holes[below(static_cast<int>(result_.holes.size()))].name);
            };
            result.condition = Expression::binary(find_operator(pick({"<", "!=", ">="}))->op, any_hole(),
                                                  chance(50) ? any_hole() : Expression::integer(below(9)));
        } else {
            result.stage = name();
            if (chance(30)) result.update = below(3);
            for (int i = below(3); i > 0; --i)
                result.chain.push_back(directive(2, false));
            result.chain.push_back(directive(2, true));
            const std::string& last = result.chain.back().verb;
            if (last == "rfactor" || last == "in") result.made_stage = name();
        }
        return result;
    }

    std::mt19937_64& rng_;
    RandomScheduleOptions options_;
    Schedule result_;
};

} // namespace tilewright::dsl::testing
