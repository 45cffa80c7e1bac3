// autotune/space/statements.cpp: statements of a space.
#include "autotune/space/statements.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tilewright::autotune {
namespace {

void add_holes(std::vector<dsl::HoleDomain>& to, const std::vector<dsl::HoleDomain>& from) {
    for (const dsl::HoleDomain& hole : from)
        if (std::none_of(to.begin(), to.end(), [&](const auto& known) { return known.name == hole.name; }))
            to.push_back(hole);
}

} // namespace

Factor number(std::int64_t value) {
    return {dsl::Expression::integer(value), {}};
}

Factor size(const std::string& name) {
    return {dsl::Expression::symbol(name), {}};
}

Factor hole_of(const std::string& name, std::vector<std::int64_t> values) {
    return {dsl::Expression::hole(name), {{name, std::move(values), {}}}};
}

Factor hole(const std::string& name, std::int64_t first, const std::vector<std::int64_t>& values, std::int64_t lowest,
            std::int64_t highest) {
    std::set<std::int64_t> others;
    for (std::int64_t value : values)
        if (value != first && value >= lowest && value <= highest) others.insert(value);
    std::vector<std::int64_t> all{first};
    all.insert(all.end(), others.begin(), others.end());
    return hole_of(name, std::move(all));
}

Factor Factor::with(Op op, const Factor& right) const {
    Factor both{dsl::Expression::binary(op, expression, right.expression), holes};
    add_holes(both.holes, right.holes);
    return both;
}

Factor is_extent(const dsl::LoopInfo& loop, std::int64_t value) {
    return Factor{dsl::Expression::call("extent", {dsl::Expression::symbol(loop.name)}), {}} == number(value);
}

Line& Line::add_all(const Line& other) {
    std::copy(other.statement.chain.begin(), other.statement.chain.end(), std::back_inserter(statement.chain));
    add_holes(holes, other.holes);
    return *this;
}

Line& Line::unroll_where(const Factor& condition, const std::string& loop) {
    add("specialize", condition);
    dsl::Directive& directive = statement.chain.back();
    directive.has_block = true;
    directive.block = line_of("").add("unroll", loop).statement.chain;
    return *this;
}

void Line::append(dsl::Directive& directive, const std::string& name) {
    dsl::Argument& argument = directive.arguments.emplace_back();
    argument.name = name;
}

void Line::append(dsl::Directive& directive, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        append(directive, name);
}

void Line::append(dsl::Directive& directive, const Factor& factor) {
    dsl::Argument& argument = directive.arguments.emplace_back();
    argument.kind = dsl::Argument::Kind::expression;
    argument.expression = factor.expression;
    add_holes(holes, factor.holes);
}

Line line_of(const std::string& stage, int update) {
    Line line;
    line.statement.kind = dsl::Statement::Kind::directives;
    line.statement.stage = stage;
    line.statement.update = update;
    return line;
}

Line choose(const std::vector<std::vector<Line>>& branches) {
    Line choice;
    choice.statement.kind = dsl::Statement::Kind::choose;
    for (const std::vector<Line>& branch : branches) {
        std::vector<dsl::Statement>& statements = choice.statement.alternatives.emplace_back();
        for (const Line& line : branch) {
            statements.push_back(line.statement);
            add_holes(choice.holes, line.holes);
        }
    }
    return choice;
}

Line where(const Factor& condition) {
    Line line;
    line.statement.kind = dsl::Statement::Kind::where;
    line.statement.condition = condition.expression;
    return line;
}

std::vector<std::string> innermost_first(const std::vector<std::string>& loops) {
    return {loops.rbegin(), loops.rend()};
}

dsl::Schedule space_of(const dsl::AlgorithmInfo& info, const Machine& machine, const std::vector<Line>& lines) {
    dsl::Schedule space;
    space.function = info.function;
    space.target = machine.isa;
    for (const auto& [name, option] : info.variant)
        space.variants.push_back({name, {option}, {}, {}, {}});
    for (const Line& line : lines) {
        space.statements.push_back(line.statement);
        add_holes(space.holes, line.holes);
    }
    return space;
}

} // namespace tilewright::autotune
