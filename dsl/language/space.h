// dsl/language/space.h: points of a space: which hole takes which value, which branch is taken.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dsl/language/expression.h"
#include "dsl/language/schedule.h"

namespace tilewright::dsl {

/// One open question of a space: a hole (its values), a choose (its branches) or a variant (its options).
/// What has only one answer is no question.
struct Decision {
    std::string id;                   ///< "?tile", "choose#2" (counted from 1 in textual order), "variant norm"
    std::vector<std::string> options; ///< as text: values, branches on one line, option names
};

/// An answer for each active decision: id -> index into its options. Ids are stable under printing and parsing.
using Point = std::map<std::string, int>;

/// A space ready to be searched. A schedule without holes is a space of one point, the empty one.
///
/// What is active: variants always; statements at the top; the branch taken of an active choose; the body of an active
/// `when` whose condition holds. A hole is a decision when an active directive uses it. A `where` counts when it is
/// active and all its holes are decisions; one that cannot be evaluated (an unknown name, a division by zero,
/// overflow) does not hold. Cheap to copy; every method is const and safe to call from several threads.
class Space {
  public:
    /// Throws ScheduleError where a hole is used but never declared, is declared twice or has no value, is used by no
    /// directive, or where a `when` asks for a variant that is not declared. (An option that is not listed is never
    /// taken: a space may be narrowed to fewer.)
    explicit Space(Schedule space);

    const Schedule& text() const;

    /// The decisions that exist once those of `point` are taken, in textual order. What a decision missing from `point`
    /// would bring along is not listed: answering until all listed ones are in the point completes it.
    std::vector<Decision> active(const Point& point) const;

    /// First option everywhere; it may break a `where`.
    Point first_point() const;
    /// A point that satisfies every `where`: each active decision drawn uniformly, refused and drawn again where a
    /// `where` fails. Where that misses (constraints that few points meet), a search over shuffled options that checks
    /// each `where` as early as possible; its points are no longer evenly spread. nullopt after `tries` misses.
    std::optional<Point> random_point(std::mt19937_64& rng, const Environment& environment, int tries = 1000) const;
    /// Changes one to three active decisions (neighbouring hole values are likelier than far ones); more only where
    /// constraints tie more together. Decisions that a change brings along are drawn. nullopt where nothing else is
    /// legal.
    std::optional<Point> mutate(const Point& point, std::mt19937_64& rng, const Environment& environment) const;
    /// Takes each decision from one parent or the other; draws what neither has. nullopt where no mixture is legal.
    std::optional<Point> cross(const Point& a, const Point& b, std::mt19937_64& rng,
                               const Environment& environment) const;
    /// The first `where` that does not hold, as text with the values of its holes; nullopt where all hold.
    std::optional<std::string> violated(const Point& point, const Environment& environment) const;
    /// The schedule at a point: holes replaced, branches chosen, `where` and `when` gone. Decisions missing from
    /// `point` take their first option. Throws ScheduleError for an option that does not exist.
    Schedule at(const Point& point) const;

  private:
    std::shared_ptr<const class SpaceIndex> tree_; ///< the text, indexed; never changed after construction
};

} // namespace tilewright::dsl
