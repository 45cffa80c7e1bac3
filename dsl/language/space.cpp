// dsl/language/space.cpp: drawing, changing and mixing points, and the schedule at a point.
#include "dsl/language/space.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "dsl/language/space_index.h"

namespace tilewright::dsl {

namespace {

using Random = std::mt19937_64;

/// Plain draws before the search for points that few draws would meet.
constexpr int kPlainTries = 256;
/// Steps of that search for each try that is left.
constexpr int kStepsPerTry = 64;
constexpr int kMutations = 64;
constexpr int kMutationSteps = 512;
constexpr int kMixtures = 32;
constexpr int kMixtureSteps = 2048;
constexpr int kMostChanges = 3;

/// 0 .. count - 1, evenly. Not std::uniform_int_distribution, whose results differ between standard libraries: the same
/// seed gives the same search everywhere.
int draw(Random& rng, int count) {
    const auto n = static_cast<std::uint64_t>(count);
    const std::uint64_t limit = Random::max() - Random::max() % n;
    std::uint64_t value = rng();
    while (value >= limit)
        value = rng();
    return static_cast<int>(value % n);
}

bool chance(Random& rng, int percent) {
    return draw(rng, 100) < percent;
}

void shuffle(std::vector<int>& list, Random& rng) {
    for (std::size_t i = list.size(); i > 1; --i)
        std::swap(list[i - 1], list[draw(rng, static_cast<int>(i))]);
}

std::vector<int> shuffled_options(const SpaceIndex& index, int decision, Random& rng) {
    std::vector<int> options(index.options(decision));
    std::iota(options.begin(), options.end(), 0);
    shuffle(options, rng);
    return options;
}

bool all_hold(const SpaceIndex& index, const Answers& answers, const Environment& environment) {
    const ActiveParts parts = index.active(answers);
    return std::all_of(parts.wheres.begin(), parts.wheres.end(), [&](const SpaceNode* where) {
        return index.state(*where, answers, parts, environment) == WhereState::holds;
    });
}

/// Answers what is active and open, until nothing is.
void complete(const SpaceIndex& index, Answers& answers, const std::function<int(int)>& option) {
    for (bool open = true; open;) {
        open = false;
        for (const int decision : index.active(answers).decisions) {
            if (answers[decision] != kOpen) continue;
            answers[decision] = option(decision);
            open = true;
        }
    }
}

/// Depth-first search for answers that satisfy every `where`.
class Solver {
  public:
    /// The options of a decision, those to be tried first in front.
    using Order = std::function<std::vector<int>(int)>;

    Solver(const SpaceIndex& index, const Environment& environment, Order order, int steps)
        : index_(index), environment_(environment), order_(std::move(order)), steps_(steps) {}

    bool solve(Answers& answers) {
        const ActiveParts parts = index_.active(answers);
        std::vector<const SpaceNode*> open;
        for (const SpaceNode* where : parts.wheres) {
            const WhereState state = index_.state(*where, answers, parts, environment_);
            if (state == WhereState::fails) return false;
            if (state == WhereState::open) open.push_back(where);
        }
        const int decision = next(parts, open, answers);
        if (decision == kOpen) return true;
        for (const int option : order_(decision)) {
            if (steps_-- <= 0) break;
            answers[decision] = option;
            if (solve(answers)) return true;
        }
        answers[decision] = kOpen;
        return false;
    }

    /// After a failed solve(): no point exists within the given orders, rather than that the steps ran out.
    bool exhausted() const { return steps_ > 0; }

  private:
    /// What shapes the space comes first; then the hole that some `where` waits for with the fewest others.
    int next(const ActiveParts& parts, const std::vector<const SpaceNode*>& open, const Answers& answers) const {
        int first = kOpen;
        for (const int decision : parts.decisions) {
            if (answers[decision] != kOpen) continue;
            if (!index_.is_hole(decision)) return decision;
            if (first == kOpen) first = decision;
        }
        std::size_t fewest = 0;
        for (const SpaceNode* where : open) {
            std::vector<int> waits;
            for (const int hole : where->holes) {
                if (parts.hole_active[hole] && answers[hole] == kOpen) waits.push_back(hole);
            }
            // A `where` without an answered hole says nothing about where to start.
            const bool started = waits.size() < where->holes.size() || waits.size() == 1;
            if (waits.empty() || !started || (fewest > 0 && waits.size() >= fewest)) continue;
            fewest = waits.size();
            first = waits.front();
        }
        return first;
    }

