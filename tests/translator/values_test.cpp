// tests/translator/values_test.cpp: the index of a program's values, and what passes change programs with.
#include <gtest/gtest.h>

#include "translator/ir/builder.h"
#include "translator/ir/dead_code.h"
#include "translator/ir/match.h"
#include "translator/ir/walk.h"

namespace tilewright::translator {
namespace {

Program loop() {
    return read_program(R"(tilewright-program 1
function f
arg X: float64[X.0]
scalar n: int64
%1: float64[] = const() {value=1.0}
s: float64[] = for t in range(0, X.0, 1) carry (p: float64[] = %1) {
  %3: float64[] = index(X) {index=[t]}
  %4: float64[] = add(p, %3)
  yield %4
}
%5: float64[] = multiply(s, s)
return %5
)");
}

std::vector<std::string> results(const Block& block) {
    std::vector<std::string> out;
    walk(block, [&](const Operation& operation) { out.push_back(operation.result); });
    return out;
}

TEST(Values, KnowWhereTheyComeFromAndWhoReadsThem) {
    const Program program = loop();
    const Values values(program);
    EXPECT_EQ(values.made_by("X"), nullptr);
    EXPECT_EQ(values.made_by("p"), nullptr);
    EXPECT_EQ(values.carried_by("p"), values.made_by("s"));
    EXPECT_EQ(values.made_by("s", Op::add), nullptr);
    EXPECT_EQ(values.made_by("%4", Op::add)->operands[0], "p");
    EXPECT_EQ(values.type("n").dtype, "int64");
    EXPECT_EQ(values.users("s").size(), 2U);
    EXPECT_EQ(values.uses("%4"), 1);
    EXPECT_EQ(values.uses("%5"), 1);
    EXPECT_EQ(values.uses("n"), 0);
}

TEST(Values, HaveFreshNames) {
    const Program program = loop();
    Values values(program);
    EXPECT_EQ(values.names().value(), "%2");
    EXPECT_EQ(values.names().value(), "%6");
    EXPECT_EQ(values.names().value("%axis"), "%axis1");
    EXPECT_EQ(values.names().named("t"), "t_2");
    Values above(program);
    above.number_above();
    EXPECT_EQ(above.names().value(), "%6");
}

TEST(Values, AreReplacedEverywhere) {
    Program program = loop();
    replace_all_uses(program, {{"%4", "%3"}, {"s", "again"}, {"again", "%1"}});
    EXPECT_EQ(program.body.operations[1].regions[0].yields, std::vector<std::string>{"%3"});
    EXPECT_EQ(program.body.operations[2].operands, (std::vector<std::string>{"%1", "%1"}));
}

TEST(Builder, MakesEqualOperationsOnceWhereTheyAreVisible) {
    const Program program = loop();
    Values values(program);
    std::vector<Operation> outer, inner;
    Builder builder(values, outer);
    const Type number{"float64", {}};
    const std::string one = builder.once(number, Op::sqrt, {"s"});
    builder.enter(inner);
    EXPECT_EQ(builder.once(number, Op::sqrt, {"s"}), one);
    const std::string other = builder.once(number, Op::square, {"s"});
    builder.leave();
    EXPECT_NE(builder.once(number, Op::square, {"s"}), other);
    EXPECT_EQ(builder.type(other), number);
    EXPECT_EQ(outer.size(), 2U);
    EXPECT_EQ(inner.size(), 1U);
}

TEST(Match, BindsWhatItFinds) {
    const Program program = loop();
    const Values values(program);
    std::string past;
    EXPECT_TRUE(match::made_by(Op::add, match::any(past),
                               [](const Values&, const std::string& value) { return value == "%3"; })(values, "%4"));
    EXPECT_EQ(past, "p");
    EXPECT_FALSE(match::made_by(Op::add, match::any(past))(values, "%4"));
}

TEST(Rewrite, KeepsDropsAndPutsInFront) {
    Program program = loop();
    std::vector<std::string> seen;
    rewrite<Order::outer_first>(program.body, [&](Operation& operation, Place& place) {
        seen.push_back(operation.result);
        if (operation.result == "%4") place.out.push_back(make_operation("%9", operation.type, Op::sqrt, {"%3"}));
        EXPECT_EQ(place.is_in_loop(), operation.result == "%3" || operation.result == "%4");
        return operation.result == "%5" ? Fate::goes : Fate::keeps;
    });
    EXPECT_EQ(seen, (std::vector<std::string>{"%1", "s", "%3", "%4", "%5"}));
    EXPECT_EQ(results(program.body), (std::vector<std::string>{"%1", "s", "%3", "%9", "%4"}));
}

TEST(Rewrite, SeesInnerOperationsFirstOrNotAtAll) {
    Program program = loop();
    std::vector<std::string> inner_first, closed;
    rewrite<Order::inner_first>(program.body, [&](Operation& operation, Place&) {
        inner_first.push_back(operation.result);
        return Fate::keeps;
    });
    EXPECT_EQ(inner_first, (std::vector<std::string>{"%1", "%3", "%4", "s", "%5"}));
    rewrite<Order::outer_first>(program.body, [&](Operation& operation, Place&) {
        closed.push_back(operation.result);
        return Fate::closed;
    });
    EXPECT_EQ(closed, (std::vector<std::string>{"%1", "s", "%5"}));
    EXPECT_EQ(program, loop());
}

TEST(DropUnused, KeepsLoopsAndGoesOneStepACall) {
    Program program = loop();
    program.body.yields = {"X"};
    EXPECT_TRUE(drop_unused(program));
    EXPECT_FALSE(drop_unused(program));
    EXPECT_EQ(results(program.body), (std::vector<std::string>{"%1", "s", "%3", "%4"}));
}

} // namespace
} // namespace tilewright::translator
