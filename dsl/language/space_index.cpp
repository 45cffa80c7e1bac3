// dsl/language/space_index.cpp: numbering the decisions of a space, and which of them are active.
#include "dsl/language/space_index.h"
#include "dsl/base/spelling.h"

#include <algorithm>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/language/schedule_rules.h"
#include "dsl/language/schedule_text.h"

namespace tilewright::dsl {
namespace {

/// A search recurses once a decision.
constexpr std::size_t kMaxDecisions = 4096;

int count_chooses(const std::vector<Statement>& statements) {
    int count = 0;
    for (const Statement& statement : statements) {
        if (statement.kind == Statement::Kind::choose) ++count;
        for (const auto& branch : statement.alternatives)
            count += count_chooses(branch);
    }
    return count;
}

std::string branch_text(const std::vector<Statement>& branch) {
    return joined(branch, " ; ", print_statement);
}

void add_once(std::vector<int>& list, int number) {
    if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
}

} // namespace

SpaceIndex::SpaceIndex(Schedule space) : space_(std::move(space)) {
    if (const auto problems = check_space(space_); !problems.empty()) {
        Violation first = problems.front();
        const std::string hint = std::exchange(first.hint, "");
        throw ScheduleError(first.text("space " + space_.function), hint);
    }
    const std::size_t count = space_.variants.size() + count_chooses(space_.statements) + space_.holes.size();
    if (count > kMaxDecisions) {
        throw ScheduleError("space " + space_.function + ": " + std::to_string(count) +
                                " variants, choices and holes; at most " + std::to_string(kMaxDecisions) +
                                " can be searched.",
                            "Narrow it.");
    }
    for (const VariantChoice& choice : space_.variants) {
        variant_numbers_[choice.name] = size();
        decisions_.push_back({"variant " + choice.name, choice.options});
    }
    next_choose_ = size();
    first_hole_ = next_choose_ + count_chooses(space_.statements);
    decisions_.resize(first_hole_);
    for (const HoleDomain& domain : space_.holes) {
        hole_numbers_[domain.name] = size();
        Decision decision{"?" + domain.name, {}};
        for (const std::int64_t value : domain.values)
            decision.options.push_back(std::to_string(value));
        decisions_.push_back(std::move(decision));
    }
    const int first_choose = next_choose_;
    top_ = index(space_.statements);
    for (int number = first_choose; number < first_hole_; ++number) {
        decisions_[number].id = "choose#" + std::to_string(number - first_choose + 1);
    }
}

std::vector<SpaceNode> SpaceIndex::index(const std::vector<Statement>& statements) {
    std::vector<SpaceNode> nodes;
    nodes.reserve(statements.size());
    for (const Statement& statement : statements) {
        SpaceNode node;
        node.statement = &statement;
        const auto add_holes = [&](const Expression& expression) {
            for_each_hole(expression, [&](const Expression& hole) { add_once(node.holes, hole_number(hole.name())); });
        };
        for_each_expression(statement.chain, add_holes);
        if (statement.kind == Statement::Kind::where) {
            add_holes(statement.condition);
            const Answers first(decisions_.size(), 0);
            const auto option = [&](const std::string& name) { return variant_option(name, first); };
            node.on_variants = !(bind_variants(statement.condition, option) == statement.condition);
        }
        if (statement.kind == Statement::Kind::choose) {
            node.choose = next_choose_++;
            for (const auto& branch : statement.alternatives) {
                decisions_[node.choose].options.push_back(branch_text(branch));
            }
        }
        for (const auto& branch : statement.alternatives)
            node.branches.push_back(index(branch));
        nodes.push_back(std::move(node));
    }
    return nodes;
}

Answers SpaceIndex::open_answers() const {
    Answers answers(decisions_.size(), kOpen);
    for (int number = 0; number < size(); ++number) {
        if (options(number) == 1) answers[number] = 0;
    }
    return answers;
}

Answers SpaceIndex::answers(const Point& point) const {
    Answers result = open_answers();
    for (int number = 0; number < size(); ++number) {
        const auto found = point.find(decisions_[number].id);
        if (found == point.end()) continue;
        if (found->second < 0 || found->second >= options(number)) {
            throw ScheduleError("space " + space_.function + ": option " + std::to_string(found->second) + " of " +
                                    found->first + " was asked for, which has " + std::to_string(options(number)) +
                                    " options.",
                                "Was the space changed since the point was made?");
        }
        result[number] = found->second;
    }
    return result;
}

Point SpaceIndex::point(const Answers& answers) const {
    Point result;
    for (const int number : active(answers).decisions) {
        if (answers[number] != kOpen) result[decisions_[number].id] = answers[number];
    }
    return result;
}

ActiveParts SpaceIndex::active(const Answers& answers) const {
    ActiveParts parts;
    parts.hole_active.assign(decisions_.size(), 0);
    for (int number = 0; number < variant_count(); ++number) {
        if (options(number) > 1) parts.decisions.push_back(number);
    }
    walk(top_, answers, parts);
    return parts;
}

void SpaceIndex::walk(const std::vector<SpaceNode>& nodes, const Answers& answers, ActiveParts& parts) const {
    for (const SpaceNode& node : nodes) {
        switch (node.statement->kind) {
        case Statement::Kind::directives:
            for (const int hole : node.holes) {
                if (parts.hole_active[hole]) continue;
                parts.hole_active[hole] = 1;
                if (options(hole) > 1) parts.decisions.push_back(hole);
            }
            break;
        case Statement::Kind::where:
            parts.wheres.push_back(&node);
            break;
        case Statement::Kind::when: {
            const std::optional<bool> taken = holds(node.statement->condition, answers);
            if (!taken) parts.complete = false;
            if (taken.value_or(false)) walk(node.branches.front(), answers, parts);
            break;
        }
        case Statement::Kind::choose:
            if (options(node.choose) > 1) parts.decisions.push_back(node.choose);
            if (answers[node.choose] == kOpen) {
                parts.complete = false;
            } else {
                walk(node.branches[answers[node.choose]], answers, parts);
            }
            break;
        }
    }
}

std::optional<std::string> SpaceIndex::variant_option(const std::string& name, const Answers& answers) const {
    const auto found = variant_numbers_.find(name);
    if (found == variant_numbers_.end() || answers[found->second] == kOpen) return std::nullopt;
    return decisions_[found->second].options[answers[found->second]];
}

std::optional<bool> SpaceIndex::holds(const Expression& when, const Answers& answers) const {
    const auto option = [&](const std::string& name) { return variant_option(name, answers); };
    const auto value = bind_variants(when, option).evaluate(no_environment);
    return value ? std::optional<bool>(*value != 0) : std::nullopt;
}

WhereState SpaceIndex::state(const SpaceNode& where, const Answers& answers, const ActiveParts& parts,
                             const Environment& environment) const {
    for (const int hole : where.holes) {
        if (!parts.hole_active[hole]) return parts.complete ? WhereState::holds : WhereState::open;
        if (answers[hole] == kOpen) return WhereState::open;
    }
    const auto option = [&](const std::string& name) { return variant_option(name, answers); };
    if (where.on_variants) {
        for (int number = 0; number < variant_count(); ++number) {
            if (answers[number] == kOpen) return WhereState::open;
        }
    }
    const Environment with_holes = [&](const Expression& e) -> std::optional<std::int64_t> {
        if (e.op() != Expression::Op::hole) return environment ? environment(e) : std::nullopt;
        const int number = hole_number(e.name());
        return domain(number).values[answers[number]];
    };
    const Expression& condition = where.statement->condition;
    const auto value = (where.on_variants ? bind_variants(condition, option) : condition).evaluate(with_holes);
    return value.value_or(0) != 0 ? WhereState::holds : WhereState::fails;
}

} // namespace tilewright::dsl