    const SpaceIndex& index_;
    const Environment& environment_;
    Order order_;
    int steps_;
};

/// Another option of a decision: for a hole a near one, else any.
int another_option(const SpaceIndex& index, int decision, int current, Random& rng) {
    const int count = index.options(decision);
    if (!index.is_hole(decision)) {
        const int other = draw(rng, count - 1);
        return other + (other >= current ? 1 : 0);
    }
    int distance = 1;
    while (chance(rng, 35))
        ++distance;
    const int up = chance(rng, 50) ? distance : -distance;
    const auto inside = [&](int option) { return option >= 0 && option < count; };
    if (inside(current + up)) return current + up;
    if (inside(current - up)) return current - up;
    return up > 0 ? (current == count - 1 ? 0 : count - 1) : (current == 0 ? count - 1 : 0);
}

/// The current option first, then by distance from it, ties in random order.
std::vector<int> options_near(const SpaceIndex& index, int decision, int current, Random& rng) {
    std::vector<int> options = shuffled_options(index, decision, rng);
    const bool ordered = index.is_hole(decision);
    std::stable_sort(options.begin(), options.end(), [&](int a, int b) {
        const int from_a = std::abs(a - current);
        const int from_b = std::abs(b - current);
        return ordered ? from_a < from_b : (from_a == 0) > (from_b == 0);
    });
    return options;
}

int count_changes(const SpaceIndex& index, const Answers& before, const Answers& after) {
    const ActiveParts old_parts = index.active(before);
    const ActiveParts new_parts = index.active(after);
    std::vector<char> still(index.size(), 0);
    for (const int decision : new_parts.decisions)
        still[decision] = 1;
    return static_cast<int>(std::count_if(old_parts.decisions.begin(), old_parts.decisions.end(), [&](int decision) {
        return still[decision] && before[decision] != after[decision];
    }));
}

/// Leaves open what is not active, so that stale answers of a point do not come back to life.
Answers only_active(const SpaceIndex& index, const Answers& answers) {
    Answers result = index.open_answers();
    for (const int decision : index.active(answers).decisions)
        result[decision] = answers[decision];
    return result;
}

/// One attempt at a mutation of `before`; nullopt where no repair was found.
std::optional<Answers> mutated(const SpaceIndex& index, const Answers& before, Random& rng,
                               const Environment& environment) {
    std::vector<int> candidates = index.active(before).decisions;
    if (candidates.empty()) return std::nullopt;
    shuffle(candidates, rng);
    const std::size_t wanted = chance(rng, 50) ? 1 : chance(rng, 60) ? 2 : kMostChanges;
    candidates.resize(std::min(wanted, candidates.size()));

    Answers after = before;
    for (const int decision : candidates)
        after[decision] = another_option(index, decision, before[decision], rng);
    complete(index, after, [&](int decision) { return draw(rng, index.options(decision)); });
    if (all_hold(index, after, environment)) return after;

    // Keep the change and move as little else as it takes.
    Answers repaired = index.open_answers();
    for (const int decision : candidates)
        repaired[decision] = after[decision];
    const auto order = [&](int decision) {
        if (before[decision] == kOpen) return shuffled_options(index, decision, rng);
        return options_near(index, decision, before[decision], rng);
    };
    if (!Solver(index, environment, order, kMutationSteps).solve(repaired)) return std::nullopt;
    return repaired;
}

class Instance {
  public:
    Instance(const SpaceIndex& index, const Answers& answers) : index_(index), answers_(answers) {}

    Schedule run() {
        const Schedule& space = index_.text();
        Schedule result{space.function,        space.target,          space.variants,        {}, {},
                        space.header_comments, space.footer_comments, space.function_comment};
        for (int number = 0; number < index_.variant_count(); ++number)
            result.variants[number].options = {space.variants[number].options[taken(number)]};
        sequence(index_.top(), {}, result.statements);
        return result;
    }

  private:
    int taken(int number) const { return answers_[number] == kOpen ? 0 : answers_[number]; }

    /// `comments` go before the first statement, if there is one.
    void sequence(const std::vector<SpaceNode>& nodes, std::vector<std::string> comments, std::vector<Statement>& out) {
        const auto value_of = [&](const std::string& hole) -> std::optional<std::int64_t> {
            const int number = index_.hole_number(hole);
            return index_.domain(number).values[taken(number)];
        };
        for (const SpaceNode& node : nodes) {
            const Statement& statement = *node.statement;
            if (statement.kind == Statement::Kind::where) continue;
            comments.insert(comments.end(), statement.comments.begin(), statement.comments.end());
            if (statement.kind == Statement::Kind::directives) {
                Statement filled = statement;
                filled.comments = std::exchange(comments, {});
                for_each_expression(filled.chain, [&](Expression& each) { each = fill_holes(each, value_of); });
                out.push_back(std::move(filled));
                continue;
            }
            const bool choose = statement.kind == Statement::Kind::choose;
            if (!choose && !index_.holds(statement.condition, answers_).value_or(false)) {
                comments.resize(comments.size() - statement.comments.size());
                continue;
            }
            if (!statement.trailing_comment.empty()) comments.push_back(statement.trailing_comment);
            sequence(node.branches[choose ? taken(node.choose) : 0], std::exchange(comments, {}), out);
        }
    }

