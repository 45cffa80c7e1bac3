// autotune/space/statements.h: statements of a space, made by rules.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "autotune/machine.h"
#include "dsl/language/schedule.h"
#include "dsl/model/algorithm.h"

namespace tilewright::autotune {

/// A number, a size or a hole, in a directive or a condition. Holes carry the values that they may take: where the same
/// hole stands several times, those of the first one count.
struct Factor {
    dsl::Expression expression;
    std::vector<dsl::HoleDomain> holes;

    friend Factor operator*(const Factor& a, const Factor& b) { return a.with(Op::mul, b); }
    friend Factor operator%(const Factor& a, const Factor& b) { return a.with(Op::mod, b); }
    friend Factor operator==(const Factor& a, const Factor& b) { return a.with(Op::eq, b); }
    friend Factor operator<=(const Factor& a, const Factor& b) { return a.with(Op::le, b); }
    friend Factor operator>=(const Factor& a, const Factor& b) { return a.with(Op::ge, b); }
    friend Factor operator&&(const Factor& a, const Factor& b) { return a.with(Op::logical_and, b); }

    using Op = SizeExpression::Op;
    Factor with(Op op, const Factor& right) const;
};
Factor number(std::int64_t value);
/// A program size, by its name.
Factor size(const std::string& name);
/// A hole that takes `values`, in this order.
Factor hole_of(const std::string& name, std::vector<std::int64_t> values);
/// The default first, then the rest in rising order, those out of range left out.
Factor hole(const std::string& name, std::int64_t first, const std::vector<std::int64_t>& values, std::int64_t lowest,
            std::int64_t highest);
/// extent(loop) == value
Factor is_extent(const dsl::LoopInfo& loop, std::int64_t value);

/// A statement with the values of its holes.
struct Line {
    dsl::Statement statement;
    std::vector<dsl::HoleDomain> holes;

    /// One more directive; arguments are names, lists of names, numbers and factors.
    template <class... Arguments> Line& add(const char* verb, const Arguments&... arguments) {
        dsl::Directive directive;
        directive.verb = verb;
        (append(directive, arguments), ...);
        statement.chain.push_back(std::move(directive));
        return *this;
    }
    /// The directives of `other` behind those of this line.
    Line& add_all(const Line& other);
    /// specialize(condition) { unroll(loop) }
    Line& unroll_where(const Factor& condition, const std::string& loop);
    bool empty() const { return statement.chain.empty(); }

  private:
    void append(dsl::Directive& directive, const std::string& name);
    void append(dsl::Directive& directive, const std::vector<std::string>& names);
    void append(dsl::Directive& directive, const Factor& factor);
    void append(dsl::Directive& directive, std::int64_t value) { append(directive, number(value)); }
};

/// Without directives: of the pure definition, or of an update from 0 on.
Line line_of(const std::string& stage, int update = -1);
/// choose { branch | branch }; a branch without lines chooses nothing.
Line choose(const std::vector<std::vector<Line>>& branches);
Line where(const Factor& condition);

/// Loops are listed outermost first; reorder() wants the innermost first.
std::vector<std::string> innermost_first(const std::vector<std::string>& loops);

dsl::Schedule space_of(const dsl::AlgorithmInfo& info, const Machine& machine, const std::vector<Line>& lines);

} // namespace tilewright::autotune
