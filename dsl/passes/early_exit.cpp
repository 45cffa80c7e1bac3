// dsl/passes/early_exit.cpp: the lowering pass that turns markers of living elements into tests around visits.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dsl/passes/markers.h"
#include "dsl/passes/passes.h"
#include "dsl/passes/walk.h"

namespace tilewright::dsl {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// ---- markers --------------------------------------------------------------------------------------------------------

constexpr const char* kAliveMarker = "tw_alive";

/// Whether an expression or a statement holds markers.
template <class Code> bool has_alive_marker(const Code& code) {
    return contains(code, [](const Call* op) { return is_marker(op, kAliveMarker); });
}

struct Marker {
    Expr condition;
    Expr iteration;
    Lets around; ///< what is bound around it; "" for the condition of a branch
};

/// The markers of a body in the order in which they are evaluated.
struct AliveMarkers {
    std::vector<Marker> markers = {};
    std::set<std::string> allocations = {};
    bool stored_before = false; ///< the first marker follows a store
    bool in_loop = false;       ///< some marker stands in a loop inside the body
};

template <class Code> AliveMarkers alive_markers(const Code& code) {
    AliveMarkers found;
    Lets around;
    bool stored = false;
    int loops = 0;
    const auto inside = [&](Visitor& self, const std::string& name, const Expr& value, const auto& body) {
        around.emplace_back(name, value);
        body.accept(&self);
        around.pop_back();
    };
    const auto bind = [&](Visitor& self, const auto* op) {
        op->value.accept(&self);
        inside(self, op->name, op->value, op->body);
    };
    visit_with(
        code,
        [&](Visitor& self, const Call* op) {
            self.inside(op);
            if (!is_marker(op, kAliveMarker)) return;
            found.stored_before = found.stored_before || (found.markers.empty() && stored);
            found.in_loop = found.in_loop || loops > 0;
            found.markers.push_back({op->args[0], op->args[1], around});
        },
        [&](Visitor& self, const Let* op) { bind(self, op); },
        [&](Visitor& self, const LetStmt* op) { bind(self, op); },
        [&](Visitor& self, const IfThenElse* op) {
            op->condition.accept(&self);
            inside(self, "", op->condition, op->then_case);
            if (op->else_case.defined()) inside(self, "", !op->condition, op->else_case);
        },
        [&](Visitor& self, const Store* op) {
            self.inside(op);
            stored = true;
        },
        [&](Visitor& self, const Allocate* op) {
            found.allocations.insert(op->name);
            self.inside(op);
        },
        [&](Visitor& self, const For* op) {
            ++loops;
            self.inside(op);
            --loops;
        });
    return found;
}

/// Puts the values of lets in their places. What is shared stays shared.
class PutLetsIn : public IRGraphMutator {
  public:
    explicit PutLetsIn(std::map<std::string, Expr> values) : values_(std::move(values)) {}

  private:
    using IRGraphMutator::visit;
    const std::map<std::string, Expr> values_;
    Expr visit(const Variable* op) override {
        const auto found = values_.find(op->name);
        return found == values_.end() ? Expr(op) : found->second;
    }
    Expr visit(const Call* op) override {
        return is_marker(op, kAliveMarker) ? mutate(op->args[0]) : IRGraphMutator::visit(op);
    }
};

/// Whether a condition holds in some lane.
Expr any_lane(const Expr& condition) {
    return condition.type().is_scalar() ? condition : VectorReduce::make(VectorReduce::Or, condition, 1);
}

/// A marker's condition, for all lanes together, and its iteration in terms of what is known in front of the body.
struct Outside {
    Expr condition;
    Expr iteration;
};
Outside outside(const Marker& marker) {
    std::vector<Expr> branches;
    Expr condition = marker.condition;
    Expr iteration = marker.iteration;
    std::map<std::string, Expr> values;
    for (const auto& [name, value] : marker.around) {
        // A mutator remembers what it has seen, so each new binding needs a fresh one.
        const Expr here = PutLetsIn(values).mutate(value);
        if (name.empty())
            branches.push_back(here);
        else
            values[name] = here;
    }
    PutLetsIn put(std::move(values));
    condition = any_lane(put.mutate(condition));
    // What a branch keeps from running may not be read either: a real branch again.
    for (auto branch = branches.rbegin(); branch != branches.rend(); ++branch)
        condition =
            Call::make(Bool(), Call::if_then_else, {any_lane(*branch), condition, const_false()}, Call::PureIntrinsic);
    iteration = put.mutate(iteration);
    if (const Broadcast* wide = iteration.as<Broadcast>()) iteration = wide->value;
    return {condition, simplify(iteration)};
}

// ---- iterations side by side as iterations inside of each other -----------------------------------------------------

/// A value whose marker is known to hold.
Expr alive(const Expr& value) {
    return mutate_with(
        value,
        [](Mutator& self, const Call* op) { return is_marker(op, kAliveMarker) ? const_true() : self.inside(op); },
        [](Mutator& self, const Select* op) {
            const Expr condition = self.mutate(op->condition);
            if (is_const_one(condition)) return self.mutate(op->true_value);
            return Select::make(condition, self.mutate(op->true_value), self.mutate(op->false_value));
        });
}

/// What all markers ask, each of one element; undefined where they differ.
Expr common_condition(const AliveMarkers& found) {
    const Expr condition = outside(found.markers.front()).condition;
    const bool same = std::ranges::all_of(found.markers, [&](const Marker& marker) {
        return marker.condition.type().is_scalar() && graph_equal(outside(marker).condition, condition);
    });
    return same ? condition : Expr();
}

class Nest {
  public:
    bool failed = false;