    const SpaceIndex& index_;
    const Answers& answers_;
};

} // namespace

Space::Space(Schedule space) : tree_(std::make_shared<const SpaceIndex>(std::move(space))) {}

const Schedule& Space::text() const {
    return tree_->text();
}

std::vector<Decision> Space::active(const Point& point) const {
    std::vector<Decision> result;
    for (const int decision : tree_->active(tree_->answers(point)).decisions)
        result.push_back(tree_->decision(decision));
    return result;
}

Point Space::first_point() const {
    Answers answers = tree_->open_answers();
    complete(*tree_, answers, [](int) { return 0; });
    return tree_->point(answers);
}

std::optional<Point> Space::random_point(std::mt19937_64& rng, const Environment& environment, int tries) const {
    const SpaceIndex& index = *tree_;
    const int plain = std::min(tries, kPlainTries);
    for (int i = 0; i < plain; ++i) {
        Answers answers = index.open_answers();
        complete(index, answers, [&](int decision) { return draw(rng, index.options(decision)); });
        if (all_hold(index, answers, environment)) return index.point(answers);
    }
    // Restarts with growing patience: a bad first choice costs little, and a small space is searched to its end.
    int left = std::min(tries - plain, 1 << 20) * kStepsPerTry;
    for (int steps = kStepsPerTry; left > 0; left -= steps, steps *= 2) {
        const auto order = [&](int decision) { return shuffled_options(index, decision, rng); };
        Solver solver(index, environment, order, std::min(steps, left));
        Answers answers = index.open_answers();
        if (solver.solve(answers)) return index.point(answers);
        if (solver.exhausted()) return std::nullopt;
    }
    return std::nullopt;
}

std::optional<Point> Space::mutate(const Point& point, std::mt19937_64& rng, const Environment& environment) const {
    const SpaceIndex& index = *tree_;
    Answers before = index.answers(point);
    complete(index, before, [&](int decision) { return draw(rng, index.options(decision)); });
    before = only_active(index, before);
    std::optional<Answers> best;
    int fewest = 0;
    for (int i = 0; i < kMutations; ++i) {
        std::optional<Answers> after = mutated(index, before, rng, environment);
        if (!after) continue;
        const int changes = count_changes(index, before, *after);
        if (!best || changes < fewest) {
            best = std::move(after);
            fewest = changes;
        }
        if (fewest <= kMostChanges) break;
    }
    if (!best) return std::nullopt;
    return index.point(*best);
}

std::optional<Point> Space::cross(const Point& a, const Point& b, std::mt19937_64& rng,
                                  const Environment& environment) const {
    const SpaceIndex& index = *tree_;
    const Answers from_a = only_active(index, index.answers(a));
    const Answers from_b = only_active(index, index.answers(b));
    const auto order = [&](int decision) {
        if (from_a[decision] == kOpen && from_b[decision] == kOpen) return shuffled_options(index, decision, rng);
        std::vector<int> options;
        if (from_a[decision] != kOpen) options.push_back(from_a[decision]);
        if (from_b[decision] != kOpen) options.push_back(from_b[decision]);
        shuffle(options, rng);
        return options;
    };
    for (int i = 0; i < kMixtures; ++i) {
        Answers answers = index.open_answers();
        complete(index, answers, [&](int decision) { return order(decision).front(); });
        if (all_hold(index, answers, environment)) return index.point(answers);
    }
    Answers answers = index.open_answers();
    if (!Solver(index, environment, order, kMixtureSteps).solve(answers)) return std::nullopt;
    return index.point(answers);
}

std::optional<std::string> Space::violated(const Point& point, const Environment& environment) const {
    const SpaceIndex& index = *tree_;
    Answers answers = index.answers(point);
    complete(index, answers, [](int) { return 0; });
    const ActiveParts parts = index.active(answers);
    for (const SpaceNode* where : parts.wheres) {
        if (index.state(*where, answers, parts, environment) == WhereState::holds) continue;
        std::string values;
        for (const int hole : where->holes) {
            values += (values.empty() ? " (" : ", ") + index.decision(hole).id + " = " +
                      index.decision(hole).options[answers[hole]];
        }
        return print_statement(*where->statement) + values + (values.empty() ? "" : ")");
    }
    return std::nullopt;
}

Schedule Space::at(const Point& point) const {
    Answers answers = tree_->answers(point);
    complete(*tree_, answers, [](int) { return 0; });
    return Instance(*tree_, answers).run();
}

} // namespace tilewright::dsl
