// dsl/space.h: points of a space: which hole takes which value, which branch is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dsl/schedule.h"

namespace tilewright::dsl {

/// Values for the symbols and calls of an Expression (X.0, cores, lanes(float64), extent(k), ...);
/// nullopt for what it does not know. Holes and variants are resolved by the Space itself.
using Environment = std::function<std::optional<std::int64_t>(const Expression&)>;

/// Evaluates integer and boolean arithmetic (booleans are 0 and 1; // and % floor as in Python).
/// nullopt where a name is unknown, on division by zero and on overflow.
std::optional<std::int64_t> evaluate(const Expression& expression, const Environment& environment);

/// One open question of a space: a hole (its values), a choose (its branches) or a variant (its options).
struct Decision {
    std::string id;                    ///< "?tile", "choose#2", "variant norm"; stable under printing
    std::vector<std::string> options;  ///< as text
};

/// An answer for each active decision: id -> index into its options.
using Point = std::map<std::string, int>;

/// A space ready to be searched. A schedule without holes is a space of one point.
class Space {
  public:
    /// Throws ScheduleError where a hole is used but never declared, or declared twice.
    explicit Space(Schedule space);

    const Schedule& text() const { return space_; }

    /// The decisions that exist once those of `point` are taken, in textual order: decisions inside a branch
    /// not taken, or inside a `when` that does not hold, do not exist.
    std::vector<Decision> active(const Point& point) const;

    /// First option everywhere.
    Point first_point() const;
    /// A uniformly drawn point that satisfies every `where`; nullopt after `tries` misses.
    std::optional<Point> random_point(std::mt19937_64& rng, const Environment& environment, int tries = 1000) const;
    /// Changes one to three active decisions (neighbouring hole values are likelier than far ones).
    std::optional<Point> mutate(const Point& point, std::mt19937_64& rng, const Environment& environment) const;
    /// Takes each decision from one parent or the other.
    std::optional<Point> cross(const Point& a, const Point& b, std::mt19937_64& rng, const Environment& environment) const;
    /// The first `where` that does not hold, as text; nullopt where all hold.
    std::optional<std::string> violated(const Point& point, const Environment& environment) const;
    /// The schedule at a point: holes replaced, branches chosen, `where` and `when` gone.
    Schedule at(const Point& point) const;
    /// The number of points, `where` not counted; saturates.
    double size() const;

  private:
    Schedule space_;
};

}  // namespace tilewright::dsl