    using Rest = std::function<Stmt()>;
    Stmt nest(const Stmt& statement, const Rest& rest) {
        if (failed) return statement;
        if (const auto* block = statement.as<Block>())
            return nest(block->first, [this, block, &rest] { return nest(block->rest, rest); });
        if (const auto* let = statement.as<LetStmt>()) {
            return guarded(let->value, [this, let, &rest] {
                return LetStmt::make(let->name, alive(let->value), nest(let->body, rest));
            });
        }
        if (const auto* store = statement.as<Store>()) {
            return guarded(store->value, [this, store, &rest] {
                const Stmt now = Store::make(store->name, alive(store->value), store->index, store->param,
                                             store->predicate, store->alignment);
                alive_ = Expr(); // it may have died of this
                return sequence(now, rest());
            });
        }
        failed = failed || has_alive_marker(statement);
        if (!failed) alive_ = Expr();
        return failed ? statement : sequence(statement, rest());
    }

  private:
    Expr alive_; ///< a condition that holds here

    static Stmt sequence(const Stmt& first, const Stmt& second) {
        return second.defined() ? Block::make(first, second) : first;
    }

    /// What `inside` makes, under the condition of the value's markers.
    Stmt guarded(const Expr& value, const Rest& inside) {
        const AliveMarkers found = alive_markers(value);
        if (found.markers.empty()) return inside();
        const Expr condition = common_condition(found);
        failed = failed || !condition.defined();
        if (failed) return Stmt();
        if (alive_.defined() && graph_equal(alive_, condition)) return inside();
        const Expr test = common_subexpression_elimination(condition);
        alive_ = condition;
        return IfThenElse::make(test, inside());
    }
};

/// A visit of scalar iterations, with markers in it:
///   state = select(alive(state), next1, state); state = select(alive(state), next2, state); ...
/// becomes
///   if (alive(state)) { state = next1; if (alive(state)) { state = next2; ... } }
/// which a thread leaves by one branch, and which keeps no old values: the marker's promise is that nothing changes any
/// more. Undefined where the visit is another one: vectors, several elements, branches that data decide.
Stmt nested_iterations(const Stmt& visit) {
    const AliveMarkers found = alive_markers(visit);
    if (found.markers.empty() || found.in_loop) return Stmt();
    // A condition reads its element's state alone: where one differs, there are several elements, and the death of one
    // says nothing about the others.
    if (!common_condition(found).defined()) return Stmt();
    Nest nest;
    const Stmt result = nest.nest(visit, [] { return Stmt(); });
    return nest.failed ? Stmt() : result;
}

/// The condition of a branch with markers in it that no iteration of the loop changes; undefined where there is none.
Expr unchanging_choice(const For* loop) {
    Scope<> bound;
    const auto bind = [&](const auto* op) { bound.push(op->name); };
    for_each_node(
        Stmt(loop), [&](const LetStmt* op) { bind(op); }, [&](const Let* op) { bind(op); },
        [&](const For* op) { bind(op); });
    Expr choice;
    visit_with(loop->body, [&](Visitor& self, const IfThenElse* op) {
        const bool changes = has_load(op->condition) || expr_uses_vars(op->condition, bound);
        if (!choice.defined() && !changes && has_alive_marker(Stmt(op))) choice = op->condition;
        if (!choice.defined()) self.inside(op);
    });
    return choice;
}

/// The loop where that condition is known.
Stmt chosen(const For* loop, const Expr& choice, bool holds) {
    return mutate_with(Stmt(loop), [&](Mutator& self, const IfThenElse* op) {
        if (!graph_equal(op->condition, choice)) return self.inside(op);
        if (holds) return self.mutate(op->then_case);
        return op->else_case.defined() ? self.mutate(op->else_case) : Evaluate::make(0);
    });
}

// ---- tests around visits --------------------------------------------------------------------------------------------

/// Visits of one block: enough to make the test before it free, few enough to leave a long loop early.
constexpr int kVisitsOfBlock = 32;

/// Whether anything in the body is alive before it runs; undefined where that cannot be asked there.
Expr alive_before(const Stmt& body) {
    const AliveMarkers found = alive_markers(body);
    if (found.markers.empty() || found.stored_before || found.in_loop) return Expr();
    std::vector<Outside> all;
    for (const Marker& marker : found.markers)
        all.push_back(outside(marker));
    std::vector<Expr> terms;
    for (const Outside& one : all) {
        // The condition reads the state alone, so any iteration's marker could be asked: those of later iterations of
        // the same visit say the same again.
        const bool later =
            one.iteration.type() == all[0].iteration.type() && can_prove(one.iteration > all[0].iteration);
        bool known = later;
        for (const Expr& term : terms)
            known = known || graph_equal(term, one.condition);
        if (!known) terms.push_back(one.condition);
    }
    Expr alive = terms[0];
    for (std::size_t k = 1; k < terms.size(); ++k)
        alive = alive || terms[k];
    const std::set<std::string> loaded = loaded_names(alive);
    for (const std::string& name : found.allocations) {
        if (loaded.count(name) != 0) return Expr();
    }
    return common_subexpression_elimination(alive);
}

/// The innermost serial loop with markers, with its tests.
Stmt with_exits(const For* op, bool in_thread) {
    const Expr alive = alive_before(op->body);
    Stmt body = in_thread ? nested_iterations(op->body) : Stmt();
    const bool is_nested = body.defined();
    if (!is_nested) body = without_markers(op->body, kAliveMarker);
    auto loop = [&](const std::string& name, const Expr& min, const Expr& extent, const Stmt& inside) {
        return For::make(name, min, extent, op->for_type, op->partition_policy, op->device_api, inside);
    };
    if (!alive.defined()) return loop(op->name, op->min, op->extent, body);
    const Stmt tested = is_nested ? body : IfThenElse::make(alive, body);
    const auto count = as_const_int(op->extent);
    if ((count && *count <= kVisitsOfBlock) || expr_uses_var(alive, op->name))
        return loop(op->name, op->min, op->extent, tested);
    // for s in blocks of 32 * 32 visits { for b in blocks of 32 { for t in visits } }. The first block of each is
    // entered unasked: the test before its first visit comes right away.
    Expr begin = op->min;
    Expr left = op->extent;
    std::vector<std::pair<std::string, Expr>> levels;
    for (const int visits : {kVisitsOfBlock * kVisitsOfBlock, kVisitsOfBlock}) {
        const std::string name = op->name + ".block" + std::to_string(visits);
        const Expr number = Variable::make(Int(32), name);
        levels.emplace_back(name, (left - 1) / visits + 1);
        begin = begin + number * visits;
        left = min(Expr(visits), left - number * visits);
    }
    Stmt inside = loop(op->name, begin, left, tested);
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
        const Expr first = Variable::make(Int(32), level->first) == 0;
        const Expr enter = Call::make(Bool(), Call::if_then_else, {first, const_true(), alive}, Call::PureIntrinsic);
        inside = loop(level->first, 0, level->second, IfThenElse::make(enter, inside));
    }
    return inside;
}

} // namespace

Expr mark_alive(const Expr& condition, const Expr& iteration) {
    return marked(kAliveMarker, condition.type(), {condition, iteration});
}

Stmt exit_early(const Stmt& statement) {
    bool in_thread = false;
    return mutate_with(
        statement,
        [&](Mutator& self, const For* op) {
            const ScopedValue<bool> thread(in_thread, in_thread || is_over_threads(op));
            const bool is_innermost = op->for_type == ForType::Serial && has_alive_marker(op->body) &&
                                      !contains(op->body, [](const For* inner) {
                                          return inner->for_type == ForType::Serial && has_alive_marker(inner->body);
                                      });
            if (!is_innermost) return self.inside(op);
            const Expr choice = in_thread ? unchanging_choice(op) : Expr();
            if (!choice.defined()) return with_exits(op, in_thread);
            return IfThenElse::make(choice, self.mutate(chosen(op, choice, true)),
                                    self.mutate(chosen(op, choice, false)));
        },
        [](Mutator& self, const Call* op) {
            return is_marker(op, kAliveMarker) ? self.mutate(op->args[0]) : self.inside(op);
        });
}

} // namespace tilewright::dsl
