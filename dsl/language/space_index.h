// dsl/language/space_index.h: the text of a space as a tree of decisions, numbered, for Space alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/language/space.h"

namespace tilewright::dsl {

/// Decisions have numbers: variants first, then every choose in textual order, then holes. An answer is the index of
/// an option, or kOpen. What has only one option is answered from the start and is no decision.
using Answers = std::vector<int>;
inline constexpr int kOpen = -1;

/// A statement of the space and what it decides or depends on.
struct SpaceNode {
    const Statement* statement = nullptr;
    int choose = kOpen;       ///< the number of its decision
    std::vector<int> holes;   ///< decisions: used by its directives, or mentioned by a where; each once
    bool on_variants = false; ///< a where that mentions a variant
    std::vector<std::vector<SpaceNode>> branches;
};

/// What exists under given answers.
struct ActiveParts {
    std::vector<int> decisions;           ///< with more than one option, in textual order
    std::vector<const SpaceNode*> wheres; ///< in textual order
    std::vector<char> hole_active;        ///< by decision number
    bool complete = true;                 ///< no choose or when was left open on the way
};

enum class WhereState { holds, fails, open };

class SpaceIndex {
  public:
    /// Throws ScheduleError by the rules of check_space(), and for more decisions than a search could handle.
    explicit SpaceIndex(Schedule space);
    SpaceIndex(const SpaceIndex&) = delete; // nodes point into space_
    SpaceIndex& operator=(const SpaceIndex&) = delete;

    const Schedule& text() const { return space_; }
    const std::vector<SpaceNode>& top() const { return top_; }
    const Decision& decision(int number) const { return decisions_[number]; }
    int size() const { return static_cast<int>(decisions_.size()); }
    int options(int number) const { return static_cast<int>(decisions_[number].options.size()); }
    bool is_hole(int number) const { return number >= first_hole_; }
    const HoleDomain& domain(int number) const { return space_.holes[number - first_hole_]; }
    int hole_number(const std::string& name) const { return hole_numbers_.at(name); }
    int variant_count() const { return static_cast<int>(space_.variants.size()); }

    Answers open_answers() const;
    /// Throws ScheduleError for an option that does not exist; ids of other spaces are passed over.
    Answers answers(const Point& point) const;
    /// The answers of what is active.
    Point point(const Answers& answers) const;
    ActiveParts active(const Answers& answers) const;

    std::optional<std::string> variant_option(const std::string& name, const Answers& answers) const;
    /// Of a `when`; nullopt while a variant that it needs is open.
    std::optional<bool> holds(const Expression& when, const Answers& answers) const;
    /// `parts` are those of `answers`. Holds too where a hole is not active at all.
    WhereState state(const SpaceNode& where, const Answers& answers, const ActiveParts& parts,
                     const Environment& environment) const;

  private:
    std::vector<SpaceNode> index(const std::vector<Statement>& statements);
    void walk(const std::vector<SpaceNode>& nodes, const Answers& answers, ActiveParts& parts) const;

    Schedule space_;
    std::vector<SpaceNode> top_;
    std::vector<Decision> decisions_;
    std::map<std::string, int> hole_numbers_;
    std::map<std::string, int> variant_numbers_;
    int first_hole_ = 0;
    int next_choose_ = 0;
};

} // namespace tilewright::dsl
