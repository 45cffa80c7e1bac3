// tests/dsl/space_test.cpp: which decisions exist, and that every point the search makes is a legal one.
#include "dsl/language/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dsl/base/error.h"
#include "dsl/language/schedule_text.h"
#include "tests/dsl/random_schedule.h"

namespace tilewright::dsl {
namespace {

Space space_of(const std::string& statements) {
    return Space(parse_schedule("tilewright-space 1\nspace f for host\n" + statements + "\n"));
}

std::optional<std::int64_t> machine(const Expression& e) {
    if (e.name() == "cores") return 2;
    if (e.name() == "lanes") return 8;
    if (e.name() == "X.0") return 1000;
    return std::nullopt;
}

std::vector<std::string> ids(const Space& space, const Point& point) {
    std::vector<std::string> result;
    for (const Decision& decision : space.active(point))
        result.push_back(decision.id);
    return result;
}

/// All points that answer what `point` leaves open, or the first `most` of them.
void enumerate(const Space& space, const Point& point, std::vector<Point>& out, std::size_t most = 1000) {
    if (out.size() >= most) return;
    for (const Decision& decision : space.active(point)) {
        if (point.count(decision.id) > 0) continue;
        for (std::size_t option = 0; option < decision.options.size(); ++option) {
            Point next = point;
            next[decision.id] = static_cast<int>(option);
            enumerate(space, next, out, most);
        }
        return;
    }
    out.push_back(point);
}

std::size_t count_of(const Space& space) {
    std::vector<Point> all;
    enumerate(space, {}, all);
    return all.size();
}

/// The point answers exactly what is active, within range; its schedule is concrete and reads back.
void expect_sound(const Space& space, const Point& point) {
    std::set<std::string> active;
    for (const Decision& decision : space.active(point)) {
        active.insert(decision.id);
        const auto found = point.find(decision.id);
        ASSERT_TRUE(found != point.end()) << decision.id << " is active, but open";
        ASSERT_GE(found->second, 0);
        ASSERT_LT(found->second, static_cast<int>(decision.options.size()));
    }
    ASSERT_EQ(active.size(), point.size()) << "the point answers what does not exist";
    const Schedule schedule = space.at(point);
    ASSERT_TRUE(schedule.is_concrete());
    const std::string text = print_schedule(schedule);
    ASSERT_TRUE(parse_schedule(text) == schedule) << text;
}

int changes(const Space& space, const Point& before, const Point& after) {
    int count = 0;
    for (const Decision& decision : space.active(before)) {
        const auto found = after.find(decision.id);
        if (found != after.end() && found->second != before.at(decision.id)) ++count;
    }
    return count;
}

const char* const kExample =
    "variant norm = {serial, lanes}\n"
    "labels.split(i, io, ii, ?tile{4096, 16384, 65536}).parallel(io).vectorize(ii, ?lanes{8, 16, 32})\n"
    "choose { distance.inline() | distance.compute_at(labels, ii).vectorize(i, ?inner{4, 8}) }\n"
    "when norm == lanes { choose { norm.unroll(k) | norm.vectorize(i, ?lanes) | } }\n"
    "where ?tile % ?lanes == 0 and ?lanes >= lanes(float64)\n";

TEST(Space, DecisionsExistOnlyWhereTheirBranchIsTaken) {
    const Space space = space_of(kExample);
    using Ids = std::vector<std::string>;
    EXPECT_EQ(ids(space, {}), (Ids{"variant norm", "?tile", "?lanes", "choose#1"}));
    EXPECT_EQ(ids(space, {{"choose#1", 1}}), (Ids{"variant norm", "?tile", "?lanes", "choose#1", "?inner"}));
    EXPECT_EQ(ids(space, {{"variant norm", 1}}), (Ids{"variant norm", "?tile", "?lanes", "choose#1", "choose#2"}));
    EXPECT_EQ(ids(space, {{"variant norm", 0}, {"choose#1", 0}}), (Ids{"variant norm", "?tile", "?lanes", "choose#1"}));
    const auto decisions = space.active({});
    EXPECT_EQ(decisions[0].options, (Ids{"serial", "lanes"}));
    EXPECT_EQ(decisions[1].options, (Ids{"4096", "16384", "65536"}));
    EXPECT_EQ(decisions[3].options, (Ids{"distance.inline()", "distance.compute_at(labels, ii).vectorize(i, ?inner)"}));
}

TEST(Space, IdsAreStableUnderPrinting) {
    const Space space = space_of(kExample);
    const Space again(parse_schedule(print_schedule(space.text())));
    const Point point{{"variant norm", 1}, {"choose#1", 1}};
    EXPECT_EQ(ids(space, point), ids(again, point));
}

TEST(Space, TheScheduleAtAPointHasNothingLeftOpen) {
    const Space space = space_of(std::string("# kept\n") + kExample + "tail.split(i, o, n, ?tile // ?lanes * 2)\n");
    const Schedule schedule =
        space.at({{"variant norm", 1}, {"?tile", 1}, {"?lanes", 2}, {"choose#1", 1}, {"choose#2", 1}, {"?inner", 0}});
    EXPECT_EQ(print_schedule(schedule), "tilewright-schedule 1\n"
                                        "schedule f for host\n"
                                        "# kept\n"
                                        "variant norm = lanes\n"
                                        "labels.split(i, io, ii, 16384).parallel(io).vectorize(ii, 32)\n"
                                        "distance.compute_at(labels, ii).vectorize(i, 4)\n"
                                        "norm.vectorize(i, 32)\n"
                                        "tail.split(i, o, n, 1024)\n");
    EXPECT_EQ(schedule.variant().at("norm"), "lanes");
}

TEST(Space, CommentsOfAChoiceGoToTheBranchTaken) {
    const Space space =
        space_of("# why\nchoose {  # which\n    # a\n    a.inline()\n|\n}\n# dropped\nwhere 1 == 1\nb.inline()");
    EXPECT_EQ(print_schedule(space.at({{"choose#1", 0}})),
              "tilewright-schedule 1\nschedule f for host\n# why\n# which\n# a\na.inline()\nb.inline()\n");
    EXPECT_EQ(print_schedule(space.at({{"choose#1", 1}})), "tilewright-schedule 1\nschedule f for host\nb.inline()\n");
}

TEST(Space, AScheduleIsASpaceOfOnePoint) {
    const Schedule schedule =
        parse_schedule("tilewright-schedule 1\nschedule f for host\nvariant norm = serial\na.inline()\n");
    const Space space(schedule);
    std::mt19937_64 rng(1);
    EXPECT_EQ(space.first_point(), Point{});
    EXPECT_EQ(space.random_point(rng, machine), Point{});
    EXPECT_EQ(space.mutate({}, rng, machine), std::nullopt);
    EXPECT_EQ(space.cross({}, {}, rng, machine), Point{});
    EXPECT_TRUE(space.at({}) == schedule);
}

TEST(Space, WhatHasOneOptionIsNoDecision) {
    const Space space = space_of("a.split(i, io, ii, ?only{8})\nchoose { a.parallel(io) }");
    EXPECT_TRUE(space.active({}).empty());
    EXPECT_EQ(print_schedule(space.at({})),
              "tilewright-schedule 1\nschedule f for host\na.split(i, io, ii, 8)\na.parallel(io)\n");
}

TEST(Space, VariantsInConditions) {
    const Space space = space_of("variant chunk = {1, 4, 16}\nvariant norm = {serial, lanes}\n"
                                 "when chunk >= 4 and not norm == serial { a.unroll(i, ?u{2, 4}) }\n"
                                 "b.vectorize(i, ?v{2, 4, 8})\n"
                                 "where norm == lanes or ?v <= chunk");
    EXPECT_EQ(count_of(space), 3U * 3 + 1 * 3 + 2 * 2 * 3);
    EXPECT_EQ(ids(space, {{"variant chunk", 1}, {"variant norm", 1}}).size(), 4U);
    EXPECT_EQ(ids(space, {{"variant chunk", 0}, {"variant norm", 1}}).size(), 3U);
    EXPECT_EQ(space.violated({{"variant chunk", 0}, {"variant norm", 1}, {"?v", 2}}, machine), std::nullopt);
    EXPECT_EQ(space.violated({{"variant chunk", 1}, {"variant norm", 0}, {"?v", 2}}, machine),
              "where norm == lanes or ?v <= chunk (?v = 8)");
    EXPECT_EQ(space.violated({{"variant chunk", 1}, {"variant norm", 0}, {"?v", 1}}, machine), std::nullopt);
}

TEST(Space, MayBeNarrowedToFewerOptions) {
    Schedule narrowed = space_of("variant norm = {serial, lanes1, lanes2}\n"
                                 "when norm == lanes2 { a.unroll(i, ?u{2, 4}) }\n"
                                 "when norm != lanes2 { b.unroll(i, ?v{2, 4, 8}) }")
                            .text();
    EXPECT_EQ(count_of(Space(narrowed)), 2U + 2 * 3);
    for (const auto& [option, points] :
         std::map<std::string, std::size_t>{{"serial", 3}, {"lanes1", 3}, {"lanes2", 2}}) {
        narrowed.variants[0].options = {option};
        EXPECT_EQ(count_of(Space(narrowed)), points);
        EXPECT_EQ(count_of(Space(parse_schedule(print_schedule(narrowed)))), points);
    }
}

TEST(Space, WhereSpeaksOnlyOfWhatExists) {
    const Space space = space_of("choose { a.unroll(i, ?u{2, 4}) | a.inline() }\nwhere ?u > 100");
    EXPECT_EQ(space.violated({{"choose#1", 0}, {"?u", 1}}, machine), "where ?u > 100 (?u = 4)");
    EXPECT_EQ(space.violated({{"choose#1", 1}}, machine), std::nullopt);
    std::mt19937_64 rng(1);
    for (int n = 0; n < 20; ++n)
        EXPECT_EQ(space.random_point(rng, machine), (Point{{"choose#1", 1}}));
}

TEST(Space, AWhereThatCannotBeEvaluatedDoesNotHold) {
    const Space space = space_of("a.unroll(i, ?u{0, 4})\nwhere 8 // ?u == 2\nwhere gpus >= 0");
    EXPECT_EQ(space.violated({{"?u", 0}}, machine), "where 8 // ?u == 2 (?u = 0)");
    EXPECT_EQ(space.violated({{"?u", 1}}, machine), "where gpus >= 0");
    EXPECT_EQ(space.violated({{"?u", 0}}, nullptr), "where 8 // ?u == 2 (?u = 0)");
}

TEST(Space, RefusesWhatHasNoMeaning) {
    const auto error = [](Schedule schedule) -> std::string {
        try {
            const Space space(std::move(schedule));
            return "no error";
        } catch (const ScheduleError& e) {
            return e.what();
        }
    };
    Schedule schedule = parse_schedule("tilewright-space 1\nspace f for host\na.unroll(i, ?u{2, 4})");
    Schedule undeclared = schedule;
    undeclared.holes.clear();
    EXPECT_EQ(error(undeclared), "space f:3:13: ?u: this hole is not declared. "
                                 "Declare it where it stands first: ?u{1, 2, 4}.");
    Schedule twice = schedule;
    twice.holes.push_back(twice.holes.front());
    EXPECT_EQ(error(twice), "space f:3:13: ?u: this hole is declared twice. "
                            "Write its values once, and ?u alone after that.");
    Schedule empty = schedule;
    empty.holes.front().values.clear();
    EXPECT_EQ(error(empty), "space f:3:13: ?u: this hole has no value. Give it one.");
    Schedule many = schedule;
    many.statements.assign(
        5000, parse_schedule("tilewright-space 1\nspace f for host\nchoose { a.inline() | }").statements[0]);
    many.holes.clear();
    EXPECT_EQ(error(many), "space f: 5000 variants, choices and holes; at most 4096 can be searched. Narrow it.");
    const Space space(schedule);
    EXPECT_THROW(space.at({{"?u", 2}}), ScheduleError);
    EXPECT_THROW(space.at({{"?u", -1}}), ScheduleError);
    EXPECT_NO_THROW(space.at({{"?of_another_space", 7}}));
}

TEST(Space, RandomPointsAreEvenlySpread) {
    const Space space =
        space_of("choose { a.unroll(i, ?u{1, 2, 3, 4}) | a.inline() | }\nb.unroll(i, ?v{1, 2, 3})\nwhere ?v != 2");
    std::mt19937_64 rng(3);
    std::map<Point, int> seen;
    constexpr int kDraws = 12000;
    for (int n = 0; n < kDraws; ++n)
        ++seen[space.random_point(rng, machine).value()];
    EXPECT_EQ(seen.size(), (4U + 2U) * 2U);
    double chi_squared = 0;
    for (const auto& [point, count] : seen) {
        const double expected = kDraws / 3.0 / 2.0 / (point.at("choose#1") == 0 ? 4 : 1);
        chi_squared += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi_squared, 31.3); // 11 degrees of freedom: a fair draw passes 99.9 % of the time
}

TEST(Space, FindsTheFewPointsOfSparseConstraints) {
    // One point in 10^8: eight holes that must rise by one each.
    std::string text;
    std::string constraints;
    for (int i = 0; i < 8; ++i) {
        const std::string name = "h" + std::to_string(i);
        text += "s" + std::to_string(i) + ".unroll(i, ?" + name + "{7, 3, 1, 8, 2, 6, 4, 5, 9, 0})\n";
        if (i > 0) constraints += "where ?" + name + " == ?h" + std::to_string(i - 1) + " + 1\n";
    }
    std::mt19937_64 rng(5);
    const Space space = space_of(text + constraints);
    std::set<Point> found;
    for (int n = 0; n < 200; ++n) {
        const auto point = space.random_point(rng, machine);
        ASSERT_TRUE(point);
        EXPECT_EQ(space.violated(*point, machine), std::nullopt);
        found.insert(*point);
    }
    EXPECT_EQ(found.size(), 3U); // starts at 0, 1 or 2
}

TEST(Space, FreeHolesBetweenBoundOnesDoNotHideThem) {
    // The two that must agree stand at both ends of forty that do not care.
    std::string text = "a.unroll(i, ?first{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})\n";
    for (int i = 0; i < 40; ++i)
        text += "b.unroll(i, ?free" + std::to_string(i) + "{1, 2, 3, 4, 5, 6, 7, 8})\n";
    text +=
        "c.unroll(i, ?last{-1000, 6000, 2, 9001, 9002, 9003, 9004, 9005, 9006, 9007, 9008, 9009, 9010, 9011, 9012})\n"
        "d.unroll(i, ?more{21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 4})\n"
        "where ?first == ?last\nwhere ?more == 2 * ?last";
    const Space space = space_of(text);
    std::mt19937_64 rng(7);
    for (int n = 0; n < 20; ++n) {
        const auto point = space.random_point(rng, machine);
        ASSERT_TRUE(point);
        EXPECT_EQ(space.violated(*point, machine), std::nullopt);
    }
}

TEST(Space, SaysThatNothingIsLegal) {
    const Space space = space_of("a.unroll(i, ?u{1, 2, 3})\nb.unroll(i, ?v{4, 5})\nwhere ?u >= ?v");
    std::mt19937_64 rng(9);
    EXPECT_EQ(space.random_point(rng, machine), std::nullopt);
    EXPECT_EQ(space.random_point(rng, machine, 1), std::nullopt);
    EXPECT_EQ(space.random_point(rng, machine, 0), std::nullopt);
    EXPECT_EQ(space.mutate(space.first_point(), rng, machine), std::nullopt);
    EXPECT_EQ(space.cross(space.first_point(), space.first_point(), rng, machine), std::nullopt);
}

TEST(Space, MutationPrefersNeighbours) {
    const Space space = space_of("a.unroll(i, ?u{1, 2, 3, 4, 5, 6, 7, 8, 9})");
    std::mt19937_64 rng(11);
    std::map<int, int> seen;
    for (int n = 0; n < 4000; ++n)
        ++seen[space.mutate({{"?u", 4}}, rng, machine).value().at("?u")];
    EXPECT_EQ(seen.count(4), 0U);
    EXPECT_EQ(seen.size(), 8U);
    EXPECT_GT(seen[3] + seen[5], 2 * (seen[2] + seen[6]));
    EXPECT_GT(seen[2] + seen[6], seen[1] + seen[7]);
}

TEST(Space, MutationRepairsWhatItBreaks) {
    const Space space =
        space_of("a.unroll(i, ?u{1, 2, 4, 8})\nb.unroll(i, ?v{1, 2, 4, 8})\nc.unroll(i, ?w{1, 2})\nwhere ?u == ?v");
    std::mt19937_64 rng(13);
    bool moved = false;
    Point point = space.first_point();
    for (int n = 0; n < 200; ++n) {
        const auto next = space.mutate(point, rng, machine);
        ASSERT_TRUE(next);
        EXPECT_EQ(space.violated(*next, machine), std::nullopt);
        EXPECT_GE(changes(space, point, *next), 1);
        EXPECT_LE(changes(space, point, *next), 3);
        moved = moved || next->at("?u") != point.at("?u");
        point = *next;
    }
    EXPECT_TRUE(moved);
    // Five that are tied together cannot move three at a time.
    const Space tied = space_of(
        "a.unroll(i, ?a{1, 2}).unroll(i, ?b{1, 2}).unroll(i, ?c{1, 2}).unroll(i, ?d{1, 2}).unroll(i, ?e{1, 2})\n"
        "where ?a == ?b and ?b == ?c and ?c == ?d and ?d == ?e");
    const auto other = tied.mutate(tied.first_point(), rng, machine);
    ASSERT_TRUE(other);
    EXPECT_EQ(changes(tied, tied.first_point(), *other), 5);
}

TEST(Space, CrossTakesFromTheParents) {
    const Space space =
        space_of("a.unroll(i, ?u{1, 2, 3, 4}).unroll(i, ?v{1, 2, 3, 4})\n"
                 "choose { b.unroll(i, ?x{1, 2, 3}) | b.vectorize(i, ?y{1, 2, 3}) }\nwhere ?u + ?v <= 6");
    const Point a{{"?u", 0}, {"?v", 3}, {"choose#1", 0}, {"?x", 2}};
    const Point b{{"?u", 3}, {"?v", 1}, {"choose#1", 1}, {"?y", 1}};
    std::mt19937_64 rng(17);
    std::set<Point> seen;
    for (int n = 0; n < 400; ++n) {
        const auto child = space.cross(a, b, rng, machine);
        ASSERT_TRUE(child);
        expect_sound(space, *child);
        EXPECT_EQ(space.violated(*child, machine), std::nullopt);
        for (const auto& [id, option] : *child) {
            EXPECT_TRUE((a.count(id) > 0 && a.at(id) == option) || (b.count(id) > 0 && b.at(id) == option)) << id;
        }
        seen.insert(*child);
    }
    EXPECT_EQ(seen.size(), (4U - 1U) * 2U); // (4, 4) breaks the constraint
}

TEST(Space, HolesThatBranchesShareAreOneDecision) {
    EXPECT_EQ(count_of(space_of("choose { a.unroll(i, ?u{1, 2, 3}) | a.vectorize(i, ?u) | a.inline() }")), 7U);
    EXPECT_EQ(count_of(space_of("choose { a.unroll(i, ?u{1, 2, 3}) | }\nchoose { b.unroll(i, ?u) | }")),
              3U + 3 + 3 + 1);
    EXPECT_EQ(count_of(space_of("choose { a.unroll(i, ?u{1, 2, 3}) | }\nb.unroll(i, ?u)")), 6U);
}

TEST(Space, ManyDecisionsAreHandled) {
    std::string many = "a.unroll(i, ?g{1, 2})\n";
    for (int i = 0; i < 3000; ++i)
        many += "a.unroll(i, ?h" + std::to_string(i) + "{1, 2})\n";
    const Space space = space_of(many + "where ?g + ?h2999 == 4");
    std::mt19937_64 rng(19);
    const auto point = space.random_point(rng, machine);
    ASSERT_TRUE(point);
    EXPECT_EQ(point->size(), 3001U);
    EXPECT_TRUE(space.mutate(*point, rng, machine));
}

TEST(SpaceProperty, EveryPointOfRandomSpacesIsSound) {
    std::mt19937_64 rng(23);
    int spaces = 0;
    int points = 0;
    int enumerated = 0;
    int without_point = 0;
    while (spaces < 800) {
        testing::RandomScheduleOptions options;
        options.space = true;
        options.comments = spaces % 4 == 0;
        options.max_statements = 2 + spaces % 5;
        const Schedule schedule = testing::RandomSchedule(rng, options).make();
        if (!testing::is_readable(print_schedule(schedule))) continue; // a hole that only a where mentions
        ++spaces;
        const Space space(schedule);
        SCOPED_TRACE(print_schedule(schedule));
        expect_sound(space, space.first_point());

        std::vector<Point> all;
        std::vector<Point> legal;
        enumerate(space, {}, all, 301);
        if (all.size() > 300) {
            all.clear();
        } else {
            ++enumerated;
            ASSERT_EQ(std::set<Point>(all.begin(), all.end()).size(), all.size());
            for (const Point& point : all) {
                if (!space.violated(point, machine)) legal.push_back(point);
            }
        }
        std::optional<Point> last;
        for (int n = 0; n < 6; ++n) {
            const auto point = space.random_point(rng, machine);
            if (!all.empty()) {
                ASSERT_EQ(point.has_value(), !legal.empty());
            }
            if (!point) {
                ++without_point;
                break;
            }
            ++points;
            expect_sound(space, *point);
            ASSERT_EQ(space.violated(*point, machine), std::nullopt);
            if (const auto mutant = space.mutate(*point, rng, machine)) {
                ++points;
                expect_sound(space, *mutant);
                ASSERT_EQ(space.violated(*mutant, machine), std::nullopt);
                ASSERT_NE(*mutant, *point);
            } else if (!all.empty()) {
                ASSERT_LE(legal.size(), 1U) << "a mutation exists";
            }
            if (last) {
                if (const auto child = space.cross(*last, *point, rng, machine)) {
                    ++points;
                    expect_sound(space, *child);
                    ASSERT_EQ(space.violated(*child, machine), std::nullopt);
                }
            }
            last = point;
        }
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(points, 3000);
    EXPECT_GT(enumerated, 300);
    EXPECT_GT(without_point, 0);
}

TEST(SpaceProperty, TheSameStateGivesTheSamePoints) {
    std::mt19937_64 make(29);
    for (int n = 0; n < 200; ++n) {
        testing::RandomScheduleOptions options;
        options.space = true;
        options.wheres = false;
        const Space space(testing::RandomSchedule(make, options).make());
        std::mt19937_64 one(n);
        std::mt19937_64 two(n);
        const Space copy = space;
        const auto a = space.random_point(one, machine);
        const auto b = copy.random_point(two, machine);
        ASSERT_EQ(a, b);
        ASSERT_EQ(space.mutate(*a, one, machine), copy.mutate(*b, two, machine));
        ASSERT_EQ(space.cross(*a, space.first_point(), one, machine), copy.cross(*b, copy.first_point(), two, machine));
        ASSERT_EQ(one(), two());
    }
}

} // namespace
} // namespace tilewright::dsl
